/** `rota edit TASK`: changes a task, while no worker holds it. */
import { UserError } from "../../../domain/errors.ts";
import type { Input, Run } from "../../frame/command.ts";
import { callDaemon, given } from "../../frame/daemon.ts";
import { say, sentence } from "../../frame/say.ts";

export const run: Run = async (input, context) => {
  const changes = await changesOf(input);
  await using called = await callDaemon(input, context);
  const request = {
    task: input.arguments[0] as string,
    changes: JSON.stringify(changes),
    ...given({ run: input.text("run"), why: input.text("why") }),
  };
  const done = await called.client.edit(request);
  say<"edit">(input, context, { ...done, changes }, () =>
    sentence(`Changed ${Object.keys(changes).join(", ")} of task ${done.task} of run ${done.run}.`),
  );
  return 0;
};

async function changesOf(input: Input): Promise<Readonly<Record<string, unknown>>> {
  const set = input.texts("set");
  const whole = input.text("json-changes");
  if ((set.length === 0) === (whole === undefined)) {
    throw new UserError(
      "USAGE",
      set.length === 0 ? "What is to be changed?" : "--set and --json-changes say the same",
      {
        hint: "Such as: rota edit TASK --set priority=high --set retry.attempts=3",
      },
    );
  }
  const { readChanges, readSettings } = await import("../../../app/requests/changes.ts");
  return whole === undefined ? readSettings(set) : readChanges(whole);
}
