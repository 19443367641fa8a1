/** What went wrong between an agent and its provider, in one word each: rules in order, of which the first that fits counts. */
import type { AgentError } from "./vocabulary.ts";

/** Kinds of failure that only the agent's own words can tell. */
export const TROUBLES = [
  "auth",
  "quota",
  "rate-limit",
  "context-overflow",
  "budget",
  "refused",
  "overloaded",
  "network",
  "permission",
] as const;
export type Trouble = (typeof TROUBLES)[number];

interface Rule {
  /** Named in what people are shown, and in the tests of the fixtures. */
  readonly name: string;
  readonly means: Trouble;
  readonly statuses?: readonly number[];
  /** The program's or the provider's own word. */
  readonly types?: RegExp;
  /** The text that the message contains. Providers change their sentences: each pattern has fixtures that it fits, and some that it must not. */
  readonly prose?: RegExp;
}

export const RULES: readonly Rule[] = [
  {
    name: "account limit",
    means: "quota",
    types: /^(?:usage_limit_reached|insufficient_quota|billing_error)$/,
    prose:
      /hit your (?:[\w-]+ )?(?:usage )?limit|usage limit (?:reached|exceeded)|exhausted your (?:daily|weekly|monthly)? ?quota|credit balance is too low|insufficient[_ ]quota/i,
  },
  {
    name: "not logged in",
    means: "auth",
    statuses: [401, 403],
    types: /^(?:authentication(?:_error|_failed)?|permission_error|provider\.auth_error|API_KEY_INVALID)$/,
    prose:
      /\bauthentication required\b|\binvalid (?:api key|authentication credentials)\b|\bincorrect api key\b|\bAPI key (?:not valid|is missing)\b|\bnot logged in\b|\bplease run \/login\b|\bmissing API key\b/i,
  },
  {
    name: "unknown model",
    means: "auth",
    statuses: [404],
    types: /^(?:not_found_error|model_not_found)$/,
    prose:
      /\bissue with the selected model\b|\bmodel [`'"]?[\w./:-]+[`'"]? (?:does not exist|is not (?:found|supported|available))|\bmodels\/[\w.-]+ is not found\b/i,
  },
  {
    name: "too many requests",
    means: "rate-limit",
    statuses: [429],
    types: /^(?:rate_limit(?:_error|_exceeded)?|APIProviderRateLimitError|RESOURCE_EXHAUSTED|rate-limit)$/,
    prose:
      /\b429\b.*\b(?:too many requests|rate limit)|\brate limit (?:reached|exceeded)\b|\bexceed(?:ed)? your (?:rate limit|current quota)\b/i,
  },
  {
    name: "conversation too long",
    means: "context-overflow",
    statuses: [413],
    types: /^(?:prompt_too_long|context_length_exceeded|request_too_large)$/,
    prose:
      /\bprompt is too long\b|\bmaximum context length\b|\bcontext (?:window|length) (?:is )?exceeded\b|\binput exceeds the context window\b/i,
  },
  {
    name: "limit of the agent's own",
    means: "budget",
    types: /^(?:error_max_budget_usd|error_max_turns|budget_exhausted|max_turns|FatalTurnLimitedError)$/,
  },
  {
    name: "declined by the model",
    means: "refused",
    types: /^(?:refusal|safety|content_filter|content_policy_violation|SAFETY)$/,
    prose: /\bviolat\w+ (?:our|the) usage polic/i,
  },
  {
    name: "provider overloaded",
    means: "overloaded",
    statuses: [500, 502, 503, 504, 529],
    types: /^(?:overloaded(?:_error)?|server_error|internal_server_error|UNAVAILABLE)$/,
    prose:
      /\boverloaded\b|\bexperiencing high demand\b|\b(?:500|502|503|504|529) (?:internal server error|bad gateway|service unavailable|gateway time-?out|the server)\b/i,
  },
  {
    name: "connection lost",
    means: "network",
    types: /^(?:ECONNRESET|ECONNREFUSED|ENOTFOUND|ETIMEDOUT|EAI_AGAIN|APIEmptyResponseError|APIConnectionError)$/,
    prose:
      /\b(?:ECONNRESET|ECONNREFUSED|ENOTFOUND|ETIMEDOUT|EAI_AGAIN)\b|\bstream disconnected\b|\bnetwork error\b|\bsocket hang up\b|\bfetch failed\b|API Error: terminated|\bIncomplete JSON segment\b|\bempty or malformed response\b|\bempty response\b/i,
  },
  {
    name: "permission denied",
    means: "permission",
    prose: /\brequires approval, but approval policy is never\b|\bno interactive user\b/i,
  },
];

export interface Diagnosis {
  readonly means: Trouble;
  readonly rule: string;
}

/** What the error means. What it says of itself goes before what stands in its message, rule by rule. */
export function diagnosed(error: AgentError): Diagnosis | undefined {
  const rule = RULES.find((each) => fits(each, error));
  return rule && { means: rule.means, rule: rule.name };
}

/** Prose alone: what stands in a last message, or on standard error. */
export const diagnosedWords = (words: string): Diagnosis | undefined => diagnosed({ message: words });

function fits({ statuses, types, prose }: Rule, { status, type, message }: AgentError): boolean {
  if (status !== undefined && statuses?.includes(status) === true) return true;
  if (type !== undefined && types?.test(type) === true) return true;
  return prose?.test(message) === true;
}
