/** What real agents' clients send and show, beside what the protocol asks of them. */
import { describe, expect, test } from "vitest";
import { converse, type ToolResult } from "../../test/rig/mcp.ts";
import { grant } from "../../test/rig/mcp-daemon.ts";
import { isMap } from "../std/schema.ts";
import { TOOLS } from "./tools.ts";

const textOf = ({ content }: ToolResult): string => content.map(({ text }) => text).join("\n");

async function working() {
  const client = converse();
  client.daemon.ready.push(grant());
  await client.open();
  await client.call("claim_next");
  return client;
}

/** Every schema within a schema. */
function* within(schema: unknown): Iterable<Readonly<Record<string, unknown>>> {
  if (Array.isArray(schema)) for (const each of schema) yield* within(each);
  if (!isMap(schema)) return;
  yield schema;
  for (const each of Object.values(schema)) yield* within(each);
}

test("every list of words in a schema says that they are text, because some providers refuse a list without a type", () => {
  const enums = TOOLS.flatMap(({ input, output }) => [...within(input.json), ...within(output)]).filter(
    (schema) => "enum" in schema,
  );
  expect(enums.length).toBeGreaterThan(2);
  for (const schema of enums) expect(schema).toHaveProperty("type", "string");
});

describe("the arguments of a call", () => {
  test("may have fields that the client has added", async () => {
    const client = await working();
    const { isError } = await client.call("progress", { note: "half way", wait_for_previous: true });
    expect(isError).toBe(false);
    expect(client.daemon.callsOf("progress")[0]?.args).toMatchObject([{ note: "half way", task: "build" }]);
  });

  test("say nothing where they are null", async () => {
    const client = await working();
    const none = { task: null, run: null, fence: null, token: null };
    expect((await client.call("complete", { summary: null, ...none })).isError).toBe(false);
    expect(client.daemon.callsOf("complete")[0]?.args).toEqual([
      { run: "r1", task: "build", fence: 1, token: "secret-1" },
    ]);
    expect(textOf(await client.call("progress", { note: null }))).toMatch(/^REQUEST_INVALID: .*lacks "note"/);
  });

  test("are refused where a field is misspelt, which would reach more than was meant", async () => {
    const client = await working();
    expect(textOf(await client.call("cancel", { run: "r1", taks: "build" }))).toBe(
      'REQUEST_INVALID: "taks" is not a field of cancel. (Did you mean "task"?)',
    );
    expect(client.daemon.callsOf("cancel")).toEqual([]);
  });

  test("that are wrong are answered with what the tool takes", async () => {
    const client = await working();
    expect(textOf(await client.call("why", { limit: 0 }))).toMatch(/\(`why` takes: task, run, limit\.\)$/);
  });
});

describe("a report that comes again, because its answer was lost", () => {
  test("is sent again, though nothing is held any more", async () => {
    const client = await working();
    await client.call("complete", { summary: "built" });
    expect((await client.call("complete", { summary: "built" })).isError).toBe(false);
    const [first, second] = client.daemon.callsOf("complete");
    expect(second).toEqual(first);
  });

  test("is no report on a task that was claimed since", async () => {
    const client = await working();
    await client.call("complete");
    client.daemon.ready.push(grant({ task: "test", fence: 2, token: "secret-2" }));
    await client.call("claim_next");
    await client.call("complete");
    expect(client.daemon.callsOf("complete").map(({ args }) => args)).toMatchObject([
      [{ task: "build" }],
      [{ task: "test" }],
    ]);
    await client.call("complete", { task: "build" });
    expect(textOf(await client.call("complete", { task: "ship" }))).toBe(
      "USAGE: ship is not held here. (Get one with `claim_next`, or give run, task, fence and token as they stood in the grant.)",
    );
  });
});
