/** One task for each combination of a matrix's values. */
import { isId, type TaskId, taskId } from "../domain/ids.ts";
import type { Command, EnvValue, TaskSpec, Work } from "../domain/spec.ts";
import { type ProblemCode, type Problems, shorten } from "../std/problems.ts";
import { didYouMean, type Schema } from "../std/schema.ts";
import { directory, path } from "./read/scalars.ts";

const COMBINATIONS_MAX = 1_000;

export type Matrix = Readonly<Record<string, readonly string[]>>;

/** The tasks that replace `spec`, in the order of the values, the last name changing fastest. Stops at the first that cannot be made. */
export function expandMatrix(spec: TaskSpec, matrix: Matrix, problems: Problems): readonly TaskSpec[] {
  const names = Object.keys(matrix);
  const combinations = names.reduce((product, name) => product * (matrix[name] as readonly string[]).length, 1);
  if (combinations > COMBINATIONS_MAX) {
    reportAt(
      "matrix",
      "value",
      `The matrix has ${combinations} combinations; at most ${COMBINATIONS_MAX} are made.`,
      problems,
    );
    return [];
  }
  const expanded: TaskSpec[] = [];
  const before = problems.count;
  for (let no = 0; no < combinations && problems.count === before; no++) {
    const one = new Combination(combination(no, names, matrix), problems);
    const id = one.id(spec.id);
    if (id !== undefined) expanded.push(one.fill(spec, id));
  }
  return expanded;
}

function combination(no: number, names: readonly string[], matrix: Matrix): ReadonlyMap<string, string> {
  const chosen: [string, string][] = [];
  let rest = no;
  for (const name of names.toReversed()) {
    const values = matrix[name] as readonly string[];
    chosen.push([name, values[rest % values.length] as string]);
    rest = Math.floor(rest / values.length);
  }
  return new Map(chosen.reverse());
}

const MENTION = /\$\{matrix\.([^{}]*)\}/g;

class Combination {
  readonly #values: ReadonlyMap<string, string>;
  readonly #problems: Problems;

  constructor(values: ReadonlyMap<string, string>, problems: Problems) {
    this.#values = values;
    this.#problems = problems;
  }

  /** `build` with linux and 22 is `build-linux-22`; what an id cannot hold becomes a dash. */
  id(base: TaskId): TaskId | undefined {
    const raw = [base, ...this.#values.values()].map((part) => part.replace(/[^A-Za-z0-9._-]+/g, "-")).join("-");
    if (isId(raw)) return taskId(raw);
    reportAt(
      "matrix",
      "id",
      `The matrix makes the id "${shorten(raw, 60)}", which is too long or not one.`,
      this.#problems,
    );
    return undefined;
  }

  fill(spec: TaskSpec, id: TaskId): TaskSpec {
    return {
      ...spec,
      id,
      run: this.#work(spec.run),
      env: this.#env(spec.env),
      reads: this.#paths(spec.reads, "reads"),
      writes: this.#paths(spec.writes, "writes"),
      ...(spec.idempotencyKey !== undefined && {
        idempotencyKey: this.#text(spec.idempotencyKey, "idempotencyKey"),
      }),
      ...(spec.title !== undefined && { title: this.#text(spec.title, "title") }),
      ...(spec.verify !== undefined && { verify: this.#command(spec.verify, "verify") }),
      ...(spec.cwd !== undefined && { cwd: this.#checked(spec.cwd, "cwd", directory) }),
    };
  }

  #text(text: string, field: string): string {
    return text.replace(MENTION, (mention, name: string) => {
      const value = this.#values.get(name);
      if (value === undefined) this.#reportUnknown(mention, name, field);
      return value ?? mention;
    });
  }

  #work(work: Work): Work {
    if ("call" in work) return work;
    return "prompt" in work ? { prompt: this.#text(work.prompt, "prompt") } : this.#command(work, "run");
  }

  #command(command: Command, field: string): Command {
    if ("shell" in command) return { shell: this.#text(command.shell, field) };
    const [program, ...words] = command.argv;
    return { argv: [this.#text(program, field), ...words.map((word) => this.#text(word, field))] };
  }

  #env(env: TaskSpec["env"]): TaskSpec["env"] {
    const fill = (value: EnvValue): EnvValue => (typeof value === "string" ? this.#text(value, "env") : value);
    return Object.fromEntries(Object.entries(env).map(([name, value]) => [name, fill(value)]));
  }

  #paths(paths: readonly string[], field: string): readonly string[] {
    return paths.map((raw) => this.#checked(raw, field, path));
  }

  /** A value may contain `..`, so paths are checked again when they are complete. */
  #checked(raw: string, field: string, schema: Schema<string>): string {
    const filled = this.#text(raw, field);
    this.#problems.enter(field);
    const read = schema.read(filled, this.#problems);
    this.#problems.leave();
    return read ?? filled;
  }

  #reportUnknown(mention: string, name: string, field: string): void {
    const hint = didYouMean(name, this.#values.keys());
    reportAt(field, "value", `${shorten(mention)} is not in the task's matrix.`, this.#problems, hint);
  }
}

function reportAt(field: string, code: ProblemCode, message: string, problems: Problems, hint?: string): void {
  problems.enter(field);
  problems.report(code, message, { hint });
  problems.leave();
}
