import { describe, expect, test } from "vitest";
import { manifest, task } from "../../../../test/rig/builders.ts";
import { fakeTerminal } from "../../../../test/rig/cli.ts";
import { ManualClock } from "../../../../test/rig/clock.ts";
import type { Event } from "../../../domain/event.ts";
import { taskNo } from "../../../domain/graph.ts";
import { workerId } from "../../../domain/ids.ts";
import { runNo } from "../../../domain/run.ts";
import { millis } from "../../../domain/time.ts";
import { World } from "../../../domain/world.ts";
import { Outbox } from "../../../engine/turn/outbox.ts";
import { LINES_A_SECOND, sayWhatPasses } from "./serve-lines.ts";

const NO = runNo(1);
const SPECS = [task("build")];

function opened() {
  const clock = new ManualClock();
  const terminal = fakeTerminal();
  const outbox = new Outbox();
  const engine = { world: new World(), listen: (listener: Parameters<Outbox["listen"]>[0]) => outbox.listen(listener) };
  const passing = sayWhatPasses({ engine, clock }, { terminal, env: { TZ: "UTC" } });
  const happen = async (...events: readonly object[]): Promise<string> => {
    outbox.seal()(events.map((event, at) => ({ seq: at + 1, at: clock.now(), run: NO, ...event }) as Event));
    await clock.settle();
    return terminal.said.err;
  };
  return { clock, terminal, passing, happen };
}
const submitted = { kind: "run_submitted", manifest: manifest(), specs: SPECS };
const ofBuild = { task: taskNo(0), version: 1, attempt: 1 };
const success = { kind: "success", durationMs: millis(3_100) };

describe("a scheduler that serves says", () => {
  test("what happens to runs and their tasks, also of a run that ends with the turn in which it was submitted", async () => {
    const { passing, happen } = opened();
    passing.begin();
    const claimed = { kind: "claimed", worker: workerId("writer-1"), ...ofBuild };
    const said = await happen(
      { kind: "worker_started", worker: workerId("local/1"), node: "local" },
      submitted,
      claimed,
      { kind: "succeeded", outcome: success, ...ofBuild },
      { kind: "run_finished", outcome: "succeeded" },
    );
    const { id } = manifest();
    expect(said).toBe(
      [
        `00:16:40 ${id} submitted with 1 task`,
        `00:16:40 ● build claimed by writer-1 · ${id}`,
        `00:16:40 ✔ build 3.1s · ${id}`,
        `00:16:40 ${id} succeeded\n`,
      ].join("\n"),
    );
  });

  test("nothing before it serves, and nothing once it stops", async () => {
    const { passing, happen, terminal } = opened();
    expect(await happen(submitted)).toBe("");
    passing.begin();
    expect(terminal.said.err).toContain("submitted");
    passing.close();
    expect(await happen({ kind: "run_finished", outcome: "succeeded" })).not.toContain("succeeded");
  });

  test("no more in a second than a person reads, and then how many it left out", async () => {
    const { passing, happen, clock, terminal } = opened();
    passing.begin();
    const many = Array.from({ length: LINES_A_SECOND + 7 }, () => ({
      kind: "succeeded",
      outcome: success,
      ...ofBuild,
    }));
    await happen(submitted, ...many);
    expect(terminal.said.err.trim().split("\n")).toHaveLength(LINES_A_SECOND);
    await clock.advance(1_000);
    expect(terminal.said.err).toMatch(/and 8 more events\n$/);
    expect(await happen({ kind: "run_finished", outcome: "succeeded" })).toMatch(/ succeeded\n$/);
  });
});
