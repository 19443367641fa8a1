/** Everything that can be wrong with a plan: a stable code, how grave it is, and what to do. Docs are made from this table. */
import {
  type Blame,
  type Path,
  PROBLEMS_MAX,
  type Problem,
  type ProblemCode,
  type Problems,
} from "../../std/problems.ts";

export const SEVERITIES = ["error", "warning"] as const;
export type Severity = (typeof SEVERITIES)[number];

export const DIAGNOSTICS = {
  PLAN_ENCODING: { severity: "error", hint: "Save the file as UTF-8 text." },
  PLAN_TOO_LARGE: { severity: "error", hint: "Split the plan into several, or make it with a matrix." },
  PLAN_SYNTAX: {
    severity: "error",
    hint: "Correct the YAML or JSON at this place; quote text that holds `: ` or ` #`.",
  },
  PLAN_ALIASES: { severity: "error", hint: "Use fewer YAML aliases; `defaults` and `matrix` keep plans short too." },
  PLAN_EMPTY: { severity: "error", hint: "Add at least one task: `tasks: { hello: { run: echo hello } }`." },
  PLAN_DUPLICATE: { severity: "error", hint: "Rename or remove one of the two." },
  PLAN_KEY_UNKNOWN: { severity: "error", hint: "`rota schema` lists every field." },
  PLAN_KEY_FORBIDDEN: {
    severity: "error",
    hint: "Choose another name: this one means something to the language Rota is written in.",
  },
  PLAN_MISSING: { severity: "error", hint: "Add the field; `rota schema` says what it holds." },
  PLAN_TYPE: { severity: "error", hint: "`rota schema` says what each field holds." },
  PLAN_VALUE: { severity: "error", hint: "`rota schema` says what each field may be." },
  PLAN_ID: {
    severity: "error",
    hint: "Use letters, digits, `.`, `_` and `-`, at most 128, not starting with `.` or `-`.",
  },
  PLAN_UNSUPPORTED: { severity: "error", hint: "Remove the field, or do this part with a command in `run`." },
  PLAN_NEED_UNKNOWN: { severity: "error", hint: "Add that task, or remove the name." },
  PLAN_NEED_SELF: { severity: "error", hint: "Remove the task's own name from the list." },
  PLAN_CYCLE: { severity: "error", hint: "Remove one of these edges: none of the tasks could ever start." },
  PLAN_IMPOSSIBLE: { severity: "error", hint: "Ask for less, or name a larger capacity under `resources`." },
  PLAN_HAZARD: {
    severity: "warning",
    hint: "Order them with `needs` or `after`; as it is, one will wait for the other when it runs.",
  },
  PLAN_HAZARD_LIMIT: { severity: "warning", hint: "What was not compared is still kept apart while the plan runs." },
  PLAN_VARIABLE: {
    severity: "warning",
    hint: "Pass it with `env: { NAME: { from: NAME } }`, or to every task with the setting `pass`.",
  },
  PLAN_DIRECTORY: {
    severity: "warning",
    hint: "Correct the path, which counts from the plan's directory, or make the directory before the run.",
  },
  PLAN_BIDI: { severity: "warning", hint: "Remove the character, or write it as an escape in double quotes." },
  PLAN_MORE: { severity: "error", hint: "Correct the ones above first." },
} as const satisfies Record<string, { readonly severity: Severity; readonly hint: string }>;

export type DiagnosticCode = keyof typeof DIAGNOSTICS;

/** One thing to correct, and its place. Lines and columns count from 1, columns in UTF-16 units as editors do. */
export interface Diagnostic {
  readonly code: DiagnosticCode;
  readonly severity: Severity;
  readonly message: string;
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly hint: string;
}

/** Where a finding is: an offset into the text, or a path into its value that is looked up only when it is needed. */
export type Spot = { readonly offset: number } | { readonly path: Path; readonly at: Blame };

/** A diagnostic before its line and column are known. */
export interface Finding {
  readonly code: DiagnosticCode;
  readonly message: string;
  readonly spot: Spot;
  readonly severity?: Severity;
  readonly hint?: string | undefined;
}

const CODES: Readonly<Record<ProblemCode, DiagnosticCode>> = {
  type: "PLAN_TYPE",
  value: "PLAN_VALUE",
  missing: "PLAN_MISSING",
  "key-unknown": "PLAN_KEY_UNKNOWN",
  "key-forbidden": "PLAN_KEY_FORBIDDEN",
  id: "PLAN_ID",
  unsupported: "PLAN_UNSUPPORTED",
};

/** Gathers findings. Beyond the number that a person would read they are only counted. */
export class Findings {
  readonly list: Finding[] = [];
  #hidden = 0;

  /** How many were counted and not kept. */
  get hidden(): number {
    return this.#hidden;
  }

  get isFull(): boolean {
    return this.list.length >= PROBLEMS_MAX;
  }

  add(finding: Finding): void {
    if (this.isFull) this.#hidden++;
    else this.list.push(finding);
  }

  addProblems(problems: Problems): void {
    for (const problem of problems.list) this.add(fromProblem(problem));
    this.#hidden += problems.count - problems.list.length;
  }
}

const fromProblem = (problem: Problem): Finding => ({
  code: CODES[problem.code],
  message: problem.message,
  spot: { path: problem.path, at: problem.at },
  hint: problem.hint,
});

export const severityOf = (finding: Finding): Severity => finding.severity ?? DIAGNOSTICS[finding.code].severity;
export const isError = (finding: Finding): boolean => severityOf(finding) === "error";
