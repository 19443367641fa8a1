/** What a power cut may take: nothing of what was answered, or about the last second where `durability` is `normal`. Seen by what the system is asked. */
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import { until } from "../rig/rota.ts";
import { canInject, WITHOUT_STRACE } from "../rig/strace.ts";

const root = mkdtempSync(join(tmpdir(), "rota-power-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));
let places = 0;

const STORE = JSON.stringify(new URL("../../src/store/sqlite/store.ts", import.meta.url));
/** Writes once, says so, and does not close the store. */
const PROGRAM = `
  import { writeSync } from "node:fs";
  import { openSqliteStore } from ${STORE};
  const [file, durability, stays] = process.argv.slice(1);
  const store = openSqliteStore(file, { durability });
  await store.request({ kind: "cancel", run: "r", by: "mo", at: 1 });
  writeSync(1, "answered\\n");
  if (stays === "stays") process.stdin.resume();
`;

interface Traced {
  readonly folder: string;
  /** What was synced, and when it was answered, in order. */
  readonly calls: () => readonly string[];
  readonly ended: Promise<number | null>;
}

function traced(durability: "full" | "normal", stays: "stays" | "ends"): Traced {
  const folder = join(root, `${++places}`);
  const trace = `${folder}.trace`;
  const node = [process.execPath, "--disable-warning=ExperimentalWarning", "--input-type=module", "--eval", PROGRAM];
  const program = [...node, "--", join(folder, "rota.db"), durability, stays];
  const options = ["-f", "-y", "-qq", "-o", trace, "-e", "trace=fsync,fdatasync,write"];
  const child = spawn("strace", [...options, ...program], { stdio: ["pipe", "ignore", "inherit"] });
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  // The program ends with what it reads.
  onTestFinished(async () => {
    child.stdin.destroy();
    await ended;
  });
  const calls = (): readonly string[] =>
    (existsSync(trace) ? readFileSync(trace, "utf8") : "").split("\n").flatMap((line) => {
      if (line.includes('"answered\\n"')) return ["answered"];
      const sync = /\b(fsync|fdatasync)\(\d+<(.*?)>/.exec(line);
      return sync === null ? [] : [`${sync[1]} ${sync[2]}`];
    });
  return { folder, calls, ended };
}

describe.skipIf(!canInject())(`what a power cut may take${WITHOUT_STRACE}`, () => {
  test.each(["full", "normal"] as const)(
    "a log is in its folder for good before anything in it is answered, whatever is promised (%s)",
    async (durability) => {
      const { folder, calls, ended } = traced(durability, "ends");
      expect(await ended).toBe(0);
      const log = join(folder, "rota.db-wal");
      const before = calls().slice(0, calls().indexOf("answered"));
      expect(before.slice(before.indexOf(`fsync ${log}`))).toContain(`fsync ${folder}`);
    },
  );

  test("what was answered is synced while the program does nothing else", async () => {
    const { folder, calls } = traced("normal", "stays");
    const synced = `fdatasync ${join(folder, "rota.db-wal")}`;
    await until("it is synced", () => calls().includes(synced));
    expect(calls().slice(calls().indexOf("answered"))).toEqual(["answered", synced]);
  });

  test("a program that ends does not stay for it", async () => {
    const { calls, ended } = traced("normal", "ends");
    expect(await ended).toBe(0);
    expect(calls()).toContain("answered");
    expect(calls().filter((call) => call.startsWith("fdatasync"))).toEqual([]);
  });
});
