import { readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { describe, expect, expectTypeOf, test } from "vitest";
import type { TaskNews } from "../../domain/event.ts";
import type { Engine } from "../engine.ts";
import type { LeaseGrant } from "../sessions/claim.ts";
import type { ClaimService } from "../sessions/claim-service.ts";
import type { Leases } from "../work/leases.ts";
import type { Pending, WakeNews, WakeTurn } from "./wake-port.ts";
import type { WakeScheduler, WakeSchedulerDeps } from "./wake-scheduler.ts";

describe("the scheduler of pools that pull cannot claim", () => {
  test("nothing it may write down is a claim, or ends or renews one", () => {
    expectTypeOf<WakeNews["kind"]>().toEqualTypeOf<
      "offered" | "offer_ended" | "starving" | "spawn_asked" | "starved" | "parked"
    >();
    expectTypeOf<Extract<TaskNews, { readonly kind: "claimed" }>>().not.toExtend<WakeNews>();
    expectTypeOf<Parameters<WakeTurn["write"]>[1]>().toEqualTypeOf<WakeNews>();
  });

  test("neither its turn nor anything it is given has a way to", () => {
    type Verbs = keyof WakeTurn;
    expectTypeOf<Extract<Verbs, "claim" | "grant" | "assign" | "nextFor" | "exactFor" | "journal">>().toBeNever();
    expectTypeOf<Extract<keyof WakeSchedulerDeps, "claimService" | "leases" | "engine" | "floor">>().toBeNever();
    expectTypeOf<ReturnType<WakeTurn["choose"]>>().toEqualTypeOf<Pending | undefined>();
    // The type that a claim gives is not among the types that any of its verbs give.
    type Gives = { [Verb in Verbs]: WakeTurn[Verb] extends (...args: never[]) => infer Given ? Given : never }[Verbs];
    expectTypeOf<Extract<Gives, LeaseGrant | ClaimService | Leases | Engine>>().toBeNever();
    expectTypeOf<Extract<keyof WakeScheduler, "claim" | "assign">>().toBeNever();
  });

  const source = resolve(import.meta.dirname, "../..");
  const CLAIMS = [
    "decide/dispatcher.ts",
    "engine/engine.ts",
    "engine/engine-api.ts",
    "engine/sessions/claim-service.ts",
    "engine/turn/pending-batch.ts",
    "engine/wake/wake-turn.ts",
    "engine/work/leases.ts",
    "engine/work/local-workers.ts",
  ];
  test.each([
    "engine/wake/wake-scheduler.ts",
    "engine/wake/wake-port.ts",
    "engine/wake/wake-plan.ts",
    "engine/wake/cooldowns.ts",
    "engine/wake/escalations.ts",
    "decide/rules/ladder.ts",
  ])("%s imports nothing that can, not even by way of others, and not even its types", (file) => {
    const reached = reachedFrom(join(source, file)).map((path) => relative(source, path));
    expect(reached).toContain("domain/task.ts");
    expect(reached.filter((path) => CLAIMS.includes(path))).toEqual([]);
  });

  test("which is checked as it should be: code that does claim is found", () => {
    const reached = reachedFrom(join(source, "engine/engine.ts")).map((path) => relative(source, path));
    expect(reached).toEqual(expect.arrayContaining(CLAIMS));
  });
});

/** Every file that this one imports, directly or not. */
function reachedFrom(file: string, seen = new Set<string>()): readonly string[] {
  if (seen.has(file)) return [];
  seen.add(file);
  for (const [, path] of readFileSync(file, "utf8").matchAll(/(?:from|import)\s*\(?\s*"(\.[^"]+)"/g)) {
    reachedFrom(resolve(dirname(file), path as string), seen);
  }
  return [...seen];
}
