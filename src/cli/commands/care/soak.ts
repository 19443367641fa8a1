/** `rota soak`: shows on virtual time that nothing is lost or done twice, whatever fails, and says how to repeat a failure. */
import { resolve } from "node:path";
import type { SoakReport } from "../../../app/soak/soak.ts";
import { millis } from "../../../domain/time.ts";
import { isWhole, soakJson, soakText } from "../../../views/simulation/soak.ts";
import { paintAll } from "../../../views/text/line.ts";
import type { Context, Input, Run } from "../../frame/command.ts";
import { writeAt } from "../../frame/output.ts";
import { themeOf } from "../../frame/theme.ts";

const EXIT_BROKEN = 1;
const MINUTES = 1;
/** How many seeds pass between two progress messages on a terminal. */
const TELL_EVERY = 50;

export const run: Run = async (input, context) =>
  input.count("replay") === undefined ? campaign(input, context) : replayOne(input, context);

async function campaign(input: Input, context: Context): Promise<number> {
  const { terminal, cwd } = context;
  const { soak } = await import("../../../app/soak/soak.ts");
  const { readStore } = await import("../../../app/soak/limits.ts");
  const within = millis((input.count("minutes") ?? MINUTES) * 60_000);
  const firstSeed = input.count("seed") ?? 1;
  const isShown = terminal.interactive && !input.flag("json");
  const report = await soak({
    firstSeed,
    within,
    seeds: input.count("seeds"),
    store: readStore(input.text("store")),
    ...(input.flag("real") && { real: { program: ownProgram(), env: context.env } }),
    signal: terminal.gone,
    progress: (seeds, failures) => {
      if (isShown && seeds % TELL_EVERY === 0) terminal.err(`\r${seeds} seeds, ${failures} failures`);
    },
  });
  if (isShown) terminal.err("\r");
  const json = JSON.stringify(soakJson(report));
  const file = input.text("report");
  if (file !== undefined) await writeAt(resolve(cwd, file), `${json}\n`);
  terminal.out(input.flag("json") ? `${json}\n` : textOf(report, context));
  return isWhole(report) ? 0 : EXIT_BROKEN;
}

/** The command that started this program. */
const ownProgram = (): readonly [string, ...string[]] => [
  process.execPath,
  ...process.execArgv,
  process.argv[1] ?? "rota",
];

const textOf = (report: SoakReport, context: Context): string =>
  paintAll(soakText(report), themeOf(context))
    .map((line) => `${line}\n`)
    .join("");

async function replayOne(input: Input, { terminal }: Context): Promise<number> {
  const { replay } = await import("../../../app/soak/soak.ts");
  const { readLimits } = await import("../../../app/soak/limits.ts");
  const limits = readLimits({
    store: input.text("store"),
    tasks: input.count("tasks"),
    plans: input.count("plans"),
    sessions: input.count("sessions"),
    span: input.span("span"),
    without: input.text("without"),
  });
  const trial = await replay(input.count("replay") as number, limits);
  for (const line of trial.trace) terminal.out(`${line}\n`);
  terminal.out(`${trial.violations.length === 0 ? "Nothing is wrong" : `Broken: ${trial.violations[0]}`}.\n`);
  terminal.out(`digest ${trial.digest}\n`);
  return trial.violations.length === 0 ? 0 : EXIT_BROKEN;
}
