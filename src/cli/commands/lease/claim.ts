/** `rota claim [TASK]`: gets a task for a session, keeps its lease in a private file, and says what to do. */

import { keepLease } from "../../../app/agents/kept-leases.ts";
import { within } from "../../../app/daemon-retry.ts";
import { currentTime } from "../../../app/look/now.ts";
import { freshKey } from "../../../app/requests/fresh-key.ts";
import { UserError } from "../../../domain/errors.ts";
import type { Priority } from "../../../domain/spec.ts";
import { millis } from "../../../domain/time.ts";
import { grantEnv, grantText } from "../../../views/claim/grant.ts";
import { neutralizeLines } from "../../../views/text/text.ts";
import type { CommandWriter } from "../../../views/why/next.ts";
import type { Grant } from "../../../wire/answers.ts";
import type { Context, Input, Run } from "../../frame/command.ts";
import { type Called, callDaemon, given, reachOf } from "../../frame/daemon.ts";
import { EXIT_NOTHING } from "../../frame/exit.ts";
import { themeOf } from "../../frame/theme.ts";
import { sessionOf } from "../session/named.ts";

export const run: Run = async (input, context) => {
  const session = sessionOf(input.text("session"), context);
  if (input.flag("json") && input.flag("env"))
    throw new UserError("USAGE", "--json and --env cannot be asked for at once");
  await using called = await callDaemon(input, context);
  // Known before the claim: a grant must not be lost on the way to its file.
  const root = await called.root();
  const grant = await ask(called, session, input);
  if (grant === undefined) {
    if (input.flag("json")) context.terminal.out("null\n");
    else context.terminal.err("There is nothing to claim now. With --wait 10m the claim waits for a task.\n");
    return EXIT_NOTHING;
  }
  const { run: of, task, fence, token, deadline } = grant;
  // A key that was used before gets the same answer, but no work should begin on a claim that has ended since.
  if (grant.ttl_ms === 0) throw new UserError("LEASE_LOST", `Claim ${fence} of ${task} in run ${of} is over`);
  keepLease(root, { session, run: of, task, fence, token, deadline });
  show(grant, session, input, { ...context, command: context.commandsTo(reachOf(input, context, root)) });
  return 0;
};

/** The claim always has a key, from the user or a fresh one: a daemon that died on the way gives the same answer when it is back. */
async function ask({ client }: Called, session: string, input: Input): Promise<Grant | undefined> {
  const wait = input.span("wait") ?? millis(0);
  if (input.flag("assigned")) return within((waitMs) => client.assignment(session, waitMs), wait);
  const request = {
    session,
    key: input.text("key") ?? freshKey(),
    ...given({
      run: input.text("run"),
      task: input.arguments[0],
      priority: input.text("priority") as Priority | undefined,
    }),
  };
  return within((waitMs) => client.claim({ ...request, waitMs }), wait);
}

function show(
  grant: Grant,
  session: string,
  input: Input,
  context: Context & { readonly command: CommandWriter },
): void {
  const { terminal, command } = context;
  if (input.flag("json")) return terminal.out(`${JSON.stringify(grant)}\n`);
  if (input.flag("env")) {
    const lines = grantEnv(grant, session);
    // For a shell every byte counts; on a screen no byte may act on the terminal.
    return terminal.out(terminal.interactive ? neutralizeLines(lines) : lines);
  }
  const lines = grantText(grant, { columns: terminal.columns, now: currentTime(), command }, themeOf(context));
  terminal.out(lines.map((line) => `${line}\n`).join(""));
}
