/** `rota workers`: the workers, what each does, and what is on hold. */
import { currentTime } from "../../../app/look/now.ts";
import { type WorkerRow, workersText } from "../../../views/status/workers.ts";
import type { Client } from "../../../wire/client.ts";
import type { Run } from "../../frame/command.ts";
import { callDaemon } from "../../frame/daemon.ts";
import { say } from "../../frame/say.ts";
import { themeOf } from "../../frame/theme.ts";

export const run: Run = async (input, context) => {
  await using called = await callDaemon(input, context);
  const [workers, { paused }] = await Promise.all([workersOf(called.client), called.client.info()]);
  say<"workers">(input, context, { workers, paused }, () =>
    workersText({ workers, paused, now: currentTime() }, { columns: context.terminal.columns }, themeOf(context)),
  );
  return 0;
};

/** The fields of all workers, and for sessions their own fields too. */
async function workersOf(client: Client): Promise<readonly WorkerRow[]> {
  const [workers, sessions] = await Promise.all([client.workers(), client.sessions()]);
  const known = new Map(sessions.map((session) => [session.session, session]));
  return workers.map((worker) => {
    const session = worker.kind === "session" ? known.get(worker.worker) : undefined;
    if (session === undefined) return worker;
    const { agent, mode, workspace, channel, capabilities, slots, seen_at, holds } = session;
    const where = { ...(workspace !== undefined && { workspace }), ...(channel !== undefined && { channel }) };
    return { ...worker, agent, mode, ...where, capabilities, slots, seen_at, holds };
  });
}
