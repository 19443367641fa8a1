/** `rota why TASK`: what it waits for, with the numbers, or how it ended. */
import { explainTask } from "../app/explain-run.ts";
import { findRun, isNewest, loadRun, mustFindTask, openReader, type Reader } from "../app/reader.ts";
import type { Explanation } from "../domain/explanation.ts";
import { leavesLog } from "../views/own-log.ts";
import { whyJson, whyText } from "../views/why.ts";
import type { Run } from "./command.ts";
import { reachOf } from "./daemon.ts";
import { themeOf } from "./theme.ts";
import { sayUnrecovered } from "./unrecovered.ts";

export const run: Run = async (input, context) => {
  const { terminal, env, cwd } = context;
  await using reader = openReader({ flag: input.text("state"), env, cwd });
  const notice = await sayUnrecovered(reader, input, context);
  const found = await loadRun(reader, await findRun(reader, input.text("run")));
  const task = mustFindTask(found, input.arguments[0] as string);
  const explanation = await withClaims(await explainTask(reader, found, task), reader);
  if (input.flag("json")) terminal.out(`${JSON.stringify({ ...whyJson(explanation), ...notice })}\n`);
  else {
    const newest = await isNewest(reader, found);
    const options = {
      columns: terminal.columns,
      newest,
      command: context.commandsTo(reachOf(input, context, reader.state.root)),
      leavesLog: (id: string) => leavesLog(mustFindTask(found, id)),
    };
    const lines = whyText(explanation, options, themeOf(context));
    terminal.out(lines.map((line) => `${line}\n`).join(""));
  }
  return 0;
};

/** Who waits in a claim only the scheduler knows. Where it does not answer, that stays open. */
async function withClaims(explanation: Explanation, reader: Reader): Promise<Explanation> {
  const { pool } = explanation;
  if (pool === undefined || pool.sessions.length === 0 || (await reader.scheduler()) === undefined) return explanation;
  const { connect } = await import("../wire/client.ts");
  await using client = connect({ state: reader.state.root });
  const known = new Map((await client.sessions().catch(() => [])).map((each) => [each.session, each]));
  const sessions = pool.sessions.map((each) => {
    const claiming = known.get(each.session)?.claiming;
    return claiming === undefined ? each : { ...each, claiming };
  });
  const mode = pool.sessions.map(({ session }) => known.get(session)?.mode).find((each) => each !== undefined);
  return { ...explanation, pool: { ...pool, sessions, ...(mode && { mode }) } };
}
