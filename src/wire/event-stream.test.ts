import fc from "fast-check";
import { expect, test } from "vitest";
import { always } from "../../test/rig/property.ts";
import { eventReader, type Message } from "./event-stream.ts";

const read = (...pieces: readonly string[]): Message[] => {
  const found: Message[] = [];
  const feed = eventReader((message) => found.push(message));
  for (const piece of pieces) feed(piece);
  return found;
};

test("messages have data, and a position where they have one; comments are passed over", () => {
  expect(read(": hello\n\nid: 7\ndata: {}\n\ndata: a\ndata: b\n\nevent: x\ndata: c\n\ndata: half")).toEqual([
    { data: "{}", id: "7" },
    { data: "a\nb" },
    { data: "c" },
  ]);
});

test("it does not matter how the text is cut into pieces", async () => {
  const text = `: keep\n\nid: 1\ndata: ${JSON.stringify({ a: "ä\n✓" })}\n\nid: 2\ndata: {}\n\n`;
  await always(
    200,
    fc.property(fc.array(fc.integer({ min: 0, max: text.length })), (cuts) => {
      const places = [0, ...cuts.sort((a, b) => a - b), text.length];
      expect(read(...places.slice(1).map((end, at) => text.slice(places[at], end)))).toEqual(read(text));
    }),
  );
});

test("a message without an end is not kept for ever", () => {
  expect(() => read("data: ", "x".repeat(17 * 1024 * 1024))).toThrow(RangeError);
});
