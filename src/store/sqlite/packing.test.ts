import fc from "fast-check";
import { expect, test } from "vitest";
import { pack, unpack } from "./packing.ts";

const value = fc.oneof(fc.string({ unit: "binary" }), fc.maxSafeInteger(), fc.constant(null));

test("what was packed is the same again, after it went to another thread too", () => {
  fc.assert(
    fc.property(fc.array(value), (values) => {
      expect(unpack(structuredClone(pack(values)))).toEqual(values.map((each) => (Object.is(each, -0) ? 0 : each)));
    }),
  );
});
