import { expect, test } from "vitest";
import { type Figure, type Usage, usedByBoth } from "./usage.ts";

const measured = (amount: number): Figure => ({ amount, source: "measured" });
const sampled = (amount: number): Figure => ({ amount, source: "sampled" });
const reported = (amount: number): Figure => ({ amount, source: "reported" });

test.each<[string, Usage | undefined, Usage | undefined, Usage | undefined]>([
  ["time adds up", { cpuMs: measured(3) }, { cpuMs: measured(4) }, { cpuMs: measured(7) }],
  ["a peak is the higher one", { peakBytes: sampled(9) }, { peakBytes: sampled(4) }, { peakBytes: sampled(9) }],
  ["a sum is as good as the worse of its parts", { cpuMs: measured(3) }, { cpuMs: sampled(4) }, { cpuMs: sampled(7) }],
  ["what one of them used and the system did not measure is unknown", { cpuMs: measured(3) }, {}, {}],
  ["a peak that one of them had is one", { peakBytes: sampled(9) }, {}, { peakBytes: sampled(9) }],
  ["what a worker reports stays", { inputTokens: reported(90) }, { cpuMs: measured(1) }, { inputTokens: reported(90) }],
  ["of one of them nothing is known at all", { cpuMs: measured(3) }, undefined, { cpuMs: measured(3) }],
  ["nothing is known", undefined, undefined, undefined],
])("%s", (_, first, second, both) => {
  expect(usedByBoth(first, second)).toEqual(both);
});
