/** `rota drain`: pauses a scope and waits until none of its tasks is held. */

import { UserError } from "../../../domain/errors.ts";
import { formatDuration, millis } from "../../../domain/time.ts";
import { remainingText } from "../../../views/status/workers.ts";
import { WAIT_MAX } from "../../../wire/messages.ts";
import type { Run } from "../../frame/command.ts";
import { callDaemon, given, reachOf } from "../../frame/daemon.ts";
import { EXIT_NOTHING } from "../../frame/exit.ts";
import { say, sentence } from "../../frame/say.ts";
import { themeOf } from "../../frame/theme.ts";
import { scopeArguments, scopeOf, scopeWords } from "./scope.ts";

export const run: Run = async (input, context) => {
  const scope = scopeOf(input);
  const wait = input.span("wait");
  if (wait !== undefined && wait > WAIT_MAX) {
    throw new UserError("USAGE", `--wait can be ${formatDuration(millis(WAIT_MAX))} at most`);
  }
  await using called = await callDaemon(input, context);
  const command = context.commandsTo(reachOf(input, context, await called.root()));
  const drained = await called.client.drain({ ...scope, ...given({ waitMs: wait }) });
  say<"drain">(input, context, drained, () =>
    drained.drained
      ? sentence(
          `Drained ${scopeWords(scope)}. Nothing new starts there until you run: ${command(["resume", ...scopeArguments(scope)])}`,
        )
      : remainingText(drained.remaining, { columns: context.terminal.columns }, themeOf(context)),
  );
  return drained.drained ? 0 : EXIT_NOTHING;
};
