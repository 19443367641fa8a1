/** A daemon that remembers what it was asked, as the MCP server sees one. */

import type { ToolService } from "../../src/mcp/tool.ts";
import type { Grant, LeaseReply, SessionReply } from "../../src/wire/answers.ts";
import type { LeaseRequest } from "../../src/wire/messages.ts";
import type { Caller } from "../../src/wire/service.ts";
import { startedEvent, statusReply, whyReply } from "./replies.ts";

export const TTL = 60_000;

export const grant = (rest: Partial<Grant> = {}): Grant => ({
  run: "r1",
  task: "build",
  attempt: 1,
  fence: 1,
  token: "secret-1",
  deadline: "2026-01-01T00:01:00.000Z",
  ttl_ms: TTL,
  priority: "normal",
  prompt: "Build it.",
  directory: "/project",
  env: {},
  reads: [],
  writes: ["dist/"],
  labels: {},
  ...rest,
});

export const session = (rest: Partial<SessionReply> = {}): SessionReply => ({
  session: "s1",
  agent: "agent",
  pool: "agent",
  mode: "pull",
  capabilities: [],
  slots: 1,
  ttl_ms: TTL,
  state: "idle",
  seen_at: "2026-01-01T00:00:00.000Z",
  holds: [],
  ...rest,
});

export const leaseReply = (
  { run, task, fence }: Omit<LeaseRequest, "token">,
  rest: Partial<LeaseReply> = {},
): LeaseReply => ({
  run,
  task,
  fence,
  deadline: "2026-01-01T00:02:00.000Z",
  ...rest,
});
const settled = ({ run, task, fence }: LeaseRequest, state: string) => ({ run, task, fence, state, repeated: false });

export interface Call {
  readonly name: string;
  readonly args: readonly unknown[];
  readonly by?: string;
}

/** Claims wait here until a test answers them, as they would for a task to come. */
export interface Waiting {
  readonly signal: AbortSignal | undefined;
  give(grant: Grant | undefined): void;
}

export interface FakeDaemon {
  readonly service: ToolService;
  readonly calls: Call[];
  readonly waiting: Waiting[];
  /** What the next claims are given at once; beyond them claims wait. */
  readonly ready: Grant[];
  callsOf(name: string): readonly Call[];
}

export function fakeDaemon(overrides: Partial<ToolService> = {}): FakeDaemon {
  const calls: Call[] = [];
  const waiting: Waiting[] = [];
  const ready: Grant[] = [];
  const claim = (waitMs: number, caller: Caller): Promise<Grant | undefined> => {
    const next = ready.shift();
    if (next !== undefined || waitMs === 0) return Promise.resolve(next);
    return new Promise((give, fail) => {
      waiting.push({ signal: caller.signal, give });
      caller.signal?.addEventListener("abort", () => fail(new DOMException("gone", "AbortError")));
    });
  };
  const plain: ToolService = {
    info: async () => ({
      version: "0",
      pid: 1,
      state: "/state",
      socket: "/state/socket",
      since: "2026-01-01T00:00:00.000Z",
      workers: 2,
      paused: [],
      runs: 1,
      queued: 3,
      out: 1,
      parked: 0,
      sessions: 1,
      pools: [],
      last_seq: 42,
    }),
    submit: async () => ({ run: "r1", tasks: 2, repeated: false }),
    runs: async () => [{ run: "r1", name: "release", state: "active", tasks: 2 }],
    status: async (run = "r1") => statusReply({ run, tasks: { total: 2, ready: 1, running: 1 } }),
    why: async (run = "r1", task) => whyReply({ run, task }),
    events: async ({ after, limit }) =>
      Array.from({ length: Math.max(0, Math.min(limit, 200 - after)) }, (_, at) => startedEvent(after + at + 1)),
    join: async ({ session: id = "s1", agent }) => session({ session: id, agent }),
    beat: async (id) => session({ session: id }),
    leave: async () => undefined,
    assignment: (_, waitMs, caller) => claim(waitMs, caller),
    claim: ({ waitMs }, caller) => claim(waitMs, caller),
    start: async (lease) => leaseReply(lease),
    heartbeat: async (lease) => leaseReply(lease),
    progress: async (lease) => leaseReply(lease),
    complete: async (lease) => settled(lease, "succeeded"),
    fail: async (lease) => settled(lease, "failed"),
    release: async (lease) => settled(lease, "ready"),
    pause: async () => ({ of: "scheduler", by: "mo", at: "2026-01-01T00:00:00.000Z" }),
    resume: async () => ({ resumed: true }),
    cancel: async ({ run = "r1" }) => ({ run, answer: "done" }),
    ...overrides,
  };
  const service = Object.fromEntries(
    Object.entries(plain).map(([name, answer]) => [
      name,
      (...args: unknown[]) => {
        const caller = args.find((arg): arg is Caller => typeof arg === "object" && arg !== null && "by" in arg);
        calls.push({
          name,
          args: args.filter((arg) => arg !== caller),
          ...(caller !== undefined && { by: caller.by }),
        });
        return (answer as (...given: unknown[]) => unknown)(...args);
      },
    ]),
  ) as unknown as ToolService;
  return { service, calls, waiting, ready, callsOf: (name) => calls.filter((call) => call.name === name) };
}
