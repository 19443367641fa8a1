/** `rota work -- COMMAND`: has a command do the tasks of a pool, one after the other, each under its lease. */
import { agentCommand } from "../../../app/agents/agent-command.ts";
import { stateIdOf } from "../../../app/agents/attempts-around.ts";
import { dropLease, dropSession, keepLease } from "../../../app/agents/kept-leases.ts";
import { work } from "../../../app/agents/work-loop.ts";
import { freshKey } from "../../../app/requests/fresh-key.ts";
import { minutes, seconds } from "../../../domain/time.ts";
import { neutralize, neutralizeLines } from "../../../views/text/text.ts";
import type { Run } from "../../frame/command.ts";
import { callDaemon, given, placeOf } from "../../frame/daemon.ts";

export const run: Run = async (input, context) => {
  const { terminal, env } = context;
  const { stop, kill } = askedToStop();
  await using called = await callDaemon(input, context);
  const root = await called.root();
  const place = placeOf(input, context);
  let session: string | undefined;
  const show = (text: string): void => terminal.out(terminal.interactive ? neutralizeLines(text) : text);
  await work({
    client: called.client,
    profile: {
      capabilities: input.texts("capability"),
      agent: input.text("agent") ?? "work",
      ...given({ pool: input.text("pool"), workspace: input.text("workspace"), ttlMs: input.span("ttl") }),
    },
    start: agentCommand(input.arguments, show),
    // The command's own reports go to the same daemon, whatever directory the task runs in.
    environment: { ...env, ROTA_STATE: root, ...("socket" in place && { ROTA_SOCKET: place.socket }) },
    wait: input.span("wait") ?? minutes(10),
    grace: input.span("grace") ?? seconds(10),
    freshKey,
    stateId: stateIdOf(root),
    keep: ({ run: of, task, fence, token, deadline }, by) => {
      session = by;
      const lease = { session: by, run: of, task, fence, token, deadline };
      keepLease(root, lease);
      return () => dropLease(root, lease);
    },
    tell: (line) => terminal.err(`${neutralize(line)}\n`),
    stop,
    kill,
  });
  if (session !== undefined) dropSession(root, session);
  return 0;
};

/** After the first signal the task is handed back when the command has ended; the second signal ends the command at once. */
function askedToStop(): { readonly stop: AbortSignal; readonly kill: AbortSignal } {
  const [stop, kill] = [new AbortController(), new AbortController()];
  const heard = (): void => (stop.signal.aborted ? kill.abort() : stop.abort());
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, heard);
  return { stop: stop.signal, kill: kill.signal };
}
