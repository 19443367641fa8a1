import fc from "fast-check";
import { expect, test } from "vitest";
import { always } from "../../../test/rig/property.ts";
import { instant, millis } from "../../domain/time.ts";
import { FairShare } from "./fair-share.ts";

/** The same in the plainest way: every party is looked at every time. */
class Plain {
  readonly parties = new Map<number, { weight: number; served: number; at: number; out: number[]; queued: number }>();
  entry = 1_000;
  last = 0;

  at(key: number, now: number) {
    const party = this.parties.get(key);
    if (party === undefined) return undefined;
    const running = party.out.reduce((sum, share) => sum + share, 0);
    if (now > party.at) {
      party.served += (running * (now - party.at)) / party.weight;
      party.at = now;
    }
    return { party, position: party.served + (running * this.entry) / party.weight };
  }

  queue(key: number, now: number): void {
    const found = this.at(key, now);
    if (found === undefined) return;
    const others = [...this.parties.keys()].filter((each) => each !== key).flatMap((each) => this.at(each, now) ?? []);
    const waiting = others.filter(({ party }) => party.queued > 0);
    const working = others.filter(({ party }) => party.out.length > 0);
    const ahead = waiting.length > 0 ? waiting : working;
    const level = ahead.length > 0 ? Math.min(...ahead.map(({ position }) => position)) : this.last;
    if (found.party.queued === 0) found.party.served += Math.max(0, level - found.position);
    found.party.queued++;
  }

  rest(key: number): void {
    const party = this.parties.get(key);
    if (party?.queued === 0 && party.out.length === 0) this.last = Math.max(this.last, party.served);
  }

  order(now: number): readonly number[] {
    const waiting = [...this.parties.keys()].filter((key) => (this.parties.get(key)?.queued ?? 0) > 0);
    const position = (key: number): number => this.at(key, now)?.position ?? 0;
    return waiting.sort((a, b) => position(a) - position(b) || a - b);
  }
}

/** Shares and weights are powers of two, so that sums of them are exact whatever the order. */
const step = fc.record({
  kind: fc.constantFrom("join", "queue", "queue", "queue", "start", "start", "end", "forfeit", "leave"),
  key: fc.nat(6),
  other: fc.nat(6),
  share: fc.constantFrom(0.25, 0.5, 1),
  wait: fc.constantFrom(0, 0, 64, 1_024),
});

test("the waiting parties are in the order in which they are behind, whatever has happened", async () => {
  await always(
    300,
    fc.property(fc.array(step, { maxLength: 80, size: "max" }), (steps) => {
      const shares = new FairShare<number>();
      const plain = new Plain();
      let now = 1_000;
      for (const { kind, key, other, share, wait } of steps) {
        now += wait;
        const at = instant(now);
        const party = plain.parties.get(key);
        if (kind === "join" && party === undefined) {
          const weight = 2 ** (key % 3);
          shares.join(key, weight, key);
          plain.parties.set(key, { weight, served: 0, at: 0, out: [], queued: 0 });
        }
        if (party === undefined) continue;
        if (kind === "queue") {
          shares.queue(key, at);
          plain.queue(key, now);
        }
        if (kind === "start" && party.queued > 0) {
          shares.unqueue(key);
          shares.start(key, share, at);
          party.queued--;
          plain.rest(key);
          plain.at(key, now);
          party.out.push(share);
        }
        if (kind === "end" && party.out.length > 0) {
          plain.at(key, now);
          shares.end(key, party.out.pop() as number, millis(0), at);
          plain.rest(key);
        }
        if (kind === "forfeit") {
          shares.forfeit(key, other, at);
          const [mine, theirs] = [plain.at(key, now), plain.at(other, now)];
          if (mine && theirs) mine.party.served += Math.max(0, theirs.position - mine.position);
        }
        if (kind === "leave" && party.queued === 0 && party.out.length === 0) {
          shares.leave(key);
          plain.rest(key);
          plain.parties.delete(key);
        }
        expect([...shares.order(at)]).toEqual(plain.order(now));
      }
    }),
  );
});
