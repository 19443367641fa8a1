/** `rota session join`: joins as a session, and prints its id. */
import { dropStale } from "../../../app/agents/kept-leases.ts";
import { formatDuration, millis } from "../../../domain/time.ts";
import { neutralize } from "../../../views/text/text.ts";
import type { Run } from "../../frame/command.ts";
import { callDaemon, given } from "../../frame/daemon.ts";
import { say } from "../../frame/say.ts";

export const run: Run = async (input, context) => {
  await using called = await callDaemon(input, context);
  const joined = await called.client.join({
    capabilities: input.texts("capability"),
    ...given({
      session: input.text("id"),
      agent: input.text("agent"),
      pool: input.text("pool"),
      workspace: input.text("workspace"),
      channel: input.text("channel"),
      slots: input.count("slots"),
      ttlMs: input.span("ttl"),
    }),
  });
  dropStale(await called.root());
  const { session, pool, mode, ttl_ms } = joined;
  // The id alone is the result: SESSION=$(rota session join …).
  say<"session join">(input, context, joined, () => [neutralize(session)]);
  const kept = formatDuration(millis(ttl_ms));
  context.terminal.err(
    neutralize(`Joined pool ${pool} (${mode}) as ${session}. A task is kept for ${kept} without a sign of life.`) +
      "\n",
  );
  return 0;
};
