/** Whether an agent may use a tool, by the words of the plan: `shell(npm test)`, `edit(src/*)`, `read`. The same words for all drivers. */
import type { Permissions } from "./driver.ts";

/** What kinds of tools there are, whatever programs call them. */
export const TOOL_KINDS = ["read", "search", "think", "edit", "shell", "fetch", "other"] as const;
export type ToolKind = (typeof TOOL_KINDS)[number];

export interface ToolUse {
  readonly kind: ToolKind;
  /** The command, the file, the address. */
  readonly argument: string;
  /** For `edit` and `read`: the file lies in the attempt's directory. */
  readonly isInside: boolean;
}

/** What `safe` allows by itself: reading, and edits inside the directory. */
const SAFE: readonly ToolKind[] = ["read", "search", "think", "edit"];

export function permitted({ mode, allow, deny }: Permissions, use: ToolUse): "yes" | "no" | "ask" {
  if (deny.some((pattern) => matches(pattern, use))) return "no";
  if (mode === "all" || allow.some((pattern) => matches(pattern, use))) return "yes";
  if (SAFE.includes(use.kind) && (use.isInside || use.kind === "search" || use.kind === "think")) return "yes";
  return mode === "ask" ? "ask" : "no";
}

const PATTERN = /^([a-z]+)(?:\((.*)\))?$/s;

/** A kind, or `*`; and after it, in parentheses, what its argument looks like: `*` stands for anything. */
export function matches(pattern: string, { kind, argument }: ToolUse): boolean {
  if (pattern === "*") return true;
  const [, wanted, form] = PATTERN.exec(pattern) ?? [];
  if (wanted !== kind) return false;
  return form === undefined || likeness(form).test(argument);
}

/** Nothing but `*` is special, and a command that goes on behind a line end or a `;` is another command. */
function likeness(form: string): RegExp {
  const parts = form.split("*").map((part) => part.replaceAll(/[\\^$.|?+()[\]{}]/g, "\\$&"));
  return new RegExp(`^${parts.join("[^\\n;&|`$<>]*")}$`);
}

/** What is wrong with a pattern of a plan. Nothing when it is one. */
export function patternFault(pattern: string): string | undefined {
  if (pattern === "*") return undefined;
  const kind = PATTERN.exec(pattern)?.[1];
  if (kind === undefined) return `"${pattern}" is not a pattern such as shell(npm test)`;
  return (TOOL_KINDS as readonly string[]).includes(kind)
    ? undefined
    : `no tools are called "${kind}"; there are ${TOOL_KINDS.join(", ")}`;
}
