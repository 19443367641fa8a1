/** The contract between an attempt and a kind of agent: what to start for an order, and what a line of output says. Both are pure. */
import type { AgentError, AgentEvent, Counted, Stream } from "./vocabulary.ts";

export const DRIVERS = ["claude", "codex", "gemini", "acp", "kimi", "command"] as const;
export type DriverName = (typeof DRIVERS)[number];

export const PERMISSION_MODES = ["safe", "ask", "all"] as const;
export type PermissionMode = (typeof PERMISSION_MODES)[number];

/** What an agent may do without asking. Patterns are over tool and argument, in the same words for all drivers: `shell(npm test)`. */
export interface Permissions {
  readonly mode: PermissionMode;
  readonly allow: readonly string[];
  readonly deny: readonly string[];
}

/** A program that the agent starts and talks MCP with. */
export interface McpServer {
  readonly name: string;
  readonly argv: readonly [string, ...string[]];
  readonly env: Readonly<Record<string, string>>;
}

export const PROMPT_WAYS = ["stdin", "argument", "file"] as const;
export type PromptWay = (typeof PROMPT_WAYS)[number];

/** What an agent is asked to do, and with what. */
export interface AgentOrder {
  /** The words themselves, as `promptFile` has them. */
  readonly prompt: string;
  /** Absolute. */
  readonly promptFile: string;
  /** The attempt's directory, absolute: where the files of `Start` are written. */
  readonly files: string;
  /** The program and its first arguments: the driver's own, unless the agent's `argv` says otherwise. */
  readonly argv: readonly [string, ...string[]];
  readonly promptWay: PromptWay;
  /** How a bridge is started: a program of ours between a protocol and our vocabulary. */
  readonly bridge: readonly [string, ...string[]];
  readonly model?: string;
  readonly effort?: string;
  readonly permissions: Permissions;
  /** The attempt's own server. */
  readonly mcp?: McpServer;
  /** The JSON Schema that the result has to meet. */
  readonly schema?: object;
  /** A name for a new conversation, where the program takes one. */
  readonly session: string;
  /** The conversation to go on with. */
  readonly resume?: string;
  /** What earlier attempts of that conversation had counted. */
  readonly before?: Counted;
  /** Root may not ask some programs for everything. */
  readonly isRoot: boolean;
}

/** What to start. */
export interface Start {
  readonly argv: readonly [string, ...string[]];
  readonly env: Readonly<Record<string, string>>;
  /** What standard input is: the prompt's file, or nothing. Never a pipe that stays open. */
  readonly stdin: "prompt" | "nothing";
  /** Files to write first, by name, in the attempt's directory. */
  readonly files: Readonly<Record<string, string>>;
}

/** Reads one attempt's output, line after line. The same lines give the same events, whenever they are read. */
export interface Reader {
  line(words: string, stream: Stream): readonly AgentEvent[];
}

/** What a driver's program can do: `check` refuses a plan that asks for more. */
export interface Features {
  /** The program can be made to ask a person for a permission. */
  readonly asks: boolean;
  readonly resumes: "anywhere" | "same-directory" | "never";
  readonly mcp: boolean;
  /** Whether the program gives structured output itself, without our MCP server. */
  readonly schema: boolean;
  readonly model: boolean;
  readonly effort: boolean;
  /** The last record of a turn: without it, an exit code 0 proves nothing. */
  readonly endsTurns: boolean;
  /** Tokens are told. Where they are, zero of them is no success. */
  readonly tokens: boolean;
}

export interface Driver {
  readonly name: DriverName;
  /** The program, and how it tells its version and whether it is logged in. */
  readonly program: {
    readonly command: readonly [string, ...string[]] | undefined;
    readonly version: readonly string[];
    readonly login?: readonly string[];
    /** Variables that the program reads its keys and addresses from. */
    readonly env: readonly string[];
  };
  readonly features: Features;
  start(order: AgentOrder): Start;
  /** `before`: what earlier attempts of this conversation had counted (`total` of their last `usage`). */
  open(before?: Counted): Reader;
  /** What an exit code of this program says by itself. */
  readonly exit?: (code: number) => AgentError | undefined;
}
