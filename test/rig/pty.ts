/** The built program on a terminal of its own, as a person has it: keys go in, and what the screen was sent comes out. */
import { execFileSync, spawn } from "node:child_process";
import { dirname } from "node:path";
import { shellWord } from "../../src/views/why/next.ts";
import { BIN, type Place } from "./rota.ts";

export interface AtTerminal {
  readonly screen: () => string;
  press(keys: string): void;
  /** A person pulls at the window. */
  resize(columns: number, rows: number): void;
  /** The exit code. */
  readonly ended: Promise<number | null>;
}

export function atTerminal({ dir }: Pick<Place, "dir">, args: readonly string[]): AtTerminal {
  const { ROTA_STATE: _, ...clean } = process.env;
  const command = [BIN, ...args].map(shellWord).join(" ");
  const child = spawn("script", ["-qfec", `tty; stty cols 100 rows 30; ${command}`, "/dev/null"], {
    cwd: dir,
    env: { ...clean, NO_COLOR: "1", TERM: "xterm", USER: "mo", PATH: `${dirname(BIN)}:${clean["PATH"]}` },
    stdio: ["pipe", "pipe", "inherit"],
  });
  let shown = "";
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    shown += chunk;
  });
  child.stdin.on("error", () => {});
  return {
    screen: () => shown,
    resize: (columns, rows) => {
      const device = /\/dev\/pts\/\d+/.exec(shown)?.[0] ?? "";
      execFileSync("stty", ["-F", device, "cols", String(columns), "rows", String(rows)]);
    },
    press: (keys) => void child.stdin.write(keys),
    ended: new Promise((resolve, reject) => {
      child.on("error", reject);
      child.on("close", resolve);
    }),
  };
}
