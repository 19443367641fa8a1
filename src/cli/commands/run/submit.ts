/** `rota submit PLAN`: hands a plan to the daemon, and with `--wait` sees it to its end. */
import { dirname, resolve } from "node:path";
import { planText } from "../../../app/runs/plan-file.ts";
import { plural } from "../../../views/text/moment.ts";
import type { Run } from "../../frame/command.ts";
import { callDaemon, given } from "../../frame/daemon.ts";
import { say } from "../../frame/say.ts";

export const run: Run = async (input, context) => {
  const file = resolve(context.cwd, input.arguments[0] as string);
  const text = await planText(file);
  await using called = await callDaemon(input, context, file);
  const request = { text, file, directory: dirname(file), ...given({ key: input.text("key") }) };
  const submitted = await called.client.submit(request);
  const { run: id, tasks, repeated } = submitted;
  if (!input.flag("wait")) {
    const how = repeated ? "had been submitted before" : "submitted";
    say<"submit">(input, context, submitted, () => [id]);
    context.terminal.err(`Run ${id} ${how}: ${plural(tasks, "task")}.\n`);
    return 0;
  }
  const { seeToEnd } = await import("./run-watch.ts");
  return await seeToEnd({ id, root: await called.root(), context, json: input.flag("json") });
};
