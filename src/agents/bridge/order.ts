/** What a bridge is told, in a file of its attempt. */
import type { McpServer, Permissions } from "../driver.ts";
import type { Counted } from "../vocabulary.ts";

export interface BridgeOrder {
  /** The agent's program. */
  readonly argv: readonly [string, ...string[]];
  readonly mcp?: McpServer;
  readonly model?: string;
  readonly permissions: Permissions;
  readonly resume?: string;
  /** What earlier attempts of the conversation had used. */
  readonly before?: Counted;
}

/** What people say while the agent works: lines of JSON in this file, beside the order. */
export const INBOX = "inbox.jsonl";

/** An answer to a question that was asked with this id, or words for the agent's next turn. */
export type InboxLine = { readonly answer: string; readonly option: string } | { readonly tell: string };
