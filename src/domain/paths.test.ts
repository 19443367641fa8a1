import { matchesGlob } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { always } from "../../test/rig/property.ts";
import { compilePath, normalizePath, overlaps } from "./paths.ts";

describe("a normalised path", () => {
  test.each([
    ["src/a.ts", "src/a.ts"],
    ["./src//a.ts", "src/a.ts"],
    ["src/", "src/"],
    ["src/x/../a", "src/a"],
    [".", "./"],
    ["a/..", "./"],
    ["src/**/*.ts", "src/**/*.ts"],
    ["Src/A", "Src/A"],
    ["cafe\u0301", "caf\u00e9"],
  ])("%s is written %s", (raw, path) => {
    expect(normalizePath(raw)).toBe(path);
  });

  test.each(["", "/etc", "..", "../x", "a/../../x", "a\\b", "a\u0000b", "a\nb", "\ud800", "*/../x", "a".repeat(4097)])(
    "%j is not a path inside the directory",
    (raw) => {
      expect(normalizePath(raw)).toBeUndefined();
    },
  );

  test("never leaves the directory, and is itself normal", async () => {
    const raw = fc.array(fc.constantFrom("a", "b", ".", "..", "/", "//", "*", "~", "\\", " ", "...", "%2e%2e"), {
      maxLength: 10,
    });
    const staysInside = fc.property(raw, (parts) => {
      const path = normalizePath(parts.join(""));
      if (path === undefined) return;
      expect(path.split("/")).not.toContain("..");
      expect(path.startsWith("/")).toBe(false);
      expect(normalizePath(path)).toBe(path);
    });
    await always(2_000, staysInside);
  });
});

describe("two paths", () => {
  test.each([
    ["src/", "src/a.ts"],
    ["src", "src/a.ts"],
    ["./", "anything/at/all"],
    ["src/*.ts", "src/a.ts"],
    ["src/*.ts", "src/a.*"],
    ["src/**/*.ts", "src/a/b/c.ts"],
    ["src/**/*.ts", "src/a.ts"],
    ["**", "x"],
    ["**/test/**", "src/test/a"],
    ["src/?.ts", "src/[ab].ts"],
    ["src/{a,b}.ts", "src/b.ts"],
    ["src/{a/b,c}.ts", "src/a/b.ts"],
    ["src/*", "src/a/b"],
    ["a/**/b/*.c", "a/*/b/x.c"],
    ["src/a[", "src/ab"],
  ])("%s and %s can mean the same file", (a, b) => {
    expect([overlaps(a, b), overlaps(b, a)]).toEqual([true, true]);
  });

  test.each([
    ["src/", "dist/"],
    ["src", "src2"],
    ["src/a.ts", "src/b.ts"],
    ["src/*.ts", "src/*.js"],
    ["src/*.ts", "dist/a.ts"],
    ["src/**/*.ts", "dist/**/*.ts"],
    ["a?c", "abcd"],
    ["Src/a", "src/a"],
  ])("%s and %s cannot", (a, b) => {
    expect([overlaps(a, b), overlaps(b, a)]).toEqual([false, false]);
  });

  const segment = fc.oneof(
    fc.constantFrom("a", "b", "ab", "**", "*", "?", "a*", "*b", "[ab]", "{a,b}", "*.ts", "a.ts"),
    fc.array(fc.constantFrom("a", "b", "*", "?"), { minLength: 1, maxLength: 3 }).map((parts) => parts.join("")),
  );
  const pattern = fc.array(segment, { minLength: 1, maxLength: 4 }).map((segments) => segments.join("/"));
  const file = fc.array(fc.constantFrom("a", "b", "ab", "a.ts", "aab"), { minLength: 1, maxLength: 4 });

  test("overlap whenever some file is matched by both, for as many files as one cares to try", async () => {
    const isSound = fc.property(pattern, pattern, file, (a, b, segments) => {
      const matches = (glob: string) =>
        segments.some((_, at) => matchesGlob(segments.slice(0, at + 1).join("/"), glob));
      if (matches(a) && matches(b)) expect(overlaps(a, b), `${a} ${b} ${segments.join("/")}`).toBe(true);
    });
    await always(5_000, isSound);
  });

  test("overlap the same either way round, and with themselves", async () => {
    const isSymmetric = fc.property(pattern, pattern, (a, b) => {
      expect(overlaps(a, b)).toBe(overlaps(b, a));
      expect(overlaps(a, a)).toBe(true);
    });
    await always(2_000, isSymmetric);
  });

  test("that overlap have heads of which one leads to the other", async () => {
    const isIndexed = fc.property(pattern, pattern, (a, b) => {
      const [left, right] = [a, b].map(compilePath).map(({ segments, literals }) => segments.slice(0, literals)) as [
        string[],
        string[],
      ];
      const shared = Math.min(left.length, right.length);
      if (overlaps(a, b)) expect(left.slice(0, shared)).toEqual(right.slice(0, shared));
    });
    await always(2_000, isIndexed);
  });
});
