#!/usr/bin/env node
/**
 * The program. It imports nothing by itself: an old Node must be able to read this file to say that it is too old, and
 * `rota --version` should not wait for what it does not need.
 */
const NODE_MAJOR_MIN = 24;

/** Until somebody says otherwise: a program that ends without having said how is at fault itself. */
process.exitCode = 70;
// Nothing is awaited out here, so that the build can make something of it that is no ES module: that starts sooner.
if (Number.parseInt(process.versions.node, 10) < NODE_MAJOR_MIN) void refuseOldNode();
else void start();

async function start(): Promise<void> {
  const [only, ...more] = process.argv.slice(2);
  if ((only === "--version" || only === "-V" || only === "-v") && more.length === 0) return sayVersion();
  quietSqlite();
  keepCompiled(process.env);
  const { called, runProgram, systemTerminal } = await program();
  const terminal = systemTerminal(process.env);
  const code = await runProgram(process.argv.slice(2), {
    terminal,
    env: process.env,
    cwd: process.cwd(),
    program: () => called(process.argv[1], process.env["PATH"]),
  });
  // How it ended has been said: what goes wrong now changes nothing.
  process.on("uncaughtException", () => {});
  await terminal.flush();
  // Not left to itself: a watcher or a timer that a command forgot must not keep the prompt away.
  process.exit(code);
}

/** As the build has kept it: to find and read it as modules takes longer than to run it. */
async function program(): Promise<typeof import("./program.ts")> {
  const { part } = await import("./kept.ts");
  return (part("look")?.["program"] as typeof import("./program.ts") | undefined) ?? (await import("./program.ts"));
}

/** The shortest way to the one answer that scripts ask for in loops. */
async function sayVersion(): Promise<void> {
  const { version } = await import("./version.ts");
  process.stdout.write(`${version()}\n`);
  process.exitCode = 0;
}

async function refuseOldNode(): Promise<void> {
  const { UserError } = await import("../domain/errors.ts");
  const error = new UserError(
    "NODE_OLD",
    `This is Node ${process.versions.node}, and Rota needs ${NODE_MAJOR_MIN} or newer`,
  );
  process.stderr.write(`${error.code}: ${error.message} (${error.hint})\n`);
  process.exitCode = error.exitCode;
}

/**
 * Compiling this program takes about as long as running a short command of it, so Node keeps what it has compiled: among the user's
 * own caches, because whoever can write there decides what is run. NODE_DISABLE_COMPILE_CACHE=1 turns it off.
 */
function keepCompiled({ XDG_CACHE_HOME: caches, HOME: home }: NodeJS.ProcessEnv): void {
  const place = caches || (home && `${home}/.cache`);
  if (place) process.getBuiltinModule("node:module").enableCompileCache(`${place}/rota`);
}

/** Node says on every use that its SQLite may still change. That is our concern and not the user's; all else is passed on. */
function quietSqlite(): void {
  const emitWarning = process.emitWarning.bind(process) as (...args: unknown[]) => void;
  process.emitWarning = (...args: unknown[]) => {
    const [warning, type] = args;
    if (type === "ExperimentalWarning" && /sqlite/i.test(String(warning))) return;
    emitWarning(...args);
  };
}
