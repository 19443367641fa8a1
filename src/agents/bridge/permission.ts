/** A program's request for a permission, as the plan's words see it, and the answer that it understands. */
import { isAbsolute, relative } from "node:path";
import type {
  ToolKind as AcpToolKind,
  RequestPermissionRequest,
  RequestPermissionResponse,
} from "@agentclientprotocol/sdk";
import { asObject, text } from "../json.ts";
import type { ToolKind, ToolUse } from "../permissions.ts";
import { about } from "../tools.ts";

const KINDS: Readonly<Partial<Record<AcpToolKind, ToolKind>>> = {
  read: "read",
  search: "search",
  think: "think",
  edit: "edit",
  delete: "edit",
  move: "edit",
  execute: "shell",
  fetch: "fetch",
};

/** `title`: what was told of the tool before; some programs say nothing more in their request. */
export function toolUseOf(
  { toolCall }: RequestPermissionRequest,
  title: string | undefined,
  directory: string,
): ToolUse {
  const kind = KINDS[toolCall.kind ?? "other"] ?? "other";
  const input = asObject(toolCall.rawInput);
  const file = about(input).file ?? toolCall.locations?.[0]?.path;
  const command = text(input, "command") ?? toolCall.title ?? title ?? "";
  const argument = kind === "edit" || kind === "read" ? (file ?? command) : command;
  return {
    kind,
    argument,
    isInside: file === undefined ? kind !== "edit" && kind !== "read" : isInside(directory, file),
  };
}

function isInside(directory: string, file: string): boolean {
  const way = relative(directory, isAbsolute(file) ? file : `${directory}/${file}`);
  return way === "" || (!way.startsWith("..") && !isAbsolute(way));
}

/** Calls of the attempt's own server are what it is there for. A shell command is never one, whatever it calls itself. */
export function isOwnServer(request: RequestPermissionRequest, title: string | undefined, server: string): boolean {
  const { toolCall } = request;
  const names = [text(asObject(toolCall), "name"), toolCall.title, title].filter((name) => typeof name === "string");
  const isOurs = names.some(
    (name) =>
      name.startsWith(`mcp__${server}__`) ||
      name.endsWith(`(${server} MCP Server)`) ||
      name.startsWith(`${server}.`) ||
      name.startsWith(`mcp.${server}.`),
  );
  const isMcp = asObject(request._meta)?.["is_mcp_tool_approval"] === true;
  return isOurs && (toolCall.kind !== "execute" || isMcp);
}

/** Options are chosen by what they do: their names are each program's own. */
export function answerTo({ options }: RequestPermissionRequest, isAllowed: boolean): RequestPermissionResponse {
  const wanted = isAllowed ? ["allow_once", "allow_always"] : ["reject_once", "reject_always"];
  const option = wanted.map((kind) => options.find((each) => each.kind === kind)).find((each) => each !== undefined);
  return {
    outcome: option === undefined ? { outcome: "cancelled" } : { outcome: "selected", optionId: option.optionId },
  };
}
