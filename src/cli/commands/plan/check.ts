/** `rota check PLAN`: everything that is wrong with a plan, each with its place in the text. */

import { dirname, relative, resolve } from "node:path";
import { loadConfig } from "../../../app/config/config.ts";
import { type CheckedPlan, checkPlan, type LoadOptions, STDIN_NAME } from "../../../app/runs/plan-file.ts";
import { UserError } from "../../../domain/errors.ts";
import { paintAll } from "../../../views/text/line.ts";
import { plural } from "../../../views/text/moment.ts";
import { neutralize } from "../../../views/text/text.ts";
import type { Printed } from "../../../wire/replies/output.ts";
import type { Run } from "../../frame/command.ts";
import { themeOf } from "../../frame/theme.ts";
import { type Diagnostic, diagnosticLines } from "./excerpt.ts";

const EXIT_INVALID = 2;

export const run: Run = async (input, context) => {
  const { terminal, cwd } = context;
  const typed = input.arguments[0] as string;
  const file = resolve(cwd, typed);
  const name = typed === "-" ? STDIN_NAME : shownName(cwd, file, typed);
  const { values: config } = await loadConfig({ cwd, planDir: dirname(file), env: context.env, flags: {} });
  const options = { strict: input.flag("strict"), name, pass: config.pass, looks: true };
  if (input.flag("json")) {
    const { diagnostics, plan } = await checkOrSay(file, options);
    terminal.out(`${JSON.stringify({ diagnostics } satisfies Printed<"check">)}\n`);
    return plan === undefined ? EXIT_INVALID : 0;
  }
  const { diagnostics, plan, bytes } = await checkPlan(file, options);
  const lines = diagnosticLines(diagnostics, new TextDecoder().decode(bytes));
  terminal.out(
    paintAll(lines, themeOf(context))
      .map((line) => `${line}\n`)
      .join(""),
  );
  terminal.out(`${neutralize(summary(name, diagnostics, plan?.tasks.length))}\n`);
  return plan === undefined ? EXIT_INVALID : 0;
};

/** As the user typed it, when it lies below this directory: editors and terminals make links of such names. */
function shownName(cwd: string, file: string, typed: string): string {
  const short = relative(cwd, file);
  if (short === "") return typed === "" ? file : typed;
  return short.startsWith("..") ? file : short;
}

type Said = Pick<CheckedPlan, "plan"> & { readonly diagnostics: readonly Diagnostic[] };

/** A program that asked for JSON gets JSON, even when there was nothing to read. */
async function checkOrSay(file: string, options: LoadOptions & { readonly name: string }): Promise<Said> {
  try {
    return await checkPlan(file, options);
  } catch (error) {
    if (!(error instanceof UserError) || error.code !== "PLAN_UNREADABLE") throw error;
    const { code, message, hint } = error;
    return { diagnostics: [{ code, severity: "error", message, file: options.name, line: 1, column: 1, hint }] };
  }
}

function summary(name: string, diagnostics: readonly Diagnostic[], tasks: number | undefined): string {
  const errors = diagnostics.filter(({ severity }) => severity === "error").length;
  const warnings = diagnostics.length - errors;
  const counts = [
    errors > 0 ? [plural(errors, "error")] : [],
    warnings > 0 ? [plural(warnings, "warning")] : [],
  ].flat();
  if (tasks === undefined) return `${name}: ${counts.join(", ")}`;
  return `${name}: ${plural(tasks, "task")}, ${counts.length === 0 ? "nothing wrong" : counts.join(", ")}`;
}
