import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { always } from "../../test/rig/property.ts";
import { DRIVER_OF } from "./drivers.ts";
import { AgentStream, LINE_MAX } from "./stream.ts";
import type { AgentEvent } from "./vocabulary.ts";

const follow = (chunks: readonly Buffer[], driver: "claude" | "command" = "command"): readonly AgentEvent[] => {
  const stream = new AgentStream(DRIVER_OF[driver].open(), "out");
  return [...chunks.flatMap((chunk) => stream.push(chunk)), ...stream.end()];
};

describe("a stream", () => {
  it("says the same however it is cut", async () => {
    const bytes = Buffer.from('first\n{"summary":"zweite Zeile: ä€😀"}\r\nlast, without an end');
    await always(
      200,
      fc.property(fc.array(fc.nat(bytes.length), { maxLength: 8 }), (cuts) => {
        const places = [0, ...cuts.toSorted((a, b) => a - b), bytes.length];
        const chunks = places.slice(1).map((to, at) => bytes.subarray(places[at], to));
        expect(follow(chunks)).toEqual(follow([bytes]));
      }),
    );
    expect(follow([bytes])).toMatchObject([
      { kind: "said" },
      { kind: "ended", text: "zweite Zeile: ä€😀" },
      { kind: "said" },
    ]);
  });

  it("passes over a line of 10 MB, and reads on", () => {
    const long = Buffer.alloc(10 * 1024 * 1024, "x");
    expect(follow([Buffer.from("before\n"), long, Buffer.from("\nafter\n")])).toEqual([
      { kind: "said", text: "before" },
      { kind: "note", text: expect.stringContaining(`${LINE_MAX / 1024 / 1024} MB`) },
      { kind: "said", text: "after" },
    ]);
  });

  it("shows bytes that are no text, and reads on", () => {
    expect(follow([Buffer.from([0xff, 0xfe, 0x61, 0x0a, 0x62, 0x0a])])).toEqual([
      { kind: "said", text: "\ufffd\ufffda" },
      { kind: "said", text: "b" },
    ]);
  });

  it("takes lines that no driver knows for notes, or for nothing, and never fails", async () => {
    await always(
      200,
      fc.property(
        fc.constantFrom(...Object.values(DRIVER_OF)),
        fc.array(fc.oneof(fc.string(), fc.json())),
        (driver, lines) => {
          const reader = driver.open();
          for (const words of lines) for (const stream of ["out", "err"] as const) reader.line(words, stream);
        },
      ),
    );
  });

  it("takes messages with fields of other types for what they are, and never fails", async () => {
    const kinds = [
      "system",
      "assistant",
      "user",
      "result",
      "rate_limit_event",
      "item.completed",
      "turn.completed",
      "init",
      "message",
    ];
    const message = fc.record({
      type: fc.constantFrom(...kinds),
      role: fc.constantFrom("assistant", "tool", "meta"),
      message: fc.jsonValue(),
      content: fc.jsonValue(),
      item: fc.jsonValue(),
      usage: fc.jsonValue(),
      rate_limit_info: fc.jsonValue(),
    });
    await always(
      200,
      fc.property(fc.constantFrom(...Object.values(DRIVER_OF)), message, (driver, said) => {
        driver.open().line(JSON.stringify(said), "out");
      }),
    );
  });
});
