/** The scripted agent over the Agent Client Protocol: a turn does what its prompt says in lines that begin with `@`. */
import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { Readable, Writable } from "node:stream";
import {
  type AgentContext,
  agent,
  methods,
  ndJsonStream,
  RequestError,
  type RequestPermissionResponse,
  type ToolKind,
} from "@agentclientprotocol/sdk";
import { firstLine, type Step, stepsOf } from "./script.ts";

/** Some programs can load an old conversation, and not resume it. */
const hasResume = !process.argv.includes("--no-resume");
const attempt = Number(process.env["ROTA_ATTEMPT"] ?? 1);
const known = new Set(
  process.argv.filter((word) => word.startsWith("--knows=")).map((word) => word.slice("--knows=".length)),
);
const cancelled = new Map<string, AbortController>();

interface Turn {
  readonly client: AgentContext;
  readonly sessionId: string;
  readonly signal: AbortSignal;
  said: string;
  used: { inputTokens: number; outputTokens: number } | null;
}

async function say({ client, sessionId }: Turn, words: string): Promise<void> {
  const messageId = randomUUID();
  const half = Math.ceil(words.length / 2);
  for (const part of [words.slice(0, half), words.slice(half)]) {
    const update = {
      sessionUpdate: "agent_message_chunk" as const,
      content: { type: "text" as const, text: part },
      messageId,
    };
    await client.notify(methods.client.session.update, { sessionId, update });
  }
}

/** A tool for which permission is asked. Gives false when it was refused. */
async function tool(turn: Turn, kind: ToolKind, title: string, rawInput: object, act: () => void): Promise<boolean> {
  const { client, sessionId } = turn;
  const toolCallId = randomUUID();
  const call = { toolCallId, title, kind, rawInput };
  await client.notify(methods.client.session.update, {
    sessionId,
    update: { sessionUpdate: "tool_call", status: "pending", ...call },
  });
  const { outcome } = await client.request<RequestPermissionResponse>(methods.client.session.requestPermission, {
    sessionId,
    toolCall: call,
    options: [
      { optionId: "proceed", name: "Proceed", kind: "allow_once" },
      { optionId: "stop", name: "Do not", kind: "reject_once" },
    ],
  });
  const isAllowed = outcome.outcome === "selected" && outcome.optionId === "proceed";
  if (isAllowed) act();
  const update = {
    sessionUpdate: "tool_call_update" as const,
    toolCallId,
    status: isAllowed ? ("completed" as const) : ("failed" as const),
  };
  await client.notify(methods.client.session.update, { sessionId, update });
  return isAllowed;
}

const VERBS: Readonly<Record<string, (turn: Turn, words: string) => unknown>> = {
  say: async (turn, words) => {
    turn.said = words;
    await say(turn, words);
  },
  run: (turn, words) =>
    tool(turn, "execute", words, { command: words }, () => execFileSync("sh", ["-c", words], { stdio: "ignore" })),
  write: (turn, words) => {
    const [path = "", ...rest] = words.split(" ");
    return tool(turn, "edit", `Write ${path}`, { file_path: path }, () => writeFileSync(path, `${rest.join(" ")}\n`));
  },
  usage: (turn, words) => {
    const [inputTokens = 0, outputTokens = 0] = words.split(" ").map(Number);
    turn.used = { inputTokens, outputTokens };
  },
  result: (turn, words) => VERBS["say"]?.(turn, words),
  denied: (turn, words) => tool(turn, "execute", words, { command: words }, () => {}),
  fail: (_turn, words) => {
    const [status = "500", ...rest] = words.split(" ");
    throw new RequestError(Number(status), rest.join(" "));
  },
  limit: async (turn) => {
    await say(turn, "Error: 429 Rate limit reached for requests. Please try again in 2s.");
    turn.said = "limited";
    turn.used = null;
  },
  sleep: (_turn, words) => new Promise((resolve) => setTimeout(resolve, Number(words))),
  hang: ({ signal }) => new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve())),
  crash: () => process.kill(process.pid, "SIGKILL"),
  exit: (_turn, words) => process.exit(Number(words)),
  garbage: () => process.stdout.write("this is no JSON\n"),
  unknown: ({ client, sessionId }) => client.notify("oracle/speaks", { sessionId }),
  long: (turn, words) => say(turn, "x".repeat(Number(words))),
  bytes: () => undefined,
  mute: () => undefined,
  retry: (turn) => say(turn, "Info: Request failed due to a transient API error. Retrying..."),
};

async function take(turn: Turn, { verb, words }: Step): Promise<void> {
  const act = VERBS[verb];
  if (act === undefined) throw new RequestError(-32_602, `the script has a step that is not known: @${verb}`);
  await act(turn, words);
}

const app = agent({ name: "scripted" })
  .onRequest(methods.agent.initialize, ({ params }) => ({
    protocolVersion: params.protocolVersion,
    agentCapabilities: { loadSession: true, ...(hasResume && { sessionCapabilities: { resume: {} } }) },
    agentInfo: { name: "scripted", version: "1" },
  }))
  .onRequest(methods.agent.session.new, () => ({ sessionId: randomUUID() }))
  .onRequest(methods.agent.session.resume, ({ params }) => resumed(params.sessionId))
  .onRequest(methods.agent.session.load, async ({ params, client }) => {
    const content = { type: "text" as const, text: "What was said before." };
    const update = { sessionUpdate: "agent_message_chunk" as const, content };
    await client.notify(methods.client.session.update, { sessionId: params.sessionId, update });
    return resumed(params.sessionId);
  })
  .onNotification(methods.agent.session.cancel, ({ params }) => cancelled.get(params.sessionId)?.abort())
  .onRequest(methods.agent.session.prompt, async ({ params, client }) => {
    const prompt = params.prompt.map((part) => (part.type === "text" ? part.text : "")).join("\n");
    const stopping = new AbortController();
    cancelled.set(params.sessionId, stopping);
    const turn: Turn = {
      client,
      sessionId: params.sessionId,
      signal: stopping.signal,
      said: "",
      used: { inputTokens: 100, outputTokens: 20 },
    };
    for (const step of stepsOf(prompt, attempt)) if (!turn.signal.aborted) await take(turn, step);
    if (turn.signal.aborted) return { stopReason: "cancelled" as const };
    if (turn.said === "") await say(turn, `Done: ${firstLine(prompt).slice(0, 200)}`);
    const usage =
      turn.used === null ? undefined : { ...turn.used, totalTokens: turn.used.inputTokens + turn.used.outputTokens };
    return { stopReason: "end_turn" as const, ...(usage !== undefined && { usage }) };
  });

function resumed(sessionId: string): Record<string, never> {
  if (known.size > 0 && !known.has(sessionId)) throw new RequestError(-32_002, `Session ${sessionId} not found`);
  return {};
}

const connection = app.connect(ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
await connection.closed;
process.exit(0);
