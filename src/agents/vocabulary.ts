/** What agents say, in one vocabulary for every program. A driver reads its program's output into these events and decides nothing. */
import type { Instant } from "../domain/time.ts";

/** What was used so far, as far as the program tells. What is unknown is absent: unknown is not zero. */
export interface Counted {
  /** Tokens that the model was given, as the program counts them. */
  readonly input?: number;
  /** The part of these tokens that came from the provider's cache. */
  readonly cached?: number;
  readonly output?: number;
  /** In US dollars. */
  readonly cost?: number;
  /** Answers of the model. */
  readonly turns?: number;
}

/** What a provider or a program says went wrong, as it says it. */
export interface AgentError {
  /** The HTTP status of the provider's answer. */
  readonly status?: number;
  /** The program's own word for it. */
  readonly type?: string;
  readonly message: string;
}

/** A window of an account: five hours, a week. */
export interface Window {
  readonly name: string;
  readonly status: "allowed" | "warned" | "rejected";
  readonly resetsAt?: Instant;
  /** The part of it that is used, 0 to 1. */
  readonly used?: number;
}

export type AgentEvent =
  /** The conversation has an identity, by which a later attempt can resume it. */
  | { readonly kind: "session"; readonly id: string; readonly model?: string }
  /** `part`: it continues what was said just before, without a break between. */
  | { readonly kind: "said"; readonly text: string; readonly part?: true }
  | { readonly kind: "thought"; readonly text: string }
  | {
      readonly kind: "tool";
      readonly id: string;
      readonly name: string;
      /** The command, the pattern, the question: short. */
      readonly argument?: string;
      /** The file that it touches. */
      readonly file?: string;
    }
  | {
      readonly kind: "tool_result";
      readonly id: string;
      readonly ok: boolean;
      /** Characters of what came back. */
      readonly size?: number;
      /** The tool did not run: the agent may not use it so. */
      readonly denied?: true;
    }
  | {
      readonly kind: "asked";
      readonly id: string;
      readonly question: string;
      readonly options: readonly { readonly id: string; readonly label: string }[];
    }
  /**
   * What the attempt has used so far: a later one takes the place of an earlier one. `total` is what the program counts over its
   * whole conversation, other attempts included: the next attempt that resumes it is told of it, and starts from there.
   */
  | { readonly kind: "usage"; readonly used: Counted; readonly total?: Counted }
  | { readonly kind: "window"; readonly window: Window }
  /** The program met an error and tries again by itself. */
  | { readonly kind: "retrying"; readonly error: AgentError; readonly attempt?: number; readonly delayMs?: number }
  /** Anything else that a person may want to see. */
  | { readonly kind: "note"; readonly text: string }
  /** The last record of a turn. That it says `ok` is no proof: see `classify.ts`. */
  | {
      readonly kind: "ended";
      readonly ok: boolean;
      readonly text?: string;
      /** Structured output. */
      readonly result?: unknown;
      readonly error?: AgentError;
      /** Tools that were refused during the turn. */
      readonly denied?: number;
    };

export type Stream = "out" | "err";
