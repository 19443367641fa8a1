/** `rota session beat`: a sign of life, and the state of the session. Shows what the session holds. */
import { currentTime } from "../../../app/look/now.ts";
import type { ReportedState } from "../../../domain/sessions/session.ts";
import { sessionText } from "../../../views/status/session.ts";
import type { Run } from "../../frame/command.ts";
import { callDaemon, given } from "../../frame/daemon.ts";
import { say } from "../../frame/say.ts";
import { themeOf } from "../../frame/theme.ts";
import { sessionOf } from "./named.ts";

export const run: Run = async (input, context) => {
  const session = sessionOf(input.arguments[0], context);
  await using called = await callDaemon(input, context);
  const reply = await called.client.beat(session, given({ state: input.text("is") as ReportedState | undefined }));
  say<"session beat">(input, context, reply, () =>
    sessionText(reply, { columns: context.terminal.columns, now: currentTime() }, themeOf(context)),
  );
  return 0;
};
