import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { expect, test } from "vitest";
import { converse } from "../../test/rig/mcp.ts";
import { TOOLS } from "./tools.ts";

const guide = readFileSync(resolve(import.meta.dirname, "../../docs/guides/mcp.md"), "utf8");
const blocks = (language: string): readonly string[] =>
  [...guide.matchAll(new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\``, "gm"))].map(([, text = ""]) => text);

test("the guide's messages are answered as it says", async () => {
  const client = converse();
  const lines = blocks("jsonl")[0]?.trim().split("\n") ?? [];
  expect(lines.length).toBeGreaterThan(2);
  for (const line of lines) await client.write(line);
  expect(client.heard).toMatchObject([
    { id: 1, result: { protocolVersion: "2025-11-25" } },
    { id: 2, result: { isError: false } },
    { id: 3, result: { isError: false, structuredContent: { claimed: false } } },
  ]);
});

test("the guide's settings are JSON that a client can take", () => {
  const servers = blocks("json").map((text) => (JSON.parse(text) as { mcpServers: { rota: object } }).mcpServers.rota);
  expect(servers).toMatchObject([
    { command: "rota", args: ["mcp", "--pool", "writers", "--state", ".rota"] },
    { type: "http" },
  ]);
});

test("the guide names every tool, and none that there is not", () => {
  const table = guide.slice(guide.indexOf("| tool |"), guide.indexOf("There is no tool"));
  const named = [...table.matchAll(/^\| (`[^|]*`) \|/gm)].flatMap(([, cell = ""]) =>
    [...cell.matchAll(/`(\w+)`/g)].map(([, name]) => name),
  );
  expect(new Set(named)).toEqual(new Set(TOOLS.map(({ name }) => name)));
});
