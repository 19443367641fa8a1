/** The official client, in both of its ways: with the opening of earlier revisions, and without. */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { fakeDaemon, grant } from "../../test/rig/mcp-daemon.ts";
import { systemClock } from "../effects/clock.ts";
import { systemSecrets } from "../effects/random.ts";
import { mcpMount } from "./mount.ts";
import { planReader } from "./plan-text.ts";
import { TOOLS } from "./tools.ts";

vi.setConfig({ testTimeout: 30_000 });

const MAIN = new URL("../../test/rig/mcp-main.ts", import.meta.url);
const MODES = [["with an opening", "legacy"] as const, ["without one", "auto"] as const];

const clientIn = (mode: "legacy" | "auto"): Client =>
  new Client({ name: "official", version: "2" }, { versionNegotiation: { mode } });

describe.each(MODES)("over stdio, %s", (_, mode) => {
  const client = clientIn(mode);
  beforeEach(async () => {
    const args = ["--disable-warning=ExperimentalWarning", fileURLToPath(MAIN)];
    await client.connect(new StdioClientTransport({ command: process.execPath, args, stderr: "inherit" }));
  });
  afterEach(() => client.close());

  test("lists the tools and does a day's work, every answer as its schema says", async () => {
    expect(client.getServerVersion()).toMatchObject({ name: "rota" });
    expect(client.getNegotiatedProtocolVersion()).toBe(mode === "legacy" ? "2025-11-25" : "2026-07-28");
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(TOOLS.map(({ name }) => name));

    const claimed = await client.callTool({ name: "claim_next", arguments: {} });
    expect(claimed.structuredContent).toMatchObject({ claimed: true, task: "build" });
    const work: [string, object][] = [
      ["heartbeat", {}],
      ["progress", { note: "half way" }],
      ["complete", { summary: "done" }],
      ["claim_next", { waitMs: 0 }],
      ["submit", { text: "tasks: {}" }],
      ["status", {}],
      ["status", { run: "r1" }],
      ["why", { task: "build" }],
      ["events", { limit: 3 }],
      ["pause", {}],
      ["resume", {}],
      ["cancel", { run: "r1" }],
    ];
    for (const [name, args] of work) {
      const answer = await client.callTool({ name, arguments: { ...args } });
      expect([name, answer.isError ?? false]).toEqual([name, false]);
    }
    const refused = await client.callTool({ name: "complete", arguments: { task: "ship" } });
    expect(refused.isError).toBe(true);
  });

  test("cancels a call that waits", async () => {
    await client.callTool({ name: "claim_next", arguments: {} });
    const giveUp = new AbortController();
    const waiting = client.callTool({ name: "claim_next", arguments: {} }, { signal: giveUp.signal });
    giveUp.abort(new Error("enough"));
    await expect(waiting).rejects.toThrow();
    expect((await client.callTool({ name: "status", arguments: {} })).isError).toBe(false);
  });
});

describe.each(MODES)("over HTTP, %s", (_, mode) => {
  test("claims and completes", async () => {
    const daemon = fakeDaemon();
    daemon.ready.push(grant());
    const secrets = systemSecrets();
    const mount = mcpMount({
      service: daemon.service,
      clock: systemClock(),
      version: "0.0.0",
      newId: () => secrets.token(),
      readPlan: planReader(),
    });
    await using server = createServer((request, response) => {
      void (async () => {
        const chunks = await Array.fromAsync(request as AsyncIterable<Buffer>);
        const body: unknown = chunks.length === 0 ? undefined : JSON.parse(Buffer.concat(chunks).toString());
        const gone = new AbortController();
        response.on("close", () => gone.abort());
        await mount.handle({ request, response, body, caller: { by: "mo", signal: gone.signal }, allows: () => true });
      })();
    });
    await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
    const { port } = server.address() as AddressInfo;

    const client = clientIn(mode);
    const transport = new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${port}/mcp`));
    await client.connect(transport);
    const { structuredContent } = await client.callTool({ name: "claim_next", arguments: {} });
    const { run, task, fence, token } = structuredContent as Record<string, unknown>;
    const lease = mode === "legacy" ? {} : { run, task, fence, token };
    const done = await client.callTool({ name: "complete", arguments: lease });
    expect(done.structuredContent).toMatchObject({ task: "build", state: "succeeded" });
    expect(daemon.callsOf("complete")[0]).toMatchObject({ by: "mo", args: [{ run, task, fence, token }] });
    if (mode === "legacy") await transport.terminateSession();
    await client.close();
    await mount.close();
    expect(daemon.callsOf("leave").length).toBe(mode === "legacy" ? 1 : 0);
  });
});
