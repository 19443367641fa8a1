/** `rota serve`: a scheduler for many runs, until it is told to stop. */
import { resolve } from "node:path";
import { loadConfig } from "../../../app/config/config.ts";
import type { Config } from "../../../app/config/settings.ts";
import { type StateDir, stateHere } from "../../../app/config/state.ts";
import type { Daemon } from "../../../app/daemon/daemon.ts";
import { SERVE } from "../../../app/requests/owner.ts";
import { leaveRunning } from "../../../app/scheduler.ts";
import { formatDuration } from "../../../domain/time.ts";
import { plural } from "../../../views/text/moment.ts";
import { neutralize } from "../../../views/text/text.ts";
import type { Run } from "../../frame/command.ts";
import { reachOf } from "../../frame/daemon.ts";
import type { Terminal } from "../../frame/terminal.ts";
import { version } from "../../version.ts";
import { sayWhatPasses } from "./serve-lines.ts";

export const run: Run = async (input, context) => {
  const { env, cwd, terminal, commandsTo } = context;
  // A program that reads the ready line may ask it to stop at that very moment, so it listens before it prints the line.
  const asked = askedToStop();
  const state = stateHere({ flag: input.text("state"), env, cwd });
  const workers = input.count("workers");
  const { values: config } = await loadConfig({ cwd, env, flags: workers === undefined ? {} : { workers } });
  const { openCrew } = await import("../../../app/crew.ts");
  const executor = openCrew({ state, config, environment: env });
  const { openDaemon } = await import("../../../app/daemon/daemon.ts");
  const socket = input.text("socket");
  const where = socket === undefined ? {} : { socket: resolve(cwd, socket) };
  const of = { config, state, command: SERVE, environment: env, version: version(), ...where };
  await using daemon = await openDaemon({ ...of, executor });
  const isQuiet = input.flag("quiet") || input.flag("json");
  const passing = isQuiet ? undefined : sayWhatPasses(daemon.scheduler, context);
  const server = await openServer(daemon, { state, listen: input.text("listen"), ...where }, terminal);
  terminal.err(`Serving ${state.root} on ${server.socket}${server.url === undefined ? "" : ` and ${server.url}`}\n`);
  passing?.begin();
  if (input.flag("json")) {
    const { url, tokenFile: token } = server;
    terminal.out(`${JSON.stringify({ socket: server.socket, url, token, pid: process.pid })}\n`);
    await terminal.flush();
  }
  // Rejects when the store can no longer be trusted.
  const reason = await Promise.race([asked, daemon.scheduler.engine.failed]);
  await server.close();
  passing?.close();
  if (input.flag("stop-tasks")) await stopTasks(reason, daemon, terminal);
  else {
    const again = commandsTo(reachOf(input, context, state.root))(["serve"]);
    await leaveTasks(reason, daemon, terminal, { ...config, again });
  }
  return 0;
};

async function stopTasks(reason: string, { scheduler: { engine } }: Daemon, terminal: Terminal): Promise<void> {
  terminal.err(`${reason}: stopping${engine.live > 0 ? `, with ${plural(engine.live, "running task")}` : ""}.\n`);
  engine.stopAll();
  await engine.quiet();
}

type Leaving = Pick<Config, "leaseTtl" | "orphans"> & { readonly again: string };

/** Running attempts are left to the next scheduler, as after a crash. */
async function leaveTasks(reason: string, { scheduler }: Daemon, terminal: Terminal, leaving: Leaving): Promise<void> {
  const left = await leaveRunning(scheduler);
  terminal.err(`${reason}: stopping.${left > 0 ? ` ${leftWords(left, leaving)}` : ""}\n`);
}

function leftWords(left: number, { leaseTtl, orphans, again }: Leaving): string {
  const tasks = plural(left, "running task");
  if (orphans === "stop") return `${tasks} ${left === 1 ? "ends" : "end"} too, because \`orphans\` is \`stop\`.`;
  const [go, them] = left === 1 ? ["goes", "it"] : ["go", "them"];
  return `${tasks} ${go} on; to take ${them} over, run this within ${formatDuration(leaseTtl)}: ${neutralize(again)}`;
}

interface ServerPlace {
  readonly state: StateDir;
  readonly listen: string | undefined;
  readonly socket?: string;
}

/** The API and MCP, on the socket and on every address that was asked for. */
async function openServer(
  { service, scheduler }: Daemon,
  { state, listen, ...where }: ServerPlace,
  terminal: Terminal,
) {
  const [{ serve }, { mcpMount }, { planReader }] = await Promise.all([
    import("../../../http/server.ts"),
    import("../../../mcp/mount.ts"),
    import("../../../mcp/plan-text.ts"),
  ]);
  const { clock, secrets } = scheduler;
  const newId = (): string => secrets.token();
  const mcp = mcpMount({ service, clock, version: version(), newId, readPlan: planReader() });
  const server = await serve({
    service,
    state: state.root,
    clock,
    secrets,
    ...where,
    ...(listen !== undefined && { listen }),
    mounts: [mcp],
    onFault: (error) => terminal.err(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`),
  });
  const close = async (): Promise<void> => {
    await mcp.close();
    await server.close();
  };
  return { ...server, close };
}

/** Resolves with the name of the signal when the process is asked to stop. */
function askedToStop(): Promise<string> {
  return new Promise((tell) => {
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => tell(signal));
  });
}
