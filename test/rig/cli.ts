/** The program as tests use it: in this process with a terminal that remembers, or as a process of its own. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { onTestFinished } from "vitest";
import type { Terminal } from "../../src/cli/frame/terminal.ts";
import { runProgram } from "../../src/cli/program.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const MAIN = join(ROOT, "src/cli/main.ts");
type Env = Readonly<Record<string, string | undefined>>;

/** Nothing of the machine's own settings, so that a test says the same everywhere. */
const PLAIN: Env = {
  PATH: `${join(ROOT, "bin")}:${process.env["PATH"]}`,
  HOME: "/nonexistent",
  USER: "mo",
  TZ: "UTC",
  LANG: "C.UTF-8",
};

export interface Said {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

interface Options {
  readonly cwd?: string;
  readonly env?: Env;
}

/** A directory that is gone when the test is over. */
export function freshDir(): string {
  const dir = mkdtempSync(join(tmpdir(), "rota-cli-"));
  // What a killed daemon had running may still write there for a moment.
  onTestFinished(() => rmSync(dir, { recursive: true, force: true, maxRetries: 10 }));
  return dir;
}

export interface FakeTerminal extends Terminal {
  readonly said: { out: string; err: string };
  /** The reader of the output is gone. */
  leave(): void;
}

export function fakeTerminal(
  rest: Partial<Pick<Terminal, "interactive" | "color" | "errColor" | "columns">> = {},
): FakeTerminal {
  const said = { out: "", err: "" };
  const reader = new AbortController();
  const decoder = new TextDecoder();
  return {
    said,
    out: (text) => {
      said.out += typeof text === "string" ? text : decoder.decode(text, { stream: true });
    },
    err: (text) => {
      said.err += text;
    },
    interactive: false,
    color: false,
    errColor: false,
    columns: 100,
    rows: 30,
    flush: async () => {},
    gone: reader.signal,
    leave: () => reader.abort(),
    ...rest,
  };
}

/** In this process: quick, and the terminal can be anything. */
export async function rota(
  args: readonly string[],
  options: Options & { readonly terminal?: FakeTerminal } = {},
): Promise<Said> {
  const { cwd = ROOT, env = {}, terminal = fakeTerminal() } = options;
  const code = await runProgram(args, { terminal, env: { ...PLAIN, ...env }, cwd });
  return { code, ...terminal.said };
}

/** A process of its own, through the entry that users start. */
export function startRota(args: readonly string[], { cwd = ROOT, env = {} }: Options = {}): Started {
  const child = spawn(process.execPath, [MAIN, ...args], {
    cwd,
    env: { ...PLAIN, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const said = { out: "", err: "" };
  const waiters = new Set<() => void>();
  const hear = (where: "out" | "err") => (chunk: Buffer) => {
    said[where] += chunk.toString();
    for (const look of waiters) look();
  };
  child.stdout.on("data", hear("out"));
  child.stderr.on("data", hear("err"));
  const ended = new Promise<Said>((done, fail) => {
    child.on("error", fail);
    child.on("close", (code, signal) => done({ code: code ?? (signal === null ? -1 : -2), ...said }));
  });
  return {
    child,
    said,
    ended,
    says: (what) =>
      new Promise<void>((done, fail) => {
        const look = (): void => {
          if (what.test(said.out) || what.test(said.err)) done();
        };
        waiters.add(look);
        look();
        void ended.then(({ code, err }) => fail(new Error(`ended with ${code} before it said ${what}: ${err}`)));
      }),
  };
}

export interface Started {
  readonly child: ChildProcess;
  readonly said: { readonly out: string; readonly err: string };
  readonly ended: Promise<Said>;
  /** Kept once it has said something that fits. */
  says(what: RegExp): Promise<void>;
}

export const spawnRota = (args: readonly string[], options?: Options): Promise<Said> => startRota(args, options).ended;
