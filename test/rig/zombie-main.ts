/** A session that is a process of its own: it claims, says so, and completes when it is told to. So it can be stopped in between. */
import { once } from "node:events";
import { connect } from "../../src/wire/client.ts";

const [state = "", name = "zombie", waits] = process.argv.slice(2);
await using client = connect({ state });
if (waits !== undefined) {
  process.stdout.write(`${JSON.stringify({ ready: true })}\n`);
  await once(process.stdin, "data");
}
// Not before it is told to claim: a session of which nothing is heard for twice as long is dropped.
const { session } = await client.join({ agent: "zombies", session: name, ttlMs: 3_000 });
const grant = await client.claim({ session, waitMs: 10_000 });
if (grant === undefined) throw new Error("nothing to claim");
const { run, task, fence, token } = grant;
process.stdout.write(`${JSON.stringify({ task, fence })}\n`);
await once(process.stdin, "data");
const said = await client.complete({ run, task, fence, token }).then(
  ({ state: after }) => ({ accepted: after }),
  (error: unknown) => ({ refused: (error as { code?: string }).code }),
);
process.stdout.write(`${JSON.stringify(said)}\n`);
process.exit(0);
