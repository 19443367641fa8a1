import fc from "fast-check";
import { expect, test } from "vitest";
import { always } from "../../../test/rig/property.ts";
import { formatBytes, parseBytes } from "./size.ts";

test.each([
  ["0B", 0],
  ["1B", 1],
  ["512MiB", 512 * 2 ** 20],
  ["4GiB", 4 * 2 ** 30],
  ["1.5GB", 1_500_000_000],
  ["2KB", 2_000],
  ["1TiB", 2 ** 40],
])("%s is %d bytes", (text, bytes) => {
  expect(parseBytes(text)).toBe(bytes);
});

test.each([
  "",
  "4",
  "4 GiB",
  "-4GiB",
  "4gib",
  "GiB",
  "1e3MB",
  "4GiB ",
  "99999999TiB",
  "NaNB",
  "InfinityB",
  "0x1B",
  "١B",
])("%j is not a size", (text) => {
  expect(parseBytes(text)).toBeUndefined();
});

test.each([
  [0, "0B"],
  [1023, "1023B"],
  [1024, "1KiB"],
  [1536, "1.5KiB"],
  [4 * 2 ** 30, "4GiB"],
  [20.4 * 2 ** 30, "20GiB"],
])("%d bytes are shown as %s", (bytes, text) => {
  expect(formatBytes(bytes)).toBe(text);
});

test("a size is a whole number that sums exactly, or nothing", async () => {
  const size = fc.tuple(fc.double({ min: 0, noNaN: true }), fc.constantFrom("B", "KB", "MiB", "TiB"));
  const isWholeOrNothing = fc.property(size, ([count, unit]) => {
    const bytes = parseBytes(`${count}${unit}`);
    expect(bytes === undefined || Number.isSafeInteger(bytes)).toBe(true);
  });
  await always(100, isWholeOrNothing);
});

test("what is shown in bytes reads back", async () => {
  const readsBack = fc.property(fc.maxSafeNat(), (bytes) => {
    expect(parseBytes(`${bytes}B`)).toBe(bytes);
  });
  await always(100, readsBack);
});
