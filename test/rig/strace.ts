/** Runs a process whose N-th call of the system goes wrong: it dies there, or is told that the disk failed. Needs strace, which not every machine has. */
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Everything by which a program changes a file. */
export const CALLS = ["write", "pwrite64", "fsync", "fdatasync", "rename", "ftruncate", "link", "unlink"] as const;
export type Call = (typeof CALLS)[number];
/** What a call that fails is told. */
export const ERRORS = ["ENOSPC", "EIO", "EROFS"] as const;

export interface Fault {
  readonly call: Call;
  /** `SIGKILL`: the process ends there. Otherwise the call fails like this and is not done. */
  readonly how: "SIGKILL" | (typeof ERRORS)[number];
  /** Which of the calls, the first being 1; `lasting` when every later one too. */
  readonly at: number;
  readonly lasting?: boolean;
}

export interface Traced {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly out: string;
  readonly err: string;
}

interface Program {
  readonly argv: readonly string[];
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Whether the processes it starts are meant too. */
  readonly follow?: boolean;
}

let usable: boolean | undefined;

/** False where there is no strace, or it may not look at processes (as in many containers). */
export function canInject(): boolean {
  usable ??=
    spawnSync("strace", ["-qq", "-o", "/dev/null", "-e", "inject=fsync:error=EIO:when=1", "true"]).status === 0;
  return usable;
}

/** `CRASH=all`: every point is tried, and not some of them. */
export const ALL = process.env["CRASH"] === "all";

/** What a test that needs it is called where it is not there. */
export const WITHOUT_STRACE = canInject() ? "" : " (skipped: this machine has no strace that can trace)";

export const nameOf = ({ call, how, at, lasting }: Fault): string =>
  `${how} at ${call} ${at}${lasting === true ? " and every later one" : ""}`;

export function inject(fault: Fault, program: Program): Promise<Traced> {
  const { call, how, at, lasting } = fault;
  const what = how === "SIGKILL" ? "signal=SIGKILL" : `error=${how}`;
  const inject = `inject=${call}:${what}:when=${at}${lasting === true ? "+" : ""}`;
  return traced(["-o", "/dev/null", "-e", `trace=${call}`, "-e", inject], program);
}

/** How often a program calls each of them when nothing goes wrong. */
export async function countCalls(program: Program): Promise<Readonly<Record<Call, number>>> {
  const dir = mkdtempSync(join(tmpdir(), "rota-strace-"));
  try {
    const file = join(dir, "calls");
    const { code, err } = await traced(["-o", file, "-e", `trace=${CALLS.join()}`], program);
    if (code !== 0) throw new Error(`it ended with ${code}: ${err}`);
    const text = readFileSync(file, "utf8");
    const countOf = (call: Call): number => text.match(new RegExp(`(?:^|\\s)${call}\\(`, "gm"))?.length ?? 0;
    return Object.fromEntries(CALLS.map((call) => [call, countOf(call)])) as Record<Call, number>;
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/** The calls of these names that a program makes on files below a folder, in their order, each with the file it is about. */
export async function callsOn(folder: string, names: readonly string[], program: Program): Promise<readonly string[]> {
  const dir = mkdtempSync(join(tmpdir(), "rota-strace-"));
  try {
    const file = join(dir, "calls");
    const { code, err } = await traced(["-y", "-s", "4096", "-o", file, "-e", `trace=${names.join()}`], program);
    if (code !== 0) throw new Error(`it ended with ${code}: ${err}`);
    const calls = [...readFileSync(file, "utf8").matchAll(/^\d+ +(\w+)\([^<"]*[<"]([^>"]+)[>"]/gm)];
    return calls
      .filter(([, , path]) => path === folder || path?.startsWith(`${folder}/`))
      .map(([, call, path]) => `${call} ${path === folder ? "." : path?.slice(folder.length + 1)}`);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

function traced(options: readonly string[], { argv, cwd, env, follow = true }: Program): Promise<Traced> {
  const all = [...(follow ? ["-f", "--seccomp-bpf"] : []), "-qq", ...options, ...argv];
  const child = spawn("strace", all, { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
  let out = "";
  let err = "";
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    out += chunk;
  });
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    err += chunk;
  });
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code, signal) => resolve({ code, signal, out, err }));
  });
}

/** At most `most` of the numbers 1 … `count`, spread evenly; all of them when that many may be tried. */
export function sample(count: number, most: number): readonly number[] {
  if (count <= most) return Array.from({ length: count }, (_, index) => index + 1);
  return Array.from({ length: most }, (_, index) => 1 + Math.floor((index * (count - 1)) / Math.max(1, most - 1)));
}

/** Does `work` for each, so many at a time. */
export async function each<T>(items: readonly T[], atOnce: number, work: (item: T) => Promise<void>): Promise<void> {
  const left = [...items];
  const worker = async (): Promise<void> => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}
