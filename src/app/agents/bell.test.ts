import { closeSync, mkdirSync, openSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { freshDir } from "../../../test/rig/cli.ts";
import { ManualClock } from "../../../test/rig/clock.ts";
import { millis } from "../../domain/time.ts";
import { stateDir } from "../config/state.ts";
import { ringBell } from "../requests/owner.ts";
import { answerBell } from "./bell.ts";

function opened() {
  const state = stateDir(join(freshDir(), "state"));
  mkdirSync(state.root);
  writeFileSync(state.database, "");
  const clock = new ManualClock();
  const rung = vi.fn();
  const gone = vi.fn();
  const bell = answerBell({ state, clock, poll: millis(500), rung, gone });
  return { state, clock, rung, gone, [Symbol.dispose]: () => bell[Symbol.dispose]() };
}

/** The system reports changes of watched files; everything else goes by the clock of the test. */
const soon = { timeout: 10_000, interval: 5 };

test("a bell that rings is heard, also when it was taken away and is there again", async () => {
  using heard = opened();
  const { state, clock, rung, gone } = heard;
  ringBell(state);
  await vi.waitFor(() => expect(rung).toHaveBeenCalled(), soon);
  rmSync(state.bell);
  rung.mockClear();
  await vi.waitFor(async () => {
    await clock.advance(millis(100));
    expect(rung).toHaveBeenCalled();
  }, soon);
  rung.mockClear();
  ringBell(state);
  await vi.waitFor(() => expect(rung).toHaveBeenCalled(), soon);
  expect(gone).not.toHaveBeenCalled();
});

test("a state directory that was removed is gone, which is told once, and nothing is made in its place", async () => {
  using heard = opened();
  const { state, clock, gone } = heard;
  rmSync(state.root, { recursive: true });
  await vi.waitFor(async () => {
    await clock.advance(millis(100));
    expect(gone).toHaveBeenCalledTimes(1);
  }, soon);
  expect(gone).toHaveBeenCalledWith(expect.objectContaining({ code: "STATE_UNUSABLE" }));
  expect(() => closeSync(openSync(state.bell, "r"))).toThrow("ENOENT");
});

test("a database that was replaced counts as gone", async () => {
  using heard = opened();
  const { state, clock, gone } = heard;
  writeFileSync(`${state.database}.other`, "another");
  renameSync(`${state.database}.other`, state.database);
  await vi.waitFor(async () => {
    await clock.advance(millis(100));
    expect(gone).toHaveBeenCalledTimes(1);
  }, soon);
});
