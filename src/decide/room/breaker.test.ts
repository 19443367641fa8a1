import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { run as newRun, task } from "../../../test/rig/builders.ts";
import { START } from "../../../test/rig/clock.ts";
import { failure } from "../../../test/rig/floor.ts";
import { always } from "../../../test/rig/property.ts";
import type { Event } from "../../domain/event.ts";
import type { Task } from "../../domain/task.ts";
import { instant, later, seconds } from "../../domain/time.ts";
import {
  admits,
  BREAKER_FAILURES,
  BREAKER_OPEN,
  BREAKER_TRIALS,
  type Breaker,
  CLOSED,
  returned,
  sent,
} from "./breaker.ts";
import { Breakers } from "./breakers.ts";

const at = (count: number) => later(START, seconds(count));
const failed = (times: number): Breaker =>
  Array.from({ length: times }).reduce<Breaker>((breaker) => returned(sent(breaker, START), "failure", START), CLOSED);

describe("a breaker", () => {
  test("opens after five failures in a row, and a success in between begins the count anew", () => {
    expect(failed(4)).toEqual({ state: "closed", failures: 4 });
    expect(failed(5)).toEqual({ state: "open", until: later(START, BREAKER_OPEN), failures: 5 });
    expect(returned(failed(4), "success", START)).toEqual(CLOSED);
    expect(returned(failed(4), "nothing", START)).toEqual(failed(4));
  });

  test("lets no task through for a minute, then three at a time", () => {
    expect(admits(failed(5), at(59))).toBe(false);
    expect(admits(failed(5), at(60))).toBe(true);
    const one = sent(failed(5), at(60));
    expect(one).toMatchObject({ state: "half-open", out: 1 });
    const three = sent(sent(one, at(60)), at(60));
    expect(admits(three, at(60))).toBe(false);
  });

  test("closes when the trials came back well, opens again with the first that did not", () => {
    const three = sent(sent(sent(failed(5), at(60)), at(60)), at(60));
    const two = returned(returned(three, "success", at(61)), "success", at(61));
    expect(two.state).toBe("half-open");
    // Two came back and one is out: that is all it takes to know.
    expect(admits(two, at(61))).toBe(false);
    expect(returned(two, "success", at(62))).toEqual(CLOSED);
    expect(returned(two, "failure", at(62))).toEqual({ state: "open", until: at(122), failures: 6 });
  });

  test("gives the place of a trial that said nothing to another", () => {
    const three = sent(sent(sent(failed(5), at(60)), at(60)), at(60));
    expect(admits(returned(three, "nothing", at(61)), at(61))).toBe(true);
  });

  test("has no fewer than none out, although a task came back that was sent before", () => {
    const none: Breaker = { state: "half-open", out: 0, succeeded: 1, failures: 5 };
    expect(returned(none, "nothing", at(61))).toEqual(none);
  });

  test("never has more trials out than it may, whatever comes back", async () => {
    const moves = fc.array(fc.constantFrom("send", "success", "failure", "nothing", "wait"), {
      maxLength: 60,
      size: "max",
    });
    await always(
      300,
      fc.property(moves, (all) => {
        let breaker = failed(BREAKER_FAILURES);
        let [now, out] = [START, 0];
        for (const move of all) {
          if (move === "wait") now = instant(now + 30_000);
          else if (move === "send") {
            if (!admits(breaker, now)) continue;
            breaker = sent(breaker, now);
            if (breaker.state === "half-open") out++;
          } else if (out > 0 && breaker.state === "half-open") {
            breaker = returned(breaker, move, now);
            out--;
          }
          if (breaker.state !== "half-open") out = 0;
          expect(out).toBeLessThanOrEqual(BREAKER_TRIALS);
        }
      }),
    );
  });
});

describe("the breakers of all services", () => {
  const one = newRun(Array.from({ length: 9 }, (_, at) => task(`t${at}`, { provider: "api" })));
  const [first, second, third] = one.tasks as [Task, Task, Task];
  const ended = (each: Task, second: number, outcome = failure): Event => ({
    kind: "failed",
    outcome,
    reason: "abandoned",
    seq: 1,
    at: at(second),
    run: one.no,
    task: each.no,
    version: 1,
    attempt: 1,
  });

  test("count only what says something about the service", () => {
    const breakers = new Breakers();
    for (let time = 0; time < 9; time++) {
      breakers.returned("api", first, {
        ...ended(first, 0),
        outcome: { kind: "verify", code: 1, durationMs: 5 },
      } as never);
      breakers.returned("api", first, {
        ...ended(first, 0),
        outcome: { kind: "spawn", message: "", durationMs: 5 },
      } as never);
    }
    expect(breakers.of("api")).toEqual(CLOSED);
  });

  test("do not take a straggler from before for one of the trials", () => {
    const breakers = new Breakers();
    for (const each of one.tasks) breakers.sent("api", each, START);
    for (const each of one.tasks.slice(3, 8)) breakers.returned("api", each, ended(each, 0));
    expect(breakers.of("api").state).toBe("open");
    breakers.sent("api", one.tasks[4] as Task, at(60));
    breakers.returned("api", first, ended(first, 61));
    breakers.returned("api", second, ended(second, 61));
    expect(breakers.of("api")).toMatchObject({ state: "half-open", out: 1 });
    expect(breakers.nextTrial(at(61))).toBeUndefined();
  });

  test("are known again from the ledger, and what is still out is not sent twice", () => {
    const breakers = new Breakers();
    const claimed = (each: Task, second: number): Event => ({ ...ended(each, second), kind: "claimed" }) as never;
    const events = one.tasks.slice(0, 6).flatMap((each) => [claimed(each, 0)]);
    breakers.recall(one, [...events, ...one.tasks.slice(1, 6).map((each) => ended(each, 1))]);
    expect(breakers.of("api")).toEqual({ state: "open", until: at(61), failures: 5 });
    breakers.sent("api", third, at(1));
    expect(breakers.of("api").state).toBe("open");
    expect(breakers.nextTrial(at(1))).toBe(at(61));
  });
});
