import { describe, expect, test } from "vitest";
import { taskId } from "../../domain/ids.ts";
import { instant, later, seconds } from "../../domain/time.ts";
import type { Wait } from "../../domain/waiting/explanation.ts";
import { waitJson, waitPhrase, waitSentence } from "./wait.ts";

const NOW = instant(1_773_489_600_000);
const pressure: Wait = {
  reason: "backpressure",
  mode: "high",
  queued: 850,
  depth: 1_000,
  allowed: 2,
  out: 2,
  deferred: false,
};
const breaker: Wait = { reason: "breaker-open", provider: "anthropic", failures: 5, until: later(NOW, seconds(40)) };
const rate: Wait = {
  reason: "rate-limited",
  rates: [{ name: "tokens", asked: 400, level: 150.7, capacity: 600, per: seconds(60), at: later(NOW, seconds(25)) }],
  until: later(NOW, seconds(25)),
};
const big = { task: taskId("big"), state: "ready", since: instant(NOW - 90_000) } as const;
const kept: Wait = {
  reason: "resources",
  short: [{ name: "cpu", scope: "machine", asked: 1_000, free: 0, capacity: 4_000, holders: { first: [], total: 0 } }],
  reservedFor: big,
};
const files: Wait = { reason: "hazard", kind: "read-write", path: "src/a", holder: big };

describe("a wait is said with its numbers", () => {
  test.each<[string, Wait, string, string]>([
    [
      "the queue is too full for so many at once",
      pressure,
      "high pressure, 850 of 1000 queued: only 2 at once",
      "is held back: the queue is too full (high pressure, 850 of 1000 queued), so only 2 may run at once until it is shorter, and 2 do.",
    ],
    [
      "the queue is too full for its kind",
      { ...pressure, deferred: true },
      "high pressure, 850 of 1000 queued: more urgent work first",
      "is held back: the queue is too full (high pressure, 850 of 1000 queued), so only more urgent work is started until it is shorter.",
    ],
    [
      "a service is left alone",
      breaker,
      "anthropic failed 5 times, tried again in 40s",
      "waits because anthropic failed 5 times in a row: it is left alone for another 40s. This costs no attempt.",
    ],
    [
      "others try a service",
      { reason: "breaker-open", provider: "anthropic", failures: 5 },
      "anthropic failed 5 times, being tried",
      "waits until a few others have tried anthropic: anthropic failed 5 times in a row.",
    ],
    [
      "sessions are there, and none claims",
      { reason: "capacity", workers: 3, idle: 2, pool: "writers" },
      "no session of pool writers has claimed it: 2 of 3 idle",
      "is ready, and no session of pool writers has claimed it: 2 of 3 idle.",
    ],
    [
      "every session is busy",
      { reason: "capacity", workers: 3, idle: 0, pool: "writers" },
      "every session of pool writers that may take it is busy",
      "is ready, but every session of pool writers that may take it is busy.",
    ],
    [
      "no session has joined the pool",
      { reason: "no-match", missing: ["rust"], tooMuch: [], pool: "writers", sessions: 0 },
      "no session has joined pool writers",
      "waits for a session of pool writers: none has joined, it needs rust.",
    ],
    [
      "no session has what it needs",
      { reason: "no-match", missing: ["rust"], tooMuch: [], pool: "writers", sessions: 2 },
      "no session of pool writers has rust",
      "waits for a session of pool writers: none of 2 sessions may take it, it needs rust.",
    ],
    [
      "a rate has to fill up",
      rate,
      "tokens: asks 400, 150 there, filled in 25s",
      "waits for a rate to fill up: it asks for 400 tokens, 150 of 600 is there, and 600 come every 1m. That is enough in 25s.",
    ],
    [
      "what is free is kept for another",
      kept,
      "kept for big",
      "waits, because what is free is kept for big (ready for 1m30s), who has waited for too long (it asks for 1 cpu, 0 to spare).",
    ],
    [
      "files are kept for another",
      files,
      "src/a is kept for big",
      "waits for files: it would read src/a, which is kept for big (ready for 1m30s), who has waited for too long.",
    ],
  ])("%s", (_, wait, phrase, sentence) => {
    expect(waitPhrase(wait, NOW)).toBe(phrase);
    expect(waitSentence(wait, NOW)).toBe(sentence);
  });

  test("for programs, moments as text and spans as numbers", () => {
    expect(waitJson(pressure)).toEqual(pressure);
    expect(waitJson(breaker)).toEqual({ ...breaker, until: "2026-03-14T12:00:40.000Z" });
    expect(waitJson(rate)).toEqual({
      reason: "rate-limited",
      rates: [
        { name: "tokens", asked: 400, level: 150.7, capacity: 600, per_ms: 60_000, at: "2026-03-14T12:00:25.000Z" },
      ],
      until: "2026-03-14T12:00:25.000Z",
    });
    expect(waitJson(kept)).toMatchObject({
      reason: "resources",
      reserved_for: { task: "big", state: "ready", since: "2026-03-14T11:58:30.000Z" },
    });
  });
});
