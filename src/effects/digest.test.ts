import { hash, randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { digestOf } from "./digest.ts";

test("it is the SHA-256 of the bytes, however many there are", () => {
  const lengths = [...Array.from({ length: 260 }, (_, length) => length), 4_096, 16_384, 16_385, 100_000];
  for (const length of lengths) {
    const bytes = randomBytes(length);
    expect(digestOf(bytes), bytes.toString("hex")).toBe(hash("sha256", bytes));
  }
});

test("it is what the standard says", () => {
  const bytes = new TextEncoder().encode("abc");
  expect(digestOf(bytes)).toBe("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
});
