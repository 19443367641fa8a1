/** The description of a command, for parsing, help, completion and the reference page alike. */
import type { Millis } from "../../domain/time.ts";
import type { CommandWriter } from "../../views/why/next.ts";
import type { Terminal } from "./terminal.ts";

export interface ArgumentSpec {
  readonly name: string;
  readonly describe: string;
  readonly required: boolean;
  /** Takes all arguments that follow. */
  readonly many?: boolean;
  readonly choices?: readonly string[];
  /** What a shell can complete here. */
  readonly completes?: "file";
}

export interface OptionSpec {
  /** `flag` takes no value; `span` takes a span of time, such as `90s`. */
  readonly kind: "flag" | "text" | "count" | "span";
  readonly describe: string;
  /** May be given several times: `texts` has them all. */
  readonly many?: boolean;
  /** The name of its value in help: `DIR`, `N`. */
  readonly value?: string;
  readonly short?: string;
  /** The value that is used without the option, for help. */
  readonly fallback?: string;
  readonly choices?: readonly string[];
  readonly completes?: "file" | "folder";
}

/** Options with the same meaning in every command; they may also stand before its name. */
export const SHARED_OPTIONS = {
  state: {
    kind: "text",
    value: "DIR",
    describe: "The state directory",
    fallback: "$ROTA_STATE, else .rota at the root of the project",
    completes: "folder",
  },
  json: { kind: "flag", describe: "Print JSON, for programs" },
} as const satisfies Readonly<Record<string, OptionSpec>>;

/** In the order in which a user needs them, which is the order of `rota help`. */
export const GROUPS = [
  "Write a plan",
  "Run it",
  "Work as an agent",
  "See what happens",
  "Step in",
  "Look after it",
] as const;

/** Commands of two words with the same first word: what that word stands for, in one line. */
export const FAMILIES: Readonly<Record<string, string>> = {
  session: "Join a pool as a session, and wait for work",
  token: "Say who may call a daemon over TCP",
};

export interface CommandSpec {
  /** One word, or two words of which the first is that of a family. */
  readonly name: string;
  readonly group: (typeof GROUPS)[number];
  /** One line for the list of commands, without a full stop. */
  readonly summary: string;
  /** A paragraph or two for its own help page. */
  readonly details?: string;
  readonly arguments: readonly ArgumentSpec[];
  readonly options: Readonly<Record<string, OptionSpec>>;
  readonly examples: readonly string[];
  /** The command's own module is loaded only when it is run: start-up stays short. */
  readonly load: () => Promise<{ readonly run: Run }>;
}

/** The typed arguments, checked against the spec: every option has the kind it declares. */
export interface Input {
  readonly arguments: readonly string[];
  flag(name: string): boolean;
  text(name: string): string | undefined;
  /** Every value of an option that may be given several times, in the order they were typed. */
  texts(name: string): readonly string[];
  count(name: string): number | undefined;
  span(name: string): Millis | undefined;
}

/** Runs the command, and returns the exit code. Throws a `UserError` for what the user can put right. */
export type Run = (input: Input, context: Context) => Promise<number>;

export interface Surroundings {
  readonly terminal: Terminal;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Absolute. */
  readonly cwd: string;
  /** How a person starts this program; `rota` when absent. */
  readonly program?: () => string;
}

/** What a printed command must be about. */
export interface Reach {
  /** The state directory. */
  readonly root: string;
  /** The daemon's socket, where one was named. */
  readonly socket?: string | undefined;
}

export interface Context extends Surroundings {
  /** Writes every printed command so that it works as it stands, from this directory. */
  readonly commandsTo: (reach: Reach) => CommandWriter;
}
