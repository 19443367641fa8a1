import { expect, test } from "vitest";
import { task } from "../../../test/rig/builders.ts";
import { runNo } from "../../domain/run.ts";
import { instant, seconds } from "../../domain/time.ts";
import { WaitingLines } from "./aging.ts";
import type { Candidate } from "./queue.ts";

test("a line keeps the tasks that wait, and not every task that ever waited", () => {
  const run = runNo(1);
  const candidate = (no: number): Candidate =>
    ({ run: { no: run }, task: task(`t${no}`), lane: "normal", entered: { at: instant(no), given: 0 } }) as never;
  const gone = new Set<Candidate>();
  let asked = 0;
  const waits = (each: Candidate): boolean => {
    asked++;
    return !gone.has(each);
  };
  const lines = new WaitingLines({ dispatches: 100, wait: seconds(60) }, waits);
  lines.join(run);
  // The first task stays in front, so the tasks that come and go behind it are not reached.
  lines.add(candidate(0));
  for (let no = 1; no <= 50_000; no++) {
    const each = candidate(no);
    lines.add(each);
    gone.add(each);
  }
  expect(asked).toBeLessThan(4 * 50_000);
  asked = 0;
  gone.clear();
  const later = { at: instant(10_000_000), given: 1_000 };
  const found: Candidate[] = [];
  for (let at = 0; at < 50_001; at++) {
    const next = lines.overdue(
      () => ({ at: instant(later.at + at * 100_000), given: 1_000 * (at + 1) }),
      instant(later.at + at * 100_000),
    );
    if (next.length === 0) break;
    found.push(...next);
  }
  expect(found.length).toBeLessThan(2_100);
});
