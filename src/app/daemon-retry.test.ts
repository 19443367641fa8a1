import { describe, expect, test } from "vitest";
import { ManualClock } from "../../test/rig/clock.ts";
import { UserError } from "../domain/errors.ts";
import { millis, minutes, seconds } from "../domain/time.ts";
import { WAIT_MAX } from "../wire/messages.ts";
import { renewing, retryWhileAway, within } from "./daemon-retry.ts";

const missing = () => new UserError("DAEMON_MISSING", "no daemon");
const stopping = () => new UserError("DAEMON_STOPPING", "it went away");

/** Gives the answers of the list, one after the other; errors are thrown. */
function answering<T>(...answers: (T | Error)[]) {
  const asked: unknown[] = [];
  return {
    asked,
    ask: async (...given: unknown[]): Promise<T> => {
      asked.push(...given);
      const answer = answers.length > 1 ? (answers.shift() as T | Error) : (answers[0] as T | Error);
      if (answer instanceof Error) throw answer;
      return answer;
    },
  };
}

describe("a daemon that is away", () => {
  test("is asked again until it is back", async () => {
    const clock = new ManualClock();
    const { ask } = answering<string>(missing(), stopping(), missing(), "here");
    const answer = retryWhileAway(ask, seconds(1), clock);
    await clock.advance(400);
    expect(await answer).toBe("here");
  });

  test("is given up when the time is over, and at once where there is none", async () => {
    const clock = new ManualClock();
    await expect(retryWhileAway(answering(missing()).ask, seconds(0), clock)).rejects.toThrow("no daemon");
    const late = retryWhileAway(answering(missing()).ask, seconds(1), clock);
    const refused = expect(late).rejects.toThrow("no daemon");
    await clock.advance(1_000);
    await refused;
  });

  test("is told from a daemon that refuses", async () => {
    const refusal = new UserError("LEASE_LOST", "too late");
    await expect(retryWhileAway(answering<string>(refusal, "x").ask, minutes(1), new ManualClock())).rejects.toBe(
      refusal,
    );
  });
});

describe("waiting for longer than a call may take", () => {
  test("is several calls, together as long as was asked for", async () => {
    const clock = new ManualClock();
    const asked: number[] = [];
    const found = within(
      async (waitMs) => {
        asked.push(waitMs);
        await new Promise<void>((done) => void clock.at((clock.now() + waitMs) as never, done));
        return undefined;
      },
      minutes(25),
      clock,
    );
    await clock.advance(minutes(26));
    expect(await found).toBeUndefined();
    expect(asked).toEqual([WAIT_MAX, WAIT_MAX, minutes(5)]);
  });

  test("says at once that no daemon is there, and bears with a daemon that goes away", async () => {
    const clock = new ManualClock();
    await expect(within(answering<string>(missing()).ask, minutes(1), clock)).rejects.toThrow("no daemon");
    const { ask } = answering<string | undefined>(stopping(), missing(), missing(), undefined, "found");
    const found = within(ask, minutes(1), clock);
    await clock.advance(1_000);
    expect(await found).toBe("found");
  });

  test("asks once where there is no wait", async () => {
    const { ask, asked } = answering<string | undefined>(undefined);
    expect(await within(ask, seconds(0), new ManualClock())).toBeUndefined();
    expect(asked).toEqual([0]);
  });
});

describe("renewing", () => {
  const until = (clock: ManualClock, ms: number) => ({ deadline: new Date(clock.now() + ms).toISOString() });

  test("goes on until the end is reported from elsewhere", async () => {
    const clock = new ManualClock();
    let [renewals, held] = [0, true];
    const renew = async () => {
      renewals++;
      return until(clock, 60_000);
    };
    const end = renewing({ every: seconds(10), renew, isHeld: () => held, clock });
    await clock.advance(35_000);
    expect(renewals).toBe(4);
    held = false;
    await clock.advance(500);
    expect(await end).toBe("ended");
  });

  test("ends when the work is to be stopped", async () => {
    const clock = new ManualClock();
    const renew = async () => ({ ...until(clock, 60_000), stop: { kind: "cancelled" } });
    expect(await renewing({ every: seconds(10), renew, isHeld: () => true, clock })).toBe("told-to-stop");
  });

  test("tells a lost lease from a lease that was reported on at the same moment", async () => {
    const clock = new ManualClock();
    let held = true;
    const renew = () => Promise.reject(new UserError("LEASE_LOST", "it is over"));
    const reported = renewing({ every: seconds(10), renew, isHeld: () => held, clock });
    await clock.advance(4_000);
    held = false;
    await clock.advance(200);
    expect(await reported).toBe("ended");
    const lost = expect(renewing({ every: seconds(10), renew, isHeld: () => true, clock })).rejects.toThrow(
      "it is over",
    );
    await clock.advance(5_000);
    await lost;
  });

  test("says soon that a lease is lost whose time was over", async () => {
    const clock = new ManualClock();
    const late = async () => {
      clock.spend(seconds(20));
      throw new UserError("LEASE_LOST", "it is over");
    };
    const lost = expect(renewing({ every: seconds(10), renew: late, isHeld: () => true, clock })).rejects.toThrow(
      "it is over",
    );
    await clock.advance(500);
    await lost;
  });

  test("bears with a daemon that is away as long as the lease lasts, and no longer", async () => {
    const clock = new ManualClock();
    let away = false;
    const renew = async () => {
      if (away) throw missing();
      return until(clock, 30_000);
    };
    const end = renewing({ every: seconds(10), renew, isHeld: () => true, clock });
    const refused = expect(end).rejects.toThrow("no daemon");
    await clock.advance(5_000);
    away = true;
    await clock.advance(24_000);
    let over = false;
    void refused.then(() => (over = true));
    await clock.advance(500);
    expect(over).toBe(false);
    await clock.advance(1_000);
    await refused;
  });

  test("bears with a daemon that goes away before it has answered at all, as long as the lease is known to last", async () => {
    const clock = new ManualClock();
    const { deadline } = until(clock, 20_000);
    const { ask: renew } = answering<{ deadline: string; stop: object }>(stopping(), missing(), {
      ...until(clock, 60_000),
      stop: {},
    });
    const end = renewing({ every: millis(100), renew, isHeld: () => true, deadline, clock });
    await clock.advance(1_000);
    expect(await end).toBe("told-to-stop");
    const late = renewing({
      every: millis(100),
      renew: () => Promise.reject(missing()),
      isHeld: () => true,
      deadline,
      clock,
    });
    const refused = expect(late).rejects.toThrow("no daemon");
    await clock.advance(19_000);
    await refused;
  });
});
