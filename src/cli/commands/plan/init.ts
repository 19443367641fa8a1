/** `rota init`: writes a plan that runs as it is, with comments that say what could be changed. */
import { writeFileSync } from "node:fs";
import { relative, resolve } from "node:path";
import { stateOfPlan } from "../../../app/config/state.ts";
import { UserError } from "../../../domain/errors.ts";
import { neutralize } from "../../../views/text/text.ts";
import type { Run } from "../../frame/command.ts";

export const run: Run = async (input, { cwd, env, terminal, commandsTo }) => {
  const file = resolve(cwd, input.arguments[0] ?? "plan.yaml");
  const name = relative(cwd, file);
  try {
    // `wx`: if two of these commands write at once, one succeeds and nothing is overwritten.
    writeFileSync(file, PLAN, { flag: "wx" });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST")
      throw new UserError("FILE_EXISTS", `${name} is there already`);
    throw new UserError("USAGE", `${name} cannot be written: ${(error as Error).message}`, {
      hint: "Choose another place.",
      cause: error,
    });
  }
  const command = commandsTo({ root: stateOfPlan({ flag: undefined, env, cwd }, file).root })(["run", name]);
  terminal.out(`${neutralize(`Wrote ${name}. Run it with: ${command}`)}\n`);
  return 0;
};

const PLAN = `# A plan: tasks, and what each of them needs. Run it with \`rota run plan.yaml\`.
name: hello

# What every task starts from. Anything here can be set on a single task too.
defaults:
  timeout: { hard: 5m }

tasks:
  # A string is run by the shell. These two need nothing, so they start at once, side by side.
  fetch:
    run: echo "fetching"; sleep 0.3
  lint:
    run: echo "looking for mistakes"; sleep 0.2

  # A list is run as it is, without a shell. It waits until \`fetch\` has succeeded.
  build:
    run: [sh, -c, "echo building; sleep 0.3"]
    needs: [fetch]
    retry: { attempts: 3, backoff: 100ms }

  test:
    run: echo "testing"
    needs: [build, lint]
    priority: high

  # \`after\` waits for the end of a task, whether it succeeded or not: right for cleaning up.
  report:
    run: echo "all done"
    after: [test]
`;
