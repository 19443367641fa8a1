/**
 * A page of the docs as a script: its shell blocks are run one after the other in one shell, files it tells the reader to save are saved,
 * and what it shows is held against what was printed.
 */
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { delimiter, join, resolve } from "node:path";
import { onTestFinished } from "vitest";
import { freshDir } from "./cli.ts";

/** Where the built program is, as a user has it. */
const BIN = resolve(import.meta.dirname, "../../bin");

/** A fenced block: `sh` is run, `text` is what the block before it prints, and a name after the language makes it a file. */
interface Block {
  readonly language: string;
  readonly file?: string;
  readonly text: string;
}

function blocksOf(page: string): readonly Block[] {
  return [...page.matchAll(/^```(\w+)(?: (\S+))?\n([\s\S]*?)^```$/gm)].map(([, language = "", file, text = ""]) => ({
    language,
    text,
    ...(file !== undefined && { file }),
  }));
}

/** A block of commands, what it printed on standard output, and what the page says that it prints. */
export interface Ran {
  readonly commands: string;
  readonly printed: string;
  readonly shown?: string;
}

/** Runs the page in a directory of its own. Broken when a command fails. */
export async function runGuide(page: string): Promise<readonly Ran[]> {
  const cwd = freshDir();
  const blocks = blocksOf(page);
  const script: string[] = [];
  for (const { language, file, text } of blocks) {
    if (file !== undefined) writeFileSync(join(cwd, file), text);
    else if (language === "sh") script.push(`printf '\\036'`, text);
  }
  const printed = (await bash(script.join("\n"), { cwd })).split("\x1e").slice(1);
  return blocks.flatMap((block, at) => {
    if (block.language !== "sh" || block.file !== undefined) return [];
    const next = blocks[at + 1];
    const shown = next?.language === "text" ? { shown: next.text } : {};
    return [{ commands: block.text, printed: (printed.shift() ?? "").replaceAll(cwd, DIRECTORY), ...shown }];
  });
}

const DIRECTORY = "/home/ada/project";

interface BashOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs a script that knows `rota`, stopping at the first command that fails. Gives its standard output. */
export async function bash(script: string, { cwd, env = {} }: BashOptions): Promise<string> {
  const child = spawn("bash", ["-e", "-o", "pipefail", "-c", script], {
    cwd,
    // A group of its own, so that nothing the page starts outlives its test.
    detached: true,
    env: { ...PLAIN, PATH: `${BIN}${delimiter}${process.env["PATH"]}`, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  onTestFinished(() => {
    try {
      process.kill(-(child.pid as number), "SIGKILL");
    } catch {
      // It has ended by itself.
    }
  });
  let [out, err] = ["", ""];
  child.stdout.on("data", (chunk: Buffer) => (out += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (err += chunk.toString()));
  const code = await new Promise<number | null>((done) => child.on("close", done));
  if (code !== 0) throw new Error(`the script ended with ${code}:\n${out}\n${err}`);
  return out;
}

const PLAIN = { HOME: "/nonexistent", USER: "ada", TZ: "UTC", LANG: "C.UTF-8" };

/** What differs from one machine and one moment to the next is made the same. */
export const timeless = (text: string): string =>
  text
    .replaceAll(/-[0-9a-f]{6}\b/g, "-ID")
    .replaceAll(/\b\d\d:\d\d:\d\d\b/g, "TIME")
    .replaceAll(/\b\d+(?:\.\d+)?(?:ms|s|m|h)(?:\d\d[sm])?\b/g, "SPAN")
    .replaceAll(/\d+ workers? · pid \d+ on \S+/g, "OWNER")
    .replaceAll(/^Resources .*$/gm, "Resources")
    // Whether the last heartbeat crosses with the report of the end is chance; such a heartbeat is refused, and the ledger has that.
    .replaceAll(/^.* report "heartbeat" refused: .*\n/gm, "")
    .replaceAll(/ {2,}/g, "  ")
    .trim();

/** Whether the page shows what was printed; a line of three dots stands for any lines. */
export function isShown({ printed, shown = "" }: Ran): boolean {
  const parts = timeless(shown)
    .split(/^…$/m)
    .map((part) => RegExp.escape(part.trim()));
  return new RegExp(`^${parts.join("[\\s\\S]*")}$`).test(timeless(printed));
}
