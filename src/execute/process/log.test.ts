import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { capLog, logSize, maskLog } from "./log.ts";

let dir: string;
let log: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "rota-log-"));
  log = join(dir, "log");
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

test("a secret is masked wherever it stands, also across the pieces the log is read in", async () => {
  const secret = "correct horse";
  for (const before of [0, 1024 * 1024 - 5, 1024 * 1024, 1024 * 1024 + 8, 3 * 1024 * 1024]) {
    writeFileSync(log, `${"x".repeat(before)}${secret}${"y".repeat(1024 * 1024)}${secret}`);
    await maskLog(log, [secret]);
    expect(readFileSync(log, "utf8")).toBe(
      `${"x".repeat(before)}${"*".repeat(13)}${"y".repeat(1024 * 1024)}${"*".repeat(13)}`,
    );
  }
});

test("a secret that contains another is masked whole, bytes that are no text stay", async () => {
  writeFileSync(log, Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from("abcdef abcd é")]));
  await maskLog(log, ["abcd", "abcdef"]);
  expect(readFileSync(log)).toEqual(Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from("****** **** é")]));
});

test("a log that is not there is no trouble", async () => {
  await maskLog(log, ["secret"]);
  expect(capLog(log, 10, 0)).toBe(0);
  expect(logSize(log)).toBeUndefined();
});

test("a log is cut again and again, and the missing bytes add up", () => {
  writeFileSync(log, "a".repeat(300));
  const first = capLog(log, 200, 0);
  expect(first).toBe(200);
  appendFileSync(log, "b".repeat(300));
  const size = logSize(log) ?? 0;
  const second = capLog(log, 200, first);
  expect(second).toBe(200 + size - 100);
  appendFileSync(log, "end");
  expect(readFileSync(log, "utf8")).toBe(
    `${"a".repeat(100)}\n[rota: the log went over 200 bytes; ${second} bytes are missing here]\nend`,
  );
});

test("a log within its size is left alone", () => {
  writeFileSync(log, "a".repeat(200));
  expect(capLog(log, 200, 0)).toBe(0);
  expect(readFileSync(log, "utf8")).toBe("a".repeat(200));
});
