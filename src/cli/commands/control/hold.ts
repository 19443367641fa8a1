/** The common part of `pause` and `resume`: a daemon is called; where no scheduler works, the request is recorded for the next one. */

import { existsSync } from "node:fs";
import { stateHere } from "../../../app/config/state.ts";
import { userName } from "../../../app/requests/user.ts";
import { UserError } from "../../../domain/errors.ts";
import type { Asked } from "../../../domain/task.ts";
import type { Client } from "../../../wire/client.ts";
import type { PauseRequest } from "../../../wire/messages.ts";
import type { Context, Input } from "../../frame/command.ts";
import { callDaemon, placeOf } from "../../frame/daemon.ts";

type Where = { readonly flag: string | undefined; readonly env: Context["env"]; readonly cwd: string };

export async function askOrWrite<T>(
  request: PauseRequest,
  input: Input,
  context: Context,
  ask: (client: Client) => Promise<T>,
  write: (asked: Asked, where: Where) => Promise<T>,
): Promise<{ readonly answer: T; readonly scheduler: boolean }> {
  await using called = await callDaemon(input, context);
  try {
    return { answer: await ask(called.client), scheduler: true };
  } catch (error) {
    const isMissing =
      error instanceof UserError && error.code === "DAEMON_MISSING" && "state" in placeOf(input, context);
    if (!isMissing) throw error;
    const { env, cwd } = context;
    const where = { flag: input.text("state"), env, cwd };
    // Without a store there is nothing to pause.
    if (!existsSync(stateHere(where).database)) throw error;
    const by = userName(env);
    const asked = request.why === undefined ? { by } : { by, why: request.why };
    return { answer: await write(asked, where), scheduler: false };
  }
}
