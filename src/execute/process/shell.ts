/** Starts a shell that reads what it is to do from its input, and that outlives this program. */
import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";

const read = (name: string): string => readFileSync(new URL(`./${name}.sh`, import.meta.url), "utf8");
let scripts: { readonly wrapper: string; readonly watchdog: string } | undefined;

/** The programs for it, read when the first one is started. */
export function shellScripts(): { readonly wrapper: string; readonly watchdog: string } {
  if (scripts === undefined) {
    const self = read("self");
    scripts = { wrapper: self + read("wrapper"), watchdog: self + read("watchdog") };
  }
  return scripts;
}

/** In a session of its own, so that no signal of a terminal reaches it, and with nothing in its environment that a task could inherit. */
export function startShell(
  /** What lists of processes show. */
  title: readonly string[],
  text: string,
  output: "pipe" | "ignore",
  failed: (error: Error) => void,
): ChildProcess {
  const shell = spawn("/bin/sh", ["-s", ...title], {
    detached: true,
    cwd: "/",
    env: {},
    stdio: ["pipe", output, "ignore"],
  });
  shell.unref();
  shell.on("error", failed);
  // Of a shell that died its output or its end tells.
  shell.stdin?.on("error", () => {});
  shell.stdin?.write(text);
  return shell;
}
