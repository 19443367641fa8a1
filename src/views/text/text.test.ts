import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { always } from "../../../test/rig/property.ts";
import { displayWidth, lastShown, neutralize, neutralizeLines, toAscii, truncate, wrapWords } from "./text.ts";

/** Characters that a terminal could act on: controls of both sets, half characters, bidirectional overrides, line separators. */
const CONTROLS = /[\p{Cc}\p{Cs}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/u;
const ESC = "\u001b";

describe("neutralize", () => {
  test.each([
    ["colour", `${ESC}[31mred${ESC}[0m`, "\\x1b[31mred\\x1b[0m"],
    ["clear screen", `${ESC}[2J${ESC}[H`, "\\x1b[2J\\x1b[H"],
    ["window title", `${ESC}]0;pwned\u0007`, "\\x1b]0;pwned\\x07"],
    ["clipboard (OSC 52)", `${ESC}]52;c;cm0gLXJm${ESC}\\`, "\\x1b]52;c;cm0gLXJm\\x1b\\"],
    [
      "link (OSC 8)",
      `${ESC}]8;;http://evil${ESC}\\x${ESC}]8;;${ESC}\\`,
      "\\x1b]8;;http://evil\\x1b\\x\\x1b]8;;\\x1b\\",
    ],
    ["device control", `${ESC}P+q544e${ESC}\\`, "\\x1bP+q544e\\x1b\\"],
    ["8-bit sequences", "\u009b31m\u009d52;c;x\u009c", "\\x9b31m\\x9d52;c;x\\x9c"],
    ["overwriting the line", "failed\rpassed", "failed\\rpassed"],
    ["a second line", "one\ntwo", "one two"],
    ["lines of a message", "a:\r\n\r\n\tb\n", "a: b"],
    ["backspace and bell", "a\b\u0007", "a\\x08\\x07"],
    ["right-to-left override", "exe\u202egpj.\u2066x\u2069", "exe\\u202egpj.\\u2066x\\u2069"],
    ["half a character", "a\ud800b", "a\\ud800b"],
    ["letters that only a model can see", "a\u{e0041}\u{e007f}b\u3164", "a\\u{e0041}\\u{e007f}b\\u3164"],
    ["a tab", "a\tb", "a  b"],
    ["letters, wide letters and emoji, which stay", "naïve 日本 👩‍💻 é", "naïve 日本 👩‍💻 é"],
  ])("%s", (_, text, safe) => {
    expect(neutralize(text)).toBe(safe);
  });

  test("leaves no control character of either set", () => {
    for (let code = 0; code < 0x20; code++) expect(neutralize(String.fromCharCode(code))).not.toMatch(CONTROLS);
    for (let code = 0x7f; code < 0xa0; code++) expect(neutralize(String.fromCharCode(code))).not.toMatch(CONTROLS);
  });

  test("leaves nothing that acts, whatever the text", async () => {
    await always(
      1_000,
      fc.property(fc.array(fc.nat(0xffff)), (units) => {
        expect(neutralize(String.fromCharCode(...units))).not.toMatch(CONTROLS);
      }),
    );
  });

  test("keeps the line ends of longer text", () => {
    expect(neutralizeLines(`one\r\ntwo${ESC}[K\nthree`)).toBe("one\ntwo\\x1b[K\nthree");
  });
});

test("of a program's line, what was shown last is kept, without its colours", () => {
  expect(lastShown(`10%\r50%\r${ESC}[32m90%${ESC}[0m\r\n`)).toBe("90%");
  for (const rest of ["\r", "\r\n", "\r\r\n", `\r${ESC}[0m`, `\r${ESC}[K\r\n`, "\r    \r\n"]) {
    expect(lastShown(`10%\r90%${rest}`)).toBe("90%");
  }
  expect(lastShown("  \n")).toBe("  ");
  expect(lastShown(`${ESC}[1G${ESC}[2Kok ${ESC}]0;title\u0007`)).toBe("ok \\x1b]0;title\\x07");
});

describe("the width of text", () => {
  test.each([
    ["build", 5],
    ["日本語", 6],
    ["e\u0301", 1],
    ["👍", 2],
    ["👩‍💻", 2],
    ["🇩🇪", 2],
    ["❤️", 2],
    ["한글", 4],
    ["ｆｕｌｌ", 8],
    ["✔ ✖ ● ○ ◌ ↻", 11],
    ["", 0],
  ])("%s is %i columns", (text, width) => {
    expect(displayWidth(text)).toBe(width);
  });

  test.each([
    ["build-everything", 8, "build-e…"],
    ["日本語タスク", 7, "日本語…"],
    ["日本語タスク", 6, "日本…"],
    ["short", 5, "short"],
    ["x", 0, ""],
  ])("%s in %i columns is %s", (text, width, short) => {
    expect(truncate(text, width)).toBe(short);
  });

  test("cut text is never wider than asked for, and ASCII is exactly as wide as what it stands for", async () => {
    await always(
      300,
      fc.property(fc.string({ unit: "grapheme" }), fc.nat(30), (raw, width) => {
        const text = neutralize(raw);
        expect(displayWidth(truncate(text, width))).toBeLessThanOrEqual(width);
        expect(toAscii(text)).toMatch(/^[\x20-\x7e]*$/);
        expect(toAscii(text)).toHaveLength(displayWidth(text));
      }),
    );
  });
});

test("words are wrapped between words, and the first line may be shorter", () => {
  expect(wrapWords("waits for two tasks: build and lint", 14, 10)).toEqual([
    "waits for",
    "two tasks:",
    "build and lint",
  ]);
});
