import { open, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { freshDir } from "../../../../test/rig/cli.ts";
import { LineCleaner, readOn, tailStart } from "./log-bytes.ts";

async function logOf(content: string | Uint8Array): Promise<string> {
  const file = join(freshDir(), "a.log");
  await writeFile(file, content);
  return file;
}

async function tail(content: string | Uint8Array, lines: number): Promise<string> {
  await using log = await open(await logOf(content), "r");
  const pieces: Uint8Array[] = [];
  await readOn(log, await tailStart(log, lines), async (bytes) => void pieces.push(bytes));
  return Buffer.concat(pieces).toString();
}

describe("the tail", () => {
  test.each([
    ["a\nb\nc\n", 2, "b\nc\n"],
    ["a\nb\nc", 2, "b\nc"],
    ["a\nb\n\n", 1, "\n"],
    ["a\nb\n", 5, "a\nb\n"],
    ["a\nb\n", 2, "a\nb\n"],
    ["a\nb\n", 0, ""],
    ["", 3, ""],
    ["a", 1, "a"],
  ])("of %j, %i lines, is %j", async (content, lines, expected) => {
    expect(await tail(content, lines)).toBe(expected);
  });

  test("is found beyond the first piece that is read", async () => {
    const long = "x".repeat(200_000);
    expect(await tail(`first\n${long}\nlast\n`, 2)).toBe(`${long}\nlast\n`);
    expect(await tail(`${"\n".repeat(150_000)}end`, 100_000)).toBe(`${"\n".repeat(99_999)}end`);
  });
});

describe("reading on", () => {
  test("goes on where it stopped, in pieces", async () => {
    const file = await logOf("one\n");
    await using log = await open(file, "r");
    const pieces: string[] = [];
    const take = async (bytes: Uint8Array): Promise<void> => void pieces.push(Buffer.from(bytes).toString());
    const end = await readOn(log, 0, take);
    await writeFile(file, "two\n", { flag: "a" });
    expect(await readOn(log, end, take)).toBe(8);
    expect(pieces).toEqual(["one\n", "two\n"]);
  });

  test("goes on after the cut when the log was cut", async () => {
    const file = await logOf("0123456789");
    await using log = await open(file, "r");
    const take = async (): Promise<void> => {};
    const end = await readOn(log, 0, take);
    await truncate(file, 4);
    expect(await readOn(log, end, take)).toBe(4);
  });
});

describe("lines for a terminal", () => {
  const clean = (...pieces: (string | Uint8Array)[]): string => {
    const cleaner = new LineCleaner();
    const shown = pieces.map((piece) => cleaner.take(typeof piece === "string" ? Buffer.from(piece) : piece));
    return shown.join("") + cleaner.end();
  };

  test.each([
    ["colours are dropped", "\u001b[31mred\u001b[0m\n", "red\n"],
    ["titles, clipboards and links are spelt out", "\u001b]52;c;aGk=\u0007\n", "\\x1b]52;c;aGk=\\x07\n"],
    ["C1 controls too", "\u009b31mred\n", "\\x9b31mred\n"],
    ["a progress bar shows its last state", "10%\r50%\r100%\n", "100%\n"],
    ["a line over which nothing was written stays", "saved\r\u001b[K\nsent\r", "saved\nsent\n"],
    ["a progress bar of any length shows its last state", `${"50%\r".repeat(20_000)}done\n`, "done\n"],
    ["Windows line ends are line ends", "a\r\nb\r\n", "a\nb\n"],
    ["text that turns the direction is shown", "a\u202eb\n", "a\\u202eb\n"],
    ["a last line without an end gets one", "a\nb", "a\nb\n"],
  ])("%s", (_, raw, shown) => {
    expect(clean(raw)).toBe(shown);
  });

  test("a character cut in two by a piece is whole again", () => {
    const bytes = Buffer.from("é\n");
    expect(clean(bytes.subarray(0, 1), bytes.subarray(1))).toBe("é\n");
  });

  test("bytes that are no text do no harm", () => {
    expect(clean(Uint8Array.of(0x61, 0xff, 0xfe, 0x0a))).toBe("a\ufffd\ufffd\n");
  });

  test("a line without end does not wait for it", () => {
    const cleaner = new LineCleaner();
    expect(cleaner.take(Buffer.from("x".repeat(100_000))).length).toBeGreaterThan(80_000);
  });

  test("no control character ever comes through", () => {
    const everything = Uint8Array.from({ length: 65_536 }, (_, at) => (at * 31) % 256);
    expect(clean(everything).replaceAll("\n", "")).not.toMatch(/\p{Cc}/u);
  });
});
