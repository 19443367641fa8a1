/** `rota mcp`: an MCP server on standard input and output, for the agent whose client started it. */
import { attemptsAround } from "../../../app/agents/attempts-around.ts";
import { launcherGone } from "../../../app/agents/launcher.ts";
import { profileFrom } from "../../../mcp/profile.ts";
import type { Scope } from "../../../wire/scope.ts";
import type { Input, Run } from "../../frame/command.ts";
import { placeOf } from "../../frame/daemon.ts";
import { version } from "../../version.ts";

export const run: Run = async (input, context) => {
  const { cwd, terminal } = context;
  const profile = profileOf(input);
  const [{ serveStdio }, { planReader }, { connect }] = await Promise.all([
    import("../../../mcp/stdio.ts"),
    import("../../../mcp/plan-text.ts"),
    import("../../../wire/client.ts"),
  ]);
  // The daemon need not run yet: the first call that needs it reports that.
  await using service = connect(placeOf(input, context), { inside: attemptsAround(context.env) });
  const stop = new AbortController();
  // A second signal is taken too: it must not end the process before the session is left, which takes three seconds at most.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => stop.abort());
  await serveStdio({
    input: process.stdin,
    output: process.stdout,
    signal: stop.signal,
    service,
    profile,
    scope: (input.text("scope") as Scope | undefined) ?? "work",
    version: version(),
    isOrphan: launcherGone(process.ppid),
    directory: cwd,
    readPlan: planReader(cwd),
    // Standard output carries messages and nothing else.
    onFault: (error) => terminal.err(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`),
  });
  return 0;
};

/** The agent's profile, as far as the flags give it. */
function profileOf(input: Input) {
  const said = {
    session: input.text("session"),
    agent: input.text("agent"),
    pool: input.text("pool"),
    workspace: input.text("workspace"),
    slots: input.count("slots"),
    capabilities: input.texts("capability"),
  };
  return profileFrom(said, "the agent", "USAGE");
}
