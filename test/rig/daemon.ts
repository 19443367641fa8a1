/** A real daemon in a place of its own, and clients of it. */
import { join } from "node:path";
import { type Client, connect } from "../../src/wire/client.ts";
import { type Place, type Started, until } from "./rota.ts";

export interface Served {
  readonly started: Started;
  readonly client: Client;
}

/** Starts `rota serve` and waits until it answers. */
export async function serveIn(
  place: Place,
  args: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<Served> {
  const started = place.start(["serve", "--json", "--state", "state", ...args], env);
  await until("the daemon is ready", () => {
    if (started.child.exitCode !== null) throw new Error(`the daemon ended: ${started.err()}`);
    return started.out().includes("\n");
  });
  return { started, client: connect({ state: join(place.dir, "state") }, { by: "test" }) };
}

/** As if the power had failed. */
export async function killHard({ started, client }: Served): Promise<void> {
  client.close();
  started.child.kill("SIGKILL");
  await started.ended;
}

export async function stop({ started, client }: Served): Promise<void> {
  client.close();
  started.child.kill("SIGTERM");
  await started.ended;
}

export const submitted = (client: Client, place: Place, plan: object, key?: string) =>
  client.submit({
    text: JSON.stringify(plan),
    file: join(place.dir, "plan.json"),
    directory: place.dir,
    ...(key !== undefined && { key }),
  });

/** Whether the daemon answers. The socket alone is no proof: it exists a moment before the daemon listens. */
export const answers = (client: Client): Promise<boolean> =>
  client.info().then(
    () => true,
    () => false,
  );
