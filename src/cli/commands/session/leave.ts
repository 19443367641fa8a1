/** `rota session leave`: the session is gone; the tasks it still holds go to others when its leases expire. */
import { dropSession } from "../../../app/agents/kept-leases.ts";
import type { Run } from "../../frame/command.ts";
import { callDaemon } from "../../frame/daemon.ts";
import { say, sentence } from "../../frame/say.ts";
import { sessionOf } from "./named.ts";

export const run: Run = async (input, context) => {
  const session = sessionOf(input.arguments[0], context);
  await using called = await callDaemon(input, context);
  await called.client.leave(session);
  dropSession(await called.root(), session);
  say<"session leave">(input, context, { session, left: true }, () => sentence(`${session} has left.`));
  return 0;
};
