/** What a command is: described once, for parsing, help, completion and the reference page alike. */
import type { Millis } from "../domain/time.ts";
import type { CommandWriter } from "../views/next.ts";
import type { Terminal } from "./terminal.ts";

export interface ArgumentSpec {
  readonly name: string;
  readonly describe: string;
  readonly required: boolean;
  /** Takes all that follow. */
  readonly many?: boolean;
  readonly choices?: readonly string[];
  /** What a shell can offer for it. */
  readonly completes?: "file";
}

export interface OptionSpec {
  /** `flag` takes no value; `span` takes a span of time, such as `90s`. */
  readonly kind: "flag" | "text" | "count" | "span";
  readonly describe: string;
  /** May be given several times: `texts` has them all. */
  readonly many?: boolean;
  /** How its value is called in help: `DIR`, `N`. */
  readonly value?: string;
  readonly short?: string;
  /** What is used when it is not given, for help. */
  readonly fallback?: string;
  readonly choices?: readonly string[];
  readonly completes?: "file" | "folder";
}

/** Options that mean the same wherever a command has them; they may stand before its name too. */
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

/** In the order of a life with the program, which is the order of `rota help`. */
export const GROUPS = [
  "Write a plan",
  "Run it",
  "Work as an agent",
  "See what happens",
  "Step in",
  "Look after it",
] as const;

/** Commands of two words that share the first: what that word stands for, in one line. */
export const FAMILIES: Readonly<Record<string, string>> = {
  session: "Be there as a session, and be woken for work",
  token: "Say who may call a daemon over TCP",
};

export interface CommandSpec {
  /** One word, or two of which the first is that of a family. */
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

/** What was typed, checked against the spec: every option has the kind it declares. */
export interface Input {
  readonly arguments: readonly string[];
  flag(name: string): boolean;
  text(name: string): string | undefined;
  /** Every value of an option that may be given several times, in the order they were typed. */
  texts(name: string): readonly string[];
  count(name: string): number | undefined;
  span(name: string): Millis | undefined;
}

/** Does the command, and returns the exit code. Throws a `UserError` for what the user can put right. */
export type Run = (input: Input, context: Context) => Promise<number>;

export interface Surroundings {
  readonly terminal: Terminal;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Absolute. */
  readonly cwd: string;
  /** What a person types to start this program; `rota` when absent. */
  readonly program?: () => string;
}

/** What a printed command has to reach. */
export interface Reach {
  /** The state directory. */
  readonly root: string;
  /** The daemon's socket, where one was named. */
  readonly socket?: string | undefined;
}

export interface Context extends Surroundings {
  /** Every command that is printed is written by what this gives: it works as it stands, from this directory. */
  readonly commandsTo: (reach: Reach) => CommandWriter;
}
