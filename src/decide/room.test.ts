import { expect, test } from "vitest";
import { fits, giveBack, Room, take } from "./room.ts";

const drawn = (room: Room, name: string, amount: number) => [{ pot: room.pot(name) as never, amount }];

test("what is taken is not there for others, until it is given back", () => {
  const room = new Room({ cpu: 4 });
  take(drawn(room, "cpu", 3));
  expect(fits(drawn(room, "cpu", 1))).toBe(true);
  expect(fits(drawn(room, "cpu", 2))).toBe(false);
  giveBack(drawn(room, "cpu", 3));
  expect(fits(drawn(room, "cpu", 4))).toBe(true);
  expect(fits(drawn(room, "cpu", 5))).toBe(false);
});

test("what was not taken cannot be given back", () => {
  const room = new Room({ cpu: 4 });
  take(drawn(room, "cpu", 1));
  giveBack(drawn(room, "cpu", 1));
  expect(() => giveBack(drawn(room, "cpu", 1))).toThrow("cpu was given back twice");
});

test("more may be out than there is, after the machine became smaller; nothing fits then", () => {
  const room = new Room({ cpu: 2 });
  take(drawn(room, "cpu", 3));
  expect(fits(drawn(room, "cpu", 1))).toBe(false);
  expect(fits(drawn(room, "cpu", 0))).toBe(false);
});

test("a pot is made once, and there is none that nobody made", () => {
  const room = new Room({ cpu: 2 });
  room.add("cpu", 99);
  expect([...room.pots()]).toEqual([{ name: "cpu", capacity: 2, free: 2 }]);
  expect(room.pot("gpu")).toBeUndefined();
});
