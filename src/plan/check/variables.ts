/** Warns of variables that tasks name and do not get: a task has only the variables of the scheduler's environment that are passed to it. */
import type { TaskNo } from "../../domain/graph.ts";
import type { TaskSpec, Work } from "../../domain/spec.ts";
import type { Findings } from "./diagnostics.ts";
import { namesTaken } from "./shell-names.ts";
import type { Subject } from "./validate.ts";

/** Where a variable is named first, and in how many tasks. */
interface Mention {
  readonly task: TaskNo;
  readonly field: "run" | "verify";
  tasks: number;
  last: TaskNo;
}

/** One finding per variable. `passed` are the names that every task gets; a `*` at the end of one stands for every ending. */
export function checkVariables(
  subject: Subject,
  passed: readonly string[],
  isStrict: boolean,
  findings: Findings,
): void {
  const isPassed = matcher(passed);
  for (const [name, { task, field, tasks }] of mentions(subject.tasks)) {
    if (isPassed(name)) continue;
    const { id } = subject.tasks[task] as TaskSpec;
    const who = tasks === 1 ? `${id} names` : `${id} and ${tasks - 1} more name`;
    findings.add({
      code: "PLAN_VARIABLE",
      ...(isStrict && { severity: "error" }),
      message: `${who} $${name}, which is not passed to tasks: it is empty there.`,
      spot: { path: ["tasks", subject.originOf(task), field], at: "value" },
      hint: `Pass it with \`env: { ${name}: { from: ${name} } }\`, or give it a value there. The setting \`pass\` passes it to every task.`,
    });
  }
}

function mentions(tasks: readonly TaskSpec[]): ReadonlyMap<string, Mention> {
  const found = new Map<string, Mention>();
  for (const [at, { env, pool, run, verify }] of tasks.entries()) {
    // A command that a session runs has the environment of that session.
    if (pool !== undefined) continue;
    for (const [field, command] of [
      ["run", run],
      ["verify", verify],
    ] as const) {
      for (const name of namesTaken(scriptOf(command) ?? "")) {
        if (Object.hasOwn(env, name)) continue;
        const task = at as TaskNo;
        const known = found.get(name);
        if (known === undefined) found.set(name, { task, field, tasks: 1, last: task });
        else if (known.last !== task) Object.assign(known, { tasks: known.tasks + 1, last: task });
      }
    }
  }
  return found;
}

const SHELL = /^(?:.*\/)?(?:ba|da|a|z|k)?sh$/;
/** Options of one letter, the last of which says that the script follows. A login shell reads files that set variables, so `-l` is left out. */
const SCRIPT_FOLLOWS = /^-[a-km-z]*c$/;

/** The script that a shell reads. Nothing for a program that is started without a shell. */
function scriptOf(command: Work | undefined): string | undefined {
  if (command === undefined || "prompt" in command || "call" in command) return undefined;
  if ("shell" in command) return command.shell;
  const [program, option, script] = command.argv;
  return SHELL.test(program) && SCRIPT_FOLLOWS.test(option ?? "") ? script : undefined;
}

function matcher(passed: readonly string[]): (name: string) => boolean {
  const exact = new Set(passed);
  const beginnings = passed.filter((name) => name.endsWith("*")).map((name) => name.slice(0, -1));
  return (name) => exact.has(name) || beginnings.some((beginning) => name.startsWith(beginning));
}
