/** Where the values of the settings come from: flags, variables, a configuration file, defaults. */
import { readFileSync, statSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { UserError } from "../../domain/errors.ts";
import { formatDuration } from "../../domain/time.ts";
import { coreCount } from "../../effects/machine.ts";
import { Problems } from "../../std/problems.ts";
import type { Schema } from "../../std/schema.ts";
import { type ConfigFile, readConfigFile } from "./config-file.ts";
import { CONFIG_FILES } from "./project.ts";
import { type Config, SETTING_NAMES, SETTINGS, SETTINGS_FILE, type Setting, type Settings } from "./settings.ts";

export type Origin =
  | { readonly kind: "default" }
  | { readonly kind: "file"; readonly file: string; readonly line: number; readonly column: number }
  | { readonly kind: "environment"; readonly name: string }
  | { readonly kind: "flag"; readonly name: string };

export interface LoadedConfig {
  readonly values: Config;
  readonly origins: Readonly<Record<Setting, Origin>>;
}

export interface ConfigSources {
  readonly cwd: string;
  /** Where the plan is: its own configuration comes first. */
  readonly planDir?: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** As typed, or as the command line has parsed them. */
  readonly flags: Readonly<Partial<Record<Setting, string | number>>>;
}

/** `leaseTtl` is `ROTA_LEASE_TTL`. */
export const variableOf = (setting: Setting): string =>
  `ROTA_${setting.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;
const flagOf = (setting: Setting): string => `--${setting.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

/** All settings, with the defaults for those that are not given. Neither files nor variables are read. */
export function configOf(settings: Settings): Config {
  const problems = new Problems("the settings");
  const read = SETTINGS_FILE.read(settings, problems);
  if (read === undefined || problems.count > 0) {
    throw new UserError("CONFIG_INVALID", problems.list.map(({ message, hint }) => sentence(message, hint)).join("\n"));
  }
  const config: Config = { workers: coreCount(), ...read };
  const said = Object.fromEntries(SETTING_NAMES.map((name) => [name, { kind: "flag", name: "settings" }]));
  const faults = contradictions(config, said as Record<Setting, Origin>);
  if (faults.length > 0) throw new UserError("CONFIG_INVALID", faults.join("\n"));
  return config;
}

/** Every setting with its value and its origin. All mistakes are reported at once. */
export async function loadConfig(sources: ConfigSources): Promise<LoadedConfig> {
  const { env, flags } = sources;
  const found = await findConfigFile(sources);
  const faults: string[] = [];
  const values: Record<string, unknown> = { workers: coreCount() };
  const origins = {} as Record<Setting, Origin>;
  for (const setting of SETTING_NAMES) {
    values[setting] ??= SETTINGS[setting].fallback;
    origins[setting] = { kind: "default" };
  }
  if (found !== undefined) takeFile(found, values, origins, faults);
  for (const setting of SETTING_NAMES) {
    const name = variableOf(setting);
    const raw = env[name];
    if (raw !== undefined && raw !== "") take(setting, raw, { kind: "environment", name }, values, origins, faults);
    const flag = flags[setting];
    if (flag !== undefined) take(setting, flag, { kind: "flag", name: flagOf(setting) }, values, origins, faults);
  }
  const config = values as Config;
  if (faults.length === 0) faults.push(...contradictions(config, origins));
  if (faults.length > 0) throw new UserError("CONFIG_INVALID", faults.join("\n"));
  return { values: config, origins };
}

function takeFile(
  found: ConfigFile,
  values: Record<string, unknown>,
  origins: Record<Setting, Origin>,
  faults: string[],
): void {
  const { name, place } = found;
  const problems = new Problems("the configuration");
  const read = SETTINGS_FILE.read(found.value, problems) as Readonly<Record<string, unknown>> | undefined;
  for (const problem of problems.list) {
    const { line, column } = place(problem.path, problem.at);
    faults.push(`${name}:${line}:${column}: ${sentence(problem.message, problem.hint)}`);
  }
  if (read === undefined) return;
  for (const setting of SETTING_NAMES) {
    if (!Object.hasOwn(found.value as object, setting)) continue;
    values[setting] = read[setting];
    origins[setting] = { kind: "file", file: name, ...place([setting], "key") };
  }
}

function take(
  setting: Setting,
  raw: string | number,
  origin: Extract<Origin, { name: string }>,
  values: Record<string, unknown>,
  origins: Record<Setting, Origin>,
  faults: string[],
): void {
  const schema: Schema<unknown, "optional" | "defaulted"> = SETTINGS[setting];
  const problems = new Problems(origin.name);
  values[setting] = schema.read(typeof raw === "string" ? fromText(raw, schema) : raw, problems);
  origins[setting] = origin;
  faults.push(...problems.list.map(({ message, hint }) => sentence(message, hint)));
}

/** A variable is always text; the schema of the setting says what it stands for. */
function fromText(raw: string, { types }: Schema<unknown, "optional" | "defaulted">): unknown {
  if (types.includes("map")) return fromJson(raw);
  if (types.includes("list")) {
    const words = raw.split(/[\s,]+/).filter((word) => word !== "");
    return words.every(isNumeric) ? words.map(Number) : words;
  }
  return types.includes("number") && isNumeric(raw) ? Number(raw) : raw;
}
const isNumeric = (raw: string): boolean => /^-?\d+(?:\.\d+)?$/.test(raw);

/** A setting of several parts, written as JSON where only text is possible. */
function fromJson(raw: string): unknown {
  try {
    return JSON.parse(raw);
  } catch {
    return raw;
  }
}

/** A lease that is renewed too seldom is lost although its holder lives. */
function contradictions({ heartbeat, leaseTtl }: Config, origins: Readonly<Record<Setting, Origin>>): string[] {
  if (heartbeat * 2 <= leaseTtl) return [];
  const origin = origins.heartbeat.kind === "default" ? origins.leaseTtl : origins.heartbeat;
  const [beat, ttl] = [formatDuration(heartbeat), formatDuration(leaseTtl)];
  return [`${describeOrigin(origin)}: heartbeat (${beat}) must be at most half of leaseTtl (${ttl})`];
}

export function describeOrigin(origin: Origin): string {
  switch (origin.kind) {
    case "default":
      return "default";
    case "file":
      return `${origin.file}:${origin.line}:${origin.column}`;
    case "environment":
    case "flag":
      return origin.name;
  }
}

const sentence = (message: string, hint: string | undefined): string =>
  hint === undefined ? message.replace(/\.$/, "") : `${message} ${hint}`;

/** Beside the plan, else in the current directory or the nearest above it. */
async function findConfigFile({ cwd, planDir }: ConfigSources): Promise<ConfigFile | undefined> {
  const beside = planDir === undefined ? undefined : await configIn(planDir, cwd);
  if (beside !== undefined) return beside;
  for (let folder = cwd; ; folder = dirname(folder)) {
    const found = await configIn(folder, cwd);
    if (found !== undefined || dirname(folder) === folder) return found;
  }
}

async function configIn(folder: string, cwd: string): Promise<ConfigFile | undefined> {
  const texts = CONFIG_FILES.map((name) => textOf(join(folder, name)));
  const there = CONFIG_FILES.filter((_, at) => texts[at] !== undefined);
  if (there.length > 1) {
    throw new UserError("CONFIG_INVALID", `${folder} has both ${there.join(" and ")}`, { hint: "Keep one of them." });
  }
  const at = texts.findIndex((each) => each !== undefined);
  const content = texts[at];
  if (content === undefined) return undefined;
  const file = join(folder, CONFIG_FILES[at] as string);
  const shown = relative(cwd, file);
  return await readConfigFile(content, shown.startsWith("..") ? file : shown);
}

function textOf(file: string): string | undefined {
  try {
    // Most folders have none, and an exception takes longer than this check.
    if (statSync(file, { throwIfNoEntry: false }) === undefined) return undefined;
    return readFileSync(file, "utf8").replace(/^\ufeff/, "");
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw new UserError("CONFIG_INVALID", `${file} cannot be read: ${message}`, { cause: error });
  }
}
