/** A client that speaks MCP to the real server over streams in memory. */
import { PassThrough } from "node:stream";
import { onTestFinished } from "vitest";
import type { AgentProfile } from "../../src/mcp/agent.ts";
import { serveStdio } from "../../src/mcp/stdio.ts";
import type { Scope } from "../../src/wire/scope.ts";
import { ManualClock } from "./clock.ts";
import { type FakeDaemon, fakeDaemon, grant } from "./mcp-daemon.ts";

export type Message = Readonly<Record<string, unknown>>;
export interface ToolResult {
  readonly content: readonly { readonly type: string; readonly text: string }[];
  readonly structuredContent?: Readonly<Record<string, unknown>>;
  readonly isError: boolean;
}

export interface Conversation {
  readonly daemon: FakeDaemon;
  readonly clock: ManualClock;
  /** Everything the server has said so far. */
  readonly heard: Message[];
  /** Writes one line, whatever it is. */
  readonly write: (line: string) => Promise<void>;
  readonly send: (message: unknown) => Promise<void>;
  /** Sends a request and gives its answer, once everything that follows from it has happened. */
  readonly ask: (method: string, params?: object) => Promise<Message>;
  readonly open: (version?: string) => Promise<Message>;
  readonly call: (name: string, args?: object, meta?: object) => Promise<ToolResult>;
  /** Begins a call that waits, and gives its id. */
  readonly begin: (name: string, args?: object, meta?: object) => Promise<number>;
  readonly answerTo: (id: unknown) => Message | undefined;
  readonly hangUp: () => Promise<void>;
}

export function converse(
  options: {
    readonly daemon?: FakeDaemon;
    readonly profile?: AgentProfile;
    readonly clock?: ManualClock;
    readonly scope?: Scope;
    readonly isOrphan?: () => boolean;
  } = {},
): Conversation {
  const { daemon = fakeDaemon(), clock = new ManualClock(), profile = {}, scope, isOrphan } = options;
  const [input, output] = [new PassThrough(), new PassThrough()];
  const heard: Message[] = [];
  let rest = "";
  output.on("data", (chunk: Buffer) => {
    const lines = (rest + chunk.toString()).split("\n");
    rest = lines.pop() as string;
    heard.push(...lines.map((line) => JSON.parse(line) as Message));
  });
  const served = serveStdio({
    input,
    output,
    service: daemon.service,
    clock,
    profile,
    ...(scope !== undefined && { scope }),
    ...(isOrphan !== undefined && { isOrphan }),
    version: "1.2.3",
    directory: "/project",
    readPlan: async (path) => ({ text: "tasks: {}", file: path, directory: "/plans" }),
  });
  const hangUp = async (): Promise<void> => {
    input.end();
    for (let turn = 0; turn < 3; turn++) await clock.advance(1_000);
    await served;
  };
  onTestFinished(hangUp);

  let ids = 0;
  const write = async (line: string): Promise<void> => {
    input.write(`${line}\n`);
    await settle(clock);
  };
  const send = (message: unknown): Promise<void> => write(JSON.stringify(message));
  const answerTo = (id: unknown): Message | undefined => heard.find((message) => message["id"] === id);
  const begin = async (method: string, params: object): Promise<number> => {
    const id = ++ids;
    await send({ jsonrpc: "2.0", id, method, params });
    return id;
  };
  const ask = async (method: string, params: object = {}): Promise<Message> => {
    const id = await begin(method, params);
    const answer = answerTo(id);
    if (answer === undefined) throw new Error(`${method} was not answered`);
    return answer;
  };
  const toolCall = (name: string, args: object, meta: object): object => ({ name, arguments: args, _meta: meta });
  return {
    daemon,
    clock,
    heard,
    write,
    send,
    ask,
    answerTo,
    hangUp,
    open: (protocolVersion = "2025-11-25") =>
      ask("initialize", { protocolVersion, capabilities: {}, clientInfo: { name: "claude-code", version: "2" } }),
    call: async (name, args = {}, meta = {}) =>
      (await ask("tools/call", toolCall(name, args, meta)))["result"] as ToolResult,
    begin: (name, args = {}, meta = {}) => begin("tools/call", toolCall(name, args, meta)),
  };
}

/** Streams hand on what they have in turns of their own. */
async function settle(clock: ManualClock): Promise<void> {
  for (let turn = 0; turn < 4; turn++) await clock.settle();
}

/** What a tool answers, as one text. */
export const texts = ({ content }: { readonly content: readonly { readonly text: string }[] }): string =>
  content.map(({ text }) => text).join("\n");
/** The lease of `build` that `working` has claimed. */
export const LEASE = { run: "r1", task: "build", fence: 1, token: "secret-1" };

/** A conversation in which `build` has been claimed. */
export async function working(overrides: Parameters<typeof fakeDaemon>[0] = {}) {
  const daemon = fakeDaemon(overrides);
  daemon.ready.push(grant());
  const client = converse({ daemon });
  await client.open();
  await client.call("claim_next");
  return client;
}
