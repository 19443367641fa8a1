/** The daemon that a command talks to: where it is, and in whose name. */
import { resolve } from "node:path";
import { attemptsAround } from "../../app/agents/attempts-around.ts";
import { askedState, stateHere, stateToSubmit } from "../../app/config/state.ts";
import { userName } from "../../app/requests/user.ts";
import type { Client } from "../../wire/client.ts";
import type { Context, Input, Reach, Surroundings } from "./command.ts";

/** A socket that is named comes before that of the state directory. */
export function placeOf(
  input: Input,
  { env, cwd }: Surroundings,
  plan?: string,
): { readonly socket: string } | { readonly state: string } {
  const socket = input.text("socket") ?? env["ROTA_SOCKET"];
  if (socket !== undefined && socket !== "") return { socket: resolve(cwd, socket) };
  const where = { flag: input.text("state"), env, cwd };
  return { state: (plan === undefined ? stateHere(where) : stateToSubmit(where, plan)).root };
}

/** What commands that are printed have to reach, once the state directory is known. */
export const reachOf = (input: Input, { env }: Surroundings, root: string): Reach => ({
  root,
  socket: input.text("socket") || env["ROTA_SOCKET"] || undefined,
});

export interface Called extends AsyncDisposable {
  readonly client: Client;
  /** The daemon's state directory. */
  readonly root: () => Promise<string>;
}

/** Nothing is sent yet: the first call reports when there is no daemon. For a plan: the daemon of the plan's project. */
export async function callDaemon(input: Input, context: Context, plan?: string): Promise<Called> {
  const { connect } = await import("../../wire/client.ts");
  const place = placeOf(input, context, plan);
  const client = connect(place, { by: userName(context.env), inside: attemptsAround(context.env) });
  return {
    client,
    root: async () => {
      if ("state" in place) return place.state;
      // The socket may be anywhere; the daemon behind it knows its directory.
      const asked = askedState({ flag: input.text("state"), env: context.env });
      return asked === undefined ? (await client.info()).state : resolve(context.cwd, asked);
    },
    [Symbol.asyncDispose]: () => client[Symbol.asyncDispose](),
  };
}

/** Only what was said: an option that was left out is not sent. */
export const given = <T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never;
