/** `rota why TASK`: what the task waits for, with the numbers, or how it ended. */
import { explainTask } from "../../../app/look/explain-run.ts";
import { findRun, isNewest, loadRun, mustFindTask, openReader, type Reader } from "../../../app/look/reader.ts";
import { workerId } from "../../../domain/ids.ts";
import type { Explanation } from "../../../domain/waiting/explanation.ts";
import { leavesLog } from "../../../views/status/own-log.ts";
import { whyJson, whyText } from "../../../views/why/why.ts";
import type { Run } from "../../frame/command.ts";
import { reachOf } from "../../frame/daemon.ts";
import { themeOf } from "../../frame/theme.ts";
import { sayUnrecovered } from "./unrecovered.ts";

export const run: Run = async (input, context) => {
  const { terminal, env, cwd } = context;
  await using reader = openReader({ flag: input.text("state"), env, cwd });
  const notice = await sayUnrecovered(reader, input, context);
  const found = await loadRun(reader, await findRun(reader, input.text("run")));
  const task = mustFindTask(found, input.arguments[0] as string);
  const explanation = await asScheduled(await explainTask(reader, found, task), reader);
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

/** Only the scheduler knows how a pool gives out work, and which of its sessions wait in a claim. */
async function asScheduled(explanation: Explanation, reader: Reader): Promise<Explanation> {
  if (explanation.pool === undefined || (await reader.scheduler()) === undefined) return explanation;
  const { connect } = await import("../../../wire/client.ts");
  await using client = connect({ state: reader.state.root });
  // If the scheduler does not answer, both stay unknown.
  const reply = await client.why(explanation.run, explanation.task).catch(() => undefined);
  if (reply?.pool === undefined) return explanation;
  const sessions = reply.pool.sessions.map((each) => ({ ...each, session: workerId(each.session) }));
  return { ...explanation, pool: { ...reply.pool, sessions } };
}
