import { describe, expect, it } from "vitest";
import { diagnosed, diagnosedWords, RULES } from "./troubles.ts";
import type { AgentError } from "./vocabulary.ts";

const error = (message: string, more: Partial<AgentError> = {}): AgentError => ({ message, ...more });

/** By rule: what it fits, and what looks like it and means something else or nothing. */
const FIXTURES: Readonly<
  Record<string, { readonly fits: readonly AgentError[]; readonly not: readonly AgentError[] }>
> = {
  "account limit": {
    fits: [
      error("You've hit your 5-hour limit · resets 9:22pm (UTC)"),
      error("You’ve hit your usage limit. Upgrade to Pro or try again at 9:20 PM."),
      error("[API Error: You have exhausted your daily quota on this model.]"),
      error("Your credit balance is too low to access the API."),
      error("quota", { status: 429, type: "insufficient_quota" }),
      error("limit", { status: 429, type: "usage_limit_reached" }),
    ],
    not: [error("You hit the ball"), error("a limit of 5 files"), error("Request rejected (429)", { status: 429 })],
  },
  "not logged in": {
    fits: [
      error("Invalid API key · Fix external API key"),
      error("Authentication required"),
      error("authentication_failed", { status: 401 }),
      error("401 Incorrect API key provided."),
      error('[API Error: {"error":{"code":400,"message":"API key not valid. Please pass a valid API key."}}]'),
    ],
    not: [error("the tests of authentication fail"), error("API keys are documented in README.md")],
  },
  "unknown model": {
    fits: [
      error("There's an issue with the selected model (claude-x). It may not exist or you may not have access to it."),
      error("The model `stub-missing` does not exist or you do not have access to it."),
      error("[API Error: models/stub-missing is not found]"),
      error("nothing here", { status: 404 }),
    ],
    not: [error("The data model is not normalised"), error("the file does not exist")],
  },
  "too many requests": {
    fits: [
      error("exceeded retry limit, last status: 429 Too Many Requests, request id: req_stub"),
      error("Rate limit reached for requests. Please try again in 1s."),
      error("This request would exceed your rate limit."),
      error("slow down", { status: 429 }),
    ],
    not: [error("line 429: expected a colon"), error("rate limits are documented below")],
  },
  "conversation too long": {
    fits: [error("Prompt is too long"), error("x", { type: "context_length_exceeded" }), error("x", { status: 413 })],
    not: [error("the function is too long"), error("context is a React hook")],
  },
  "limit of the agent's own": {
    fits: [
      error("Reached maximum budget ($0.01)", { type: "error_max_budget_usd" }),
      error("x", { type: "FatalTurnLimitedError" }),
    ],
    not: [error("the budget of the project"), error("max_turns is an option")],
  },
  "declined by the model": {
    fits: [error("x", { type: "refusal" }), error("This request appears to violate our usage policy")],
    not: [error("the constraint is violated"), error("content filter tests")],
  },
  "provider overloaded": {
    fits: [
      error("API Error: 500 Internal server error. This is a server-side issue", { status: 500 }),
      error("500 The server had an error while processing your request."),
      error("We're currently experiencing high demand"),
      error("Overloaded", { status: 529 }),
    ],
    not: [error("500 files changed"), error("the handler returns 503 for a full queue")],
  },
  "connection lost": {
    fits: [
      error("stream disconnected before completion: stream closed before response.completed"),
      error("[API Error: terminated]"),
      error("connect ECONNREFUSED 127.0.0.1:443"),
      error("API Error: API returned an empty or malformed response (HTTP 200)"),
    ],
    not: [error("the process was terminated"), error("network of tasks")],
  },
  "permission denied": {
    fits: [
      error("requires approval, but approval policy is never"),
      error("Permission denied because no interactive user response"),
    ],
    not: [error("cat: x: Permission denied"), error("approval of the review")],
  },
};

describe("rules of trouble", () => {
  it("each has fixtures", () => {
    expect(Object.keys(FIXTURES)).toEqual(RULES.map(({ name }) => name));
  });

  it.each(RULES.map(({ name, means }) => ({ name, means })))("$name means $means", ({ name, means }) => {
    for (const each of FIXTURES[name]?.fits ?? []) expect(diagnosed(each), each.message).toEqual({ means, rule: name });
    for (const each of FIXTURES[name]?.not ?? []) expect(diagnosed(each)?.rule, each.message).not.toBe(name);
  });

  it("says nothing of words that mean no trouble", () => {
    expect(diagnosedWords("All done: the stub model says hi.")).toBeUndefined();
  });
});
