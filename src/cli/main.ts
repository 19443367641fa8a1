#!/usr/bin/env node
/**
 * The program. It imports nothing by itself: an old Node must be able to read this file to say that it is too old, and
 * `rota --version` should not wait for what it does not need.
 */
const NODE_MAJOR_MIN = 24;

/** The exit code unless the program sets another one: a program that ends without setting one is at fault itself. */
process.exitCode = 70;
// No top-level await, so that the build can make a file of it that is no ES module: that starts sooner.
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
  // The exit code is set: an error from now on changes nothing.
  process.on("uncaughtException", () => {});
  await terminal.flush();
  // The process is ended here: a watcher or a timer that a command forgot must not keep it alive.
  process.exit(code);
}

/** From the build's compiled parts: to find and read the modules takes longer than to run them. */
async function program(): Promise<typeof import("./program.ts")> {
  const { part } = await import("./compile-cache.ts");
  return (part("look")?.["program"] as typeof import("./program.ts") | undefined) ?? (await import("./program.ts"));
}

/** The shortest way to the answer that scripts ask for in loops. */
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
 * Compiling this program takes about as long as running a short command of it, so Node keeps the compiled code: among the user's
 * own caches, because a user who can write there decides what runs. NODE_DISABLE_COMPILE_CACHE=1 turns it off.
 */
function keepCompiled({ XDG_CACHE_HOME: caches, HOME: home }: NodeJS.ProcessEnv): void {
  const place = caches || (home && `${home}/.cache`);
  if (place) process.getBuiltinModule("node:module").enableCompileCache(`${place}/rota`);
}

/** Node warns on every use that its SQLite may still change. That concerns us and not the user; all other warnings are passed on. */
function quietSqlite(): void {
  const emitWarning = process.emitWarning.bind(process) as (...args: unknown[]) => void;
  process.emitWarning = (...args: unknown[]) => {
    const [warning, type] = args;
    if (type === "ExperimentalWarning" && /sqlite/i.test(String(warning))) return;
    emitWarning(...args);
  };
}
