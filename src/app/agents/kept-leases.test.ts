import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { ManualClock } from "../../../test/rig/clock.ts";
import type { UserError } from "../../domain/errors.ts";
import { instant } from "../../domain/time.ts";
import {
  dropLease,
  dropSession,
  dropStale,
  findLease,
  isKept,
  type KeptLease,
  keepLease,
  renewKept,
} from "./kept-leases.ts";

function freshRoot(): string {
  const root = mkdtempSync(join(tmpdir(), "rota-leases-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  return root;
}
const lease: KeptLease = {
  session: "s1",
  run: "plan-abc123",
  task: "review",
  fence: 1,
  token: "secret",
  deadline: "2026-03-14T12:00:00Z",
};
const codeOf = (ask: () => unknown): string => {
  try {
    ask();
  } catch (error) {
    return (error as UserError).code;
  }
  throw new Error("was not refused");
};

test("a lease is found by its task, in a file that no other user may read", () => {
  const root = freshRoot();
  keepLease(root, lease);
  expect(findLease(root, { task: "review" })).toEqual(lease);
  const folder = join(root, "leases/s1/plan-abc123");
  expect(readdirSync(folder)).toEqual(["review.json"]);
  expect(statSync(join(folder, "review.json")).mode & 0o777).toBe(0o600);
  expect(statSync(join(root, "leases")).mode & 0o777).toBe(0o700);
});

test("where two sessions have known the same task, nothing is guessed", () => {
  const root = freshRoot();
  const other = { ...lease, session: "s2", fence: 2 };
  keepLease(root, lease);
  keepLease(root, other);
  expect(() => findLease(root, { task: "review" })).toThrow(/session s1 in run plan-abc123, session s2/);
  expect(findLease(root, { task: "review", session: "s2" })).toEqual(other);
  expect(findLease(root, { task: "review", fence: 1 })).toEqual(lease);
});

test("runs are told apart, by the start of their ids too", () => {
  const root = freshRoot();
  keepLease(root, lease);
  keepLease(root, { ...lease, run: "other-def456" });
  expect(codeOf(() => findLease(root, { task: "review" }))).toBe("LEASE_UNKNOWN");
  expect(findLease(root, { task: "review", run: "plan" })).toEqual(lease);
});

test("an older claim does not get the lease of a newer one", () => {
  const root = freshRoot();
  keepLease(root, { ...lease, fence: 3 });
  expect(codeOf(() => findLease(root, { task: "review", fence: 1 }))).toBe("LEASE_LOST");
  dropLease(root, lease);
  expect(isKept(root, { ...lease, fence: 3 })).toBe(true);
  dropLease(root, { ...lease, fence: 3 });
  expect(codeOf(() => findLease(root, { task: "review" }))).toBe("LEASE_UNKNOWN");
});

test.each(["../../etc", "a/b", "..", "", "review.json/../x"])("a task called %j leads nowhere", (task) => {
  const root = freshRoot();
  keepLease(root, lease);
  expect(codeOf(() => findLease(root, { task }))).toBe("LEASE_UNKNOWN");
});

test.each(["..", "../../outside", "a/b", "x".repeat(128), "日本語", "~tilde", ".", "-"])(
  "a session called %j has a folder inside all the same",
  (session) => {
    const root = freshRoot();
    keepLease(root, { ...lease, session });
    expect(readdirSync(join(root, "leases"))).toHaveLength(1);
    expect(findLease(root, { task: "review", session }).session).toBe(session);
    dropSession(root, session);
    expect(readdirSync(join(root, "leases"))).toEqual([]);
    expect(readdirSync(root)).toEqual(["leases"]);
  },
);

test("what is no lease is none", () => {
  const root = freshRoot();
  keepLease(root, lease);
  for (const text of [
    "",
    "{",
    "null",
    "[]",
    '{"session":"s1"}',
    readFileSync(join(root, "leases/s1/plan-abc123/review.json"), "utf8").slice(0, 40),
  ]) {
    writeFileSync(join(root, "leases/s1/plan-abc123/review.json"), text);
    expect(codeOf(() => findLease(root, { task: "review" }))).toBe("LEASE_UNKNOWN");
  }
});

test("sessions that left only old files are forgotten, and others are not", () => {
  const root = freshRoot();
  keepLease(root, lease);
  keepLease(root, { ...lease, session: "s2" });
  const old = new Date("2026-01-01T00:00:00Z");
  const s1 = join(root, "leases/s1");
  for (const path of ["plan-abc123/review.json", "plan-abc123", ""]) utimesSync(join(s1, path), old, old);
  dropStale(root, new ManualClock(instant(statSync(join(root, "leases/s2")).mtimeMs + 1_000)));
  expect(readdirSync(join(root, "leases"))).toEqual(["s2"]);
});

test("a renewal brings back neither a lease that was dropped at the same moment nor a lease that another claim has replaced", () => {
  const root = freshRoot();
  keepLease(root, lease);
  renewKept(root, { ...lease, deadline: "2026-03-14T12:05:00Z" });
  expect(findLease(root, { task: "review" }).deadline).toBe("2026-03-14T12:05:00Z");
  keepLease(root, { ...lease, fence: 2 });
  renewKept(root, { ...lease, deadline: "2026-03-14T12:10:00Z" });
  expect(findLease(root, { task: "review" })).toEqual({ ...lease, fence: 2 });
  dropLease(root, { ...lease, fence: 2 });
  renewKept(root, { ...lease, fence: 2 });
  expect(isKept(root, { ...lease, fence: 2 })).toBe(false);
});
