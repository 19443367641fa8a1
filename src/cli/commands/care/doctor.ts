/** `rota doctor`: is this machine fit, and is what is recorded whole? */

import { resolve } from "node:path";
import { askedState, existingState, type StateDir } from "../../../app/config/state.ts";
import { diagnose, type Finding } from "../../../app/look/doctor.ts";
import { UserError } from "../../../domain/errors.ts";
import { type Line, paintAll, quiet, strong, type Toned, table, toned } from "../../../views/text/line.ts";
import { plural } from "../../../views/text/moment.ts";
import type { Printed } from "../../../wire/replies/output.ts";
import type { Context, Input, Run } from "../../frame/command.ts";
import { rootMeant, withCommands } from "../../frame/printed.ts";
import { themeOf } from "../../frame/theme.ts";

const EXIT_PROBLEM = 1;

export const run: Run = async (input, context) => {
  const { terminal, env } = context;
  const command = context.commandsTo({ root: rootMeant("doctor", input, context) });
  const file = input.text("manifest");
  const looks =
    file === undefined ? diagnose(stateIfAny(input, context), env) : await ofManifest(resolve(context.cwd, file));
  const found = await Array.fromAsync(looks);
  const findings = found.map((each) =>
    each.hint === undefined ? each : { ...each, hint: withCommands(each.hint, command) },
  );
  const problems = findings.filter(({ health }) => health === "problem").length;
  const code = problems === 0 ? 0 : EXIT_PROBLEM;
  if (input.flag("json")) {
    terminal.out(`${JSON.stringify({ ok: problems === 0, findings } satisfies Printed<"doctor">)}\n`);
    return code;
  }
  const rows = findings.flatMap(rowsOf);
  const lines = table(rows, { columns: [{}, {}, {}], width: Number.POSITIVE_INFINITY, indent: 0 });
  const end: Line = problems === 0 ? ["Nothing is wrong."] : [toned("bad", `${plural(problems, "problem")} found.`)];
  terminal.out(
    paintAll([...lines, [], end], themeOf(context))
      .map((line) => `${line}\n`)
      .join(""),
  );
  return code;
};

async function ofManifest(file: string): Promise<AsyncGenerator<Finding>> {
  const { diagnoseManifest } = await import("../../../app/look/doctor-manifest.ts");
  return diagnoseManifest(file);
}

/** No directory is nothing to worry about, unless one was named. */
function stateIfAny(input: Input, { env, cwd }: Context): StateDir | undefined {
  const flag = input.text("state");
  try {
    return existingState({ flag, env, cwd });
  } catch (error) {
    const isAbsent = error instanceof UserError && error.code === "STATE_MISSING";
    if (isAbsent && askedState({ flag, env }) === undefined) return undefined;
    throw error;
  }
}

const SIGNS: Readonly<Record<Finding["health"], Toned>> = {
  ok: toned("good", "✔"),
  info: toned("quiet", "·"),
  warning: toned("warn", "!"),
  problem: toned("bad", "✖"),
};

function rowsOf({ check, health, message, hint }: Finding): Line[][] {
  const row: Line[] = [[SIGNS[health]], [strong(check)], [message]];
  return hint === undefined ? [row] : [row, [[], [], [quiet(hint)]]];
}
