/** What is answered is on the disk, and so is its name in the folder: a power cut would need each of these calls. */
import { realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openPlace, type Place } from "../rig/rota.ts";
import { callsOn, canInject, WITHOUT_STRACE } from "../rig/strace.ts";

const NAMES = ["fsync", "fdatasync", "rename"];
const from = (path: string): string => JSON.stringify(new URL(`../../src/${path}`, import.meta.url).href);

/** Of a program of a few lines that writes in the folder. */
function callsOf(place: Place, program: string): Promise<readonly string[]> {
  const folder = realpathSync(place.dir);
  const file = join(place.dir, "program.mjs");
  writeFileSync(file, `const folder = ${JSON.stringify(folder)};\n${program}`);
  const argv = [process.execPath, "--disable-warning=ExperimentalWarning", file];
  return callsOn(folder, NAMES, { argv, cwd: folder });
}

describe.skipIf(!canInject())(`what is brought to the disk${WITHOUT_STRACE}`, () => {
  test("is a private file, before it has its name, and then the folder that has the name", async () => {
    using place = openPlace();
    const program = `const { writePrivately } = await import(${from("http/private-file.ts")});
      writePrivately(folder + "/tokens", "[]");`;
    expect(await callsOf(place, program)).toEqual(["fsync tokens.new", "rename tokens.new", "fsync ."]);
  });

  test("is a file of the store, and the folder it is made in", async () => {
    using place = openPlace();
    const program = `const { REAL } = await import(${from("store/sqlite/platform.ts")});
      REAL.files.save(folder + "/mark", Buffer.from("x"));
      const file = REAL.files.open(folder + "/mark");
      file.write(Buffer.from("y"), 0);
      await file.sync();
      file.close();`;
    expect(await callsOf(place, program)).toEqual(["fsync mark", "fsync .", "fdatasync mark"]);
  });

  test.each([
    ["full", 5],
    ["normal", 0],
  ])("is every commit before it is answered, with durability %s: %d syncs for 5 commits", async (durability, syncs) => {
    using place = openPlace();
    const program = `const { openSqliteStore } = await import(${from("store/sqlite/store.ts")});
      const { renameSync, writeFileSync } = await import("node:fs");
      const store = openSqliteStore(folder + "/rota.db", { durability: "${durability}" });
      const about = { host: "h", command: "c", since: 1, workers: 1, capacity: {} };
      const { value: term } = await store.acquire({ process: { pid: process.pid, startTime: "", bootId: "" }, ...about });
      const say = (text) => { writeFileSync(folder + "/word", ""); renameSync(folder + "/word", folder + "/" + text); };
      say("begin");
      for (let no = 0; no < 5; no++) await store.request({ kind: "cancel", run: "r", by: "mo", at: 1 });
      say("end");
      await store.release(term);
      say("released");
      await store[Symbol.asyncDispose]();`;
    const calls = await callsOf(place, program);
    const [begin, end, released] = calls.flatMap((call, at) => (call === "rename word" ? [at] : []));
    const logged = (from: number | undefined, to?: number): number =>
      calls.slice(from, to).filter((call) => call === "fsync rota.db-wal" || call === "fdatasync rota.db-wal").length;
    expect(logged(begin, end)).toBe(syncs);
    // What was given back is on the disk, with everything before it, and so is what is folded back when the file is closed.
    expect(logged(end, released)).toBeGreaterThan(0);
    expect(calls.slice(released)).toContain("fsync rota.db");
  });
});
