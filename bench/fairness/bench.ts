/** How fairly the workers are shared: F1 to F9, through the real engine and dispatcher, on virtual time. */
import { atLeast, atMost, type Bench, type Goal, machine } from "../rig.ts";
import { measureDrf } from "./drf.ts";
import { measureIncentive, measureStarvation } from "./incentive.ts";
import { measureReturn } from "./returning.ts";
import { SCENARIOS } from "./scenarios.ts";
import { measureShares, type ShareFigures } from "./shares.ts";
import { countIdle, countOvertaken } from "./waste.ts";

const SLOTS = 16;
const FEW_SLOTS = 4;
const SEED = 7;

export const bench: Bench = async ({ quick }) => {
  const windows = quick ? 4 : 20;
  const shares: ShareFigures[] = [];
  for (const name of SCENARIOS) shares.push(await measureShares(name, SLOTS, windows, SEED));
  const few = await measureShares("like-sized", FEW_SLOTS, windows, SEED);
  const incentive = await measureIncentive(quick ? 2 : 25, SLOTS);
  const starvation = await measureStarvation(SLOTS);
  const drf = await measureDrf(quick ? 50 : 1_000);
  const returning = await measureReturn();
  const idle = await countIdle(SLOTS, quick ? 5_000 : 60_000);
  const strict = await countOvertaken("strict", SLOTS, quick ? 5_000 : 60_000);
  const byShares = await countOvertaken("shares", SLOTS, quick ? 5_000 : 60_000);
  return {
    machine: machine(),
    goals: [
      ...shares.flatMap(shareGoals),
      atMost("F1 service error at 4 slots, like-sized, mean %", few.error.mean * 100, 1.5),
      atMost("F1 service error at 4 slots, like-sized, p95 %", few.error.p95 * 100, 4),
      atMost("F4 end, over the end on a machine of one's own, worst party", incentive.worst, 1.05),
      atMost("F5 wait of a low task under strict priorities, in patiences", starvation.patiences, 3.1),
      atMost("F6 tasks off in the worked example", off(drf.example, [3, 2]), 0),
      atMost("F6 mixes in which shares differ by more than one task", drf.unequal, 0),
      atMost("F6 starts out of turn", drf.outOfTurn, 0),
      atMost("F6 mixes in which lying helped", drf.lyingHelped, 0),
      atMost("F7 share of a party that returns, off after two windows, %", returning.error * 100, 1),
      atLeast("F7 least service of any party meanwhile, over what is due", returning.least, 0.95),
      atMost("F8 moments at which a worker was idle and something fitted", idle.idle, 0),
      atMost("F9 starts before a more urgent task of the same party, strict", strict.overtaken, 0),
    ],
    results: { shares, few, incentive, starvation, drf, returning, idle, strict, byShares },
  };
};

const shareGoals = ({ scenario, error, worst50, worst200, jainP5, longestWait }: ShareFigures): readonly Goal[] => [
  atMost(`F1 service error, ${scenario}, mean %`, error.mean * 100, 1),
  atMost(`F1 service error, ${scenario}, p95 %`, error.p95 * 100, 3),
  atMost(`F2 worst party, ${scenario}, 50 tasks, p95 %`, worst50 * 100, 25),
  atMost(`F2 worst party, ${scenario}, 200 tasks, p95 %`, worst200 * 100, 5),
  atLeast(`F3 Jain index, ${scenario}, p5`, jainP5, 0.99),
  atMost(`F5 longest wait, ${scenario}, over what it may be`, longestWait, 1),
];

const off = (found: readonly number[], wanted: readonly number[]): number =>
  wanted.reduce((sum, each, at) => sum + Math.abs(each - (found[at] ?? 0)), 0);
