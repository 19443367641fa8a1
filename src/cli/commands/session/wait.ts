/** `rota session wait`: waits until there is a task for the session to claim. */
import { within } from "../../../app/daemon-retry.ts";
import { minutes } from "../../../domain/time.ts";
import type { Run } from "../../frame/command.ts";
import { callDaemon } from "../../frame/daemon.ts";
import { EXIT_NOTHING } from "../../frame/exit.ts";
import { say, sentence } from "../../frame/say.ts";
import { sessionOf } from "./named.ts";

const WAIT = minutes(10);

export const run: Run = async (input, context) => {
  const session = sessionOf(input.arguments[0], context);
  await using called = await callDaemon(input, context);
  const wake = await within((waitMs) => called.client.wake(session, waitMs), input.span("wait") ?? WAIT);
  if (wake === undefined) {
    if (input.flag("json")) context.terminal.out("null\n");
    else context.terminal.err("Nothing came.\n");
    return EXIT_NOTHING;
  }
  say<"session wait">(input, context, wake, () =>
    sentence(`${wake.task} of ${wake.run} is kept for ${session} until ${wake.until}.`),
  );
  return 0;
};
