/** `rota config`: every setting, its value, and where that comes from. */
import { describeOrigin, loadConfig } from "../../../app/config/config.ts";
import { type Config, configJsonSchema, SETTING_NAMES, type Setting } from "../../../app/config/settings.ts";
import { formatBytes } from "../../../domain/amounts/size.ts";
import { formatDuration, type Millis, parseDuration } from "../../../domain/time.ts";
import { type Line, paintAll, quiet, strong, table } from "../../../views/text/line.ts";
import type { Run } from "../../frame/command.ts";
import { themeOf } from "../../frame/theme.ts";

export const run: Run = async (input, context) => {
  const { terminal, env, cwd } = context;
  if (input.arguments[0] === "schema") {
    terminal.out(`${JSON.stringify(configJsonSchema(), null, 2)}\n`);
    return 0;
  }
  const { values, origins } = await loadConfig({ cwd, env, flags: {} });
  const rows = SETTING_NAMES.map((name) => ({ name, value: values[name], origin: describeOrigin(origins[name]) }));
  if (input.flag("json")) {
    terminal.out(
      `${JSON.stringify(Object.fromEntries(rows.map(({ name, value, origin }) => [name, { value, origin }])))}\n`,
    );
    return 0;
  }
  const cells = rows.map(({ name, value, origin }): Line[] => [
    [strong(name)],
    [asWritten(name, value)],
    [quiet(origin)],
  ]);
  const lines = table(cells, { columns: [{}, { shrinkTo: 20 }, {}], width: terminal.columns, indent: 0 });
  terminal.out(
    paintAll(lines, themeOf(context))
      .map((line) => `${line}\n`)
      .join(""),
  );
  return 0;
};

type DurationSetting = { [Name in Setting]: Config[Name] extends Millis ? Name : never }[Setting];

/** The compiler misses whichever is left out. */
const DURATIONS: Readonly<Record<DurationSetting, true>> = {
  grace: true,
  leaseTtl: true,
  heartbeat: true,
  patienceWait: true,
  sessionTtl: true,
  ackTimeout: true,
  offerTtl: true,
  wakeInterval: true,
  wakeCooldown: true,
  starvingAge: true,
  stuckAfter: true,
  pollInterval: true,
};

/** As one would write it in the file. */
function asWritten(name: Setting, value: unknown): string {
  if (Object.hasOwn(DURATIONS, name)) return exactly(value as Millis);
  if (name === "logMaxBytes") return formatBytes(value as number);
  if (Array.isArray(value)) return `[${value.join(", ")}]`;
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** What is said to people is rounded; what is in force is not. */
function exactly(span: Millis): string {
  const short = formatDuration(span);
  return parseDuration(short) === span ? short : `${span}ms`;
}
