import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { always } from "../../../test/rig/property.ts";
import type { Outlook } from "./outlook.ts";
import { rollout } from "./rollout.ts";
import { orderBy, Player } from "./rollout-play.ts";

interface Loose {
  readonly cost: number;
  readonly needs: readonly number[];
  readonly asks: readonly [number, number];
}

/** Three workers, and four of something else. */
const KINDS = 2;
const FREE = [3, 4];

/** The first `running` have begun already, and hold what they ask for. */
function outlook(tasks: readonly Loose[], running = 0): Outlook {
  const needsOf = (no: number): readonly number[] =>
    no < running ? [] : [...new Set((tasks[no] as Loose).needs.map((need) => need % no))];
  const dependents = tasks.map((_, no) =>
    tasks.map((__, at) => at).filter((at) => at > no && needsOf(at).includes(no)),
  );
  const tails = new Float64Array(tasks.length);
  for (let no = tasks.length - 1; no >= 0; no--) {
    const behind = (dependents[no] as number[]).map((at) => tails[at] as number);
    tails[no] = (tasks[no] as Loose).cost + Math.max(0, ...behind);
  }
  const starts = Int32Array.from([0, ...dependents.map((_, no) => dependents.slice(0, no + 1).flat().length)]);
  return {
    size: tasks.length,
    running,
    numbers: Int32Array.from(tasks, (_, no) => no),
    costs: Float64Array.from(tasks, ({ cost }) => cost),
    tails,
    unmet: Int32Array.from(tasks, (_, no) => (no === 0 ? 0 : needsOf(no).length)),
    starts,
    dependents: Int32Array.from(dependents.flat()),
    kinds: KINDS,
    free: Float64Array.from(FREE),
    asks: Float64Array.from(tasks.flatMap(({ asks }) => asks)),
  };
}

/** When each task ends, found by hand, millisecond by millisecond. */
function byHand(
  { size, running, costs, starts, dependents, unmet, free, asks }: Outlook,
  ranks: Float64Array,
): Float64Array {
  const ended = new Float64Array(size);
  const left = [...free];
  const open = [...unmet];
  const ends = new Map(Array.from({ length: running }, (_, no) => [no, costs[no] as number]));
  const begun = new Set(ends.keys());
  const order = Array.from({ length: size }, (_, no) => no).sort((a, b) => (ranks[b] as number) - (ranks[a] as number));
  for (let now = 0; ; now++) {
    for (let changed = true; changed; ) {
      changed = false;
      for (const [no] of [...ends].filter(([, end]) => end === now)) {
        ends.delete(no);
        ended[no] = now;
        changed = true;
        left.forEach((amount, kind) => {
          left[kind] = amount + (asks[no * KINDS + kind] as number);
        });
        for (const at of dependents.slice(starts[no], starts[no + 1])) open[at] = (open[at] as number) - 1;
      }
      for (const no of order) {
        if (begun.has(no) || open[no] !== 0) continue;
        if (left.some((amount, kind) => (asks[no * KINDS + kind] as number) > amount)) continue;
        begun.add(no);
        changed = true;
        ends.set(no, now + (costs[no] as number));
        left.forEach((amount, kind) => {
          left[kind] = amount - (asks[no * KINDS + kind] as number);
        });
      }
    }
    if (ends.size === 0) return ended;
  }
}

const loose: fc.Arbitrary<Loose> = fc.record({
  cost: fc.integer({ min: 1, max: 9 }),
  needs: fc.array(fc.nat(), { maxLength: 3 }),
  asks: fc.nat(4).map((amount) => [1, amount] as const),
});
const outlooks = fc
  .record({ tasks: fc.array(loose, { minLength: 1, maxLength: 14, size: "max" }), running: fc.nat(2) })
  .map(({ tasks, running }) => outlook(tasks, Math.min(running, tasks.length - 1)));
const cases = outlooks.chain((ahead) =>
  fc.record({
    ahead: fc.constant(ahead),
    ranks: fc
      .uniqueArray(fc.nat(1_000), { minLength: ahead.size, maxLength: ahead.size })
      .map((ranks) => Float64Array.from(ranks)),
  }),
);

const NEVER = Number.POSITIVE_INFINITY;
const twenty = { plays: 20, isOver: () => false };

describe("a play", () => {
  test("comes to the ends that are found by hand", async () => {
    await always(
      300,
      fc.property(cases, ({ ahead, ranks }) => {
        const player = new Player(ahead);
        const length = player.play(orderBy(ranks), NEVER);
        expect(player.ends).toEqual(byHand(ahead, ranks));
        expect(length).toBe(Math.max(...player.ends));
      }),
    );
  });

  test("is given up exactly when it does not end before its bound", async () => {
    await always(
      300,
      fc.property(cases, fc.nat(60), ({ ahead, ranks }, bound) => {
        const player = new Player(ahead);
        const length = player.play(orderBy(ranks), NEVER);
        expect(player.play(orderBy(ranks), bound)).toBe(length < bound ? length : NEVER);
      }),
    );
  });
});

describe("looking ahead", () => {
  test("never gives up an order for a longer one", async () => {
    await always(
      200,
      fc.property(cases, fc.integer(), ({ ahead, ranks }, seed) => {
        const found = rollout(ahead, ranks, twenty, seed);
        const player = new Player(ahead);
        expect(found.length).toBe(player.play(orderBy(found.ranks), NEVER));
        expect(found.length).toBeLessThanOrEqual(player.play(orderBy(ranks), NEVER));
        expect(found.length).toBeLessThanOrEqual(player.play(orderBy(ahead.tails), NEVER));
      }),
    );
  });

  test("finds the same for the same seed", async () => {
    await always(
      100,
      fc.property(cases, fc.integer(), ({ ahead, ranks }, seed) => {
        expect(rollout(ahead, ranks, twenty, seed)).toEqual(rollout(ahead, ranks, twenty, seed));
      }),
    );
  });

  test("stays with what it has when there is no time", () => {
    const ahead = outlook([
      { cost: 1, needs: [], asks: [1, 4] },
      { cost: 5, needs: [], asks: [1, 4] },
      { cost: 9, needs: [0], asks: [1, 0] },
    ]);
    const worst = Float64Array.from([0, 1, 2]);
    expect(rollout(ahead, worst, { plays: 20, isOver: () => true }, 1)).toEqual({ ranks: worst, length: 15 });
    expect(rollout(ahead, worst, twenty, 1).length).toBe(10);
  });
});
