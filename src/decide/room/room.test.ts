import { expect, test } from "vitest";
import { instant, later, millis, seconds } from "../../domain/time.ts";
import { fits, giveBack, Room, refilledAt, take } from "./room.ts";

const NOW = instant(1_000_000);

const drawn = (room: Room, name: string, amount: number) => [{ resource: room.resource(name) as never, amount }];

test("what is taken is not there for others, until it is given back", () => {
  const room = new Room({ cpu: 4 });
  take(drawn(room, "cpu", 3), NOW);
  expect(fits(drawn(room, "cpu", 1), NOW)).toBe(true);
  expect(fits(drawn(room, "cpu", 2), NOW)).toBe(false);
  giveBack(drawn(room, "cpu", 3));
  expect(fits(drawn(room, "cpu", 4), NOW)).toBe(true);
  expect(fits(drawn(room, "cpu", 5), NOW)).toBe(false);
});

test("what was not taken cannot be given back", () => {
  const room = new Room({ cpu: 4 });
  take(drawn(room, "cpu", 1), NOW);
  giveBack(drawn(room, "cpu", 1));
  expect(() => giveBack(drawn(room, "cpu", 1))).toThrow("cpu was given back twice");
});

test("more may be out than there is, after the machine became smaller; nothing fits then", () => {
  const room = new Room({ cpu: 2 });
  take(drawn(room, "cpu", 3), NOW);
  expect(fits(drawn(room, "cpu", 1), NOW)).toBe(false);
  expect(fits(drawn(room, "cpu", 0), NOW)).toBe(false);
});

test("a resource is made once, and there is none that was not made", () => {
  const room = new Room({ cpu: 2 });
  room.add("cpu", 99);
  expect([...room.resources()]).toEqual([{ name: "cpu", capacity: 2, free: 2, at: 0 }]);
  expect(room.resource("gpu")).toBeUndefined();
});

test("a rate is used up by what is taken, fills up again with time, and never over its brim", () => {
  const room = new Room({});
  room.addRate("tokens", { amount: 600, per: seconds(60) }, NOW);
  take(drawn(room, "tokens", 600), NOW);
  giveBack(drawn(room, "tokens", 600));
  expect(fits(drawn(room, "tokens", 1), NOW)).toBe(false);
  expect(refilledAt(drawn(room, "tokens", 100), NOW)).toBe(later(NOW, seconds(10)));
  expect(fits(drawn(room, "tokens", 100), later(NOW, seconds(10)))).toBe(true);
  expect(fits(drawn(room, "tokens", 100), later(NOW, millis(9_999)))).toBe(false);
  expect(fits(drawn(room, "tokens", 601), later(NOW, seconds(3_600)))).toBe(false);
  expect(refilledAt(drawn(room, "tokens", 601), NOW)).toBeUndefined();
});

test("a rate remembers what was taken of it before, and never that it gave more than it had", () => {
  const room = new Room({});
  const at = (count: number) => later(NOW, seconds(count));
  const uses = [
    { at: at(30), amount: 40 },
    { at: at(10), amount: 60 },
  ];
  room.addRate("calls", { amount: 60, per: seconds(60) }, NOW, uses);
  expect(fits(drawn(room, "calls", 1), at(30))).toBe(false);
  expect(fits(drawn(room, "calls", 1), at(31))).toBe(true);
  expect(fits(drawn(room, "calls", 2), at(31))).toBe(false);
});
