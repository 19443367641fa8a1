import fc from "fast-check";
import { expect, test } from "vitest";
import { always } from "../../../../test/rig/property.ts";
import { pack, unpack } from "./packing.ts";

const value = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.maxSafeInteger().map((each) => each + 0),
  fc.constant(null),
);
const part = fc.array(value);

test("what was packed is the same again, after it went to another thread too", async () => {
  await always(
    100,
    fc.property(
      fc.constantFrom(1, 5, 1_000),
      fc.record({ newRuns: part, specs: part, freshTasks: part, changedTasks: part, pages: part }),
      (pieceMin, rows) => {
        expect(unpack(structuredClone(pack(rows, pieceMin)))).toEqual(rows);
      },
    ),
  );
});
