/** Reads the command line by the table of commands. A mistake is reported with what was probably meant. */
import { UserError } from "../../domain/errors.ts";
import { type Millis, parseDuration } from "../../domain/time.ts";
import { closest } from "../../std/closest.ts";
import { type CommandSpec, FAMILIES, type Input, type OptionSpec, SHARED_OPTIONS } from "./command.ts";
import { COMMAND_WORDS, OPTION_WORDS } from "./foreign.ts";

/** Not by `import`: that would load the whole module, which takes 20 ms more than this one function. */
const { parseArgs } = process.getBuiltinModule("node:util");

export type CommandLine =
  | { readonly kind: "version" }
  /** `asked` is false when help is shown because there was nothing else to do. */
  | { readonly kind: "help"; readonly command?: CommandSpec; readonly family?: string; readonly asked: boolean }
  | { readonly kind: "command"; readonly command: CommandSpec; readonly input: Input };

export function parseCommandLine(args: readonly string[], commands: readonly CommandSpec[]): CommandLine {
  const { name, rest } = splitCommand(args);
  if (name === undefined) {
    if (rest.length === 0) return { kind: "help", asked: false };
    if (rest.some((arg) => VERSION_FLAGS.includes(arg))) return { kind: "version" };
    if (rest.some((arg) => arg === "--help" || arg === "-h")) return { kind: "help", asked: true };
    readTokens(rest, { options: { ...SHARED_OPTIONS, version: VERSION } });
    throw usage(`A command is missing after ${rest.join(" ")}`);
  }
  if (Object.hasOwn(FAMILIES, name)) return parseFamily(name, rest, commands);
  const command = findCommand(name, commands);
  if (command.name === "help") return parseHelp(rest, commands);
  const typed = readTokens(rest, command);
  if (typed.help) return { kind: "help", command, asked: true };
  checkArguments(typed.arguments, command);
  return { kind: "command", command, input: inputOf(typed) };
}

const HELP: OptionSpec = { kind: "flag", describe: "Show how the command is used", short: "h" };
const VERSION: OptionSpec = { kind: "flag", describe: "Show the version" };
const VERSION_FLAGS: readonly string[] = ["--version", "-V", "-v"];

/** Options that every command shares may stand before its name: `rota --state DIR status`. Some names are two words. */
function splitCommand(args: readonly string[]): { readonly name?: string; readonly rest: readonly string[] } {
  let at = 0;
  while (at < args.length && isShared(args[at] as string)) {
    at += args[at] === "--state" ? 2 : 1;
  }
  const name = args[at];
  if (name === undefined || name.startsWith("-")) return { rest: args };
  const second = Object.hasOwn(FAMILIES, name) ? args[at + 1] : undefined;
  const isPair = second !== undefined && !second.startsWith("-");
  return {
    name: isPair ? `${name} ${second}` : name,
    rest: [...args.slice(0, at), ...args.slice(at + (isPair ? 2 : 1))],
  };
}

const isShared = (arg: string): boolean =>
  arg.startsWith("--") && Object.hasOwn(SHARED_OPTIONS, arg.slice(2).split("=", 1)[0] as string);

function findCommand(name: string, commands: readonly CommandSpec[]): CommandSpec {
  const command = commands.find((each) => each.name === name);
  if (command !== undefined) return command;
  const meant = Object.hasOwn(COMMAND_WORDS, name) ? COMMAND_WORDS[name] : undefined;
  if (meant !== undefined) throw new UserError("USAGE", `"${name}" is not a command`, { hint: `Use \`${meant}\`.` });
  const near = closest(name, [...commands.map((each) => each.name), ...Object.keys(FAMILIES)]);
  throw new UserError("USAGE", `"${name}" is not a command${near === undefined ? "" : `. Did you mean "${near}"?`}`);
}

function parseHelp(rest: readonly string[], commands: readonly CommandSpec[]): CommandLine {
  const [first, second] = rest.filter((arg) => !arg.startsWith("-"));
  if (first === undefined) return { kind: "help", asked: true };
  const isFamily = Object.hasOwn(FAMILIES, first);
  if (isFamily && second === undefined) return { kind: "help", family: first, asked: true };
  return { kind: "help", command: findCommand(isFamily ? `${first} ${second}` : first, commands), asked: true };
}

/** The first word of a family, without a second one. */
function parseFamily(family: string, rest: readonly string[], commands: readonly CommandSpec[]): CommandLine {
  if (rest.some((arg) => arg === "--help" || arg === "-h")) return { kind: "help", family, asked: true };
  const members = commands.flatMap(({ name }) =>
    name.startsWith(`${family} `) ? [name.slice(family.length + 1)] : [],
  );
  throw new UserError("USAGE", `"${family}" needs to know what to do: ${members.join(", ")}`, {
    hint: `Run \`rota help ${family}\` to see what each is for.`,
  });
}

/** Counts and spans are numbers by now. */
type Value = string | number | true;

interface Typed {
  readonly arguments: string[];
  readonly values: Map<string, Value>;
  readonly lists: Map<string, string[]>;
  help: boolean;
}

/** The command whose options are read, or nothing yet. */
type Reading = Pick<CommandSpec, "options"> & Partial<Pick<CommandSpec, "name">>;

function readTokens(args: readonly string[], command: Reading): Typed {
  const specs: Readonly<Record<string, OptionSpec>> = { ...command.options, help: HELP };
  const { tokens } = parseArgs({
    args: [...args],
    options: Object.fromEntries(Object.entries(specs).map(([name, spec]) => [name, toParseArgs(spec)])),
    allowPositionals: true,
    strict: false,
    tokens: true,
  });
  const typed: Typed = { arguments: [], values: new Map(), lists: new Map(), help: false };
  for (const token of tokens) {
    if (token.kind === "option-terminator") continue;
    if (token.kind === "positional") typed.arguments.push(token.value);
    else if (token.name === "help") typed.help = true;
    else take(typed, token.name, readValue(token, specs, command), specs);
  }
  return typed;
}

/** The last value counts, unless the option takes several. */
function take(typed: Typed, name: string, value: Value, specs: Readonly<Record<string, OptionSpec>>): void {
  if (specs[name]?.many !== true) typed.values.set(name, value);
  else typed.lists.set(name, [...(typed.lists.get(name) ?? []), String(value)]);
}

const toParseArgs = ({ kind, short }: OptionSpec) => ({
  type: kind === "flag" ? ("boolean" as const) : ("string" as const),
  ...(short !== undefined && { short }),
});

interface OptionToken {
  readonly name: string;
  readonly rawName: string;
  readonly value: string | undefined;
  readonly inlineValue: boolean | undefined;
}

function readValue(token: OptionToken, specs: Readonly<Record<string, OptionSpec>>, command: Reading): Value {
  const spec = Object.hasOwn(specs, token.name) ? specs[token.name] : undefined;
  if (spec === undefined) throw unknownOption(token.rawName, specs, command);
  const option = token.rawName;
  if (spec.kind === "flag") {
    if (token.value !== undefined) throw usage(`${option} takes no value, but was given "${token.value}"`, command);
    return true;
  }
  const { value } = token;
  const name = spec.value ?? "VALUE";
  if (value === undefined) throw usage(`${option} needs a value: ${option} ${name}`, command);
  // A word that looks like an option, in the place of a value, means that the value was forgotten.
  if (token.inlineValue !== true && /^-./.test(value) && !/^-\d/.test(value)) {
    throw usage(
      `${option} needs a value, but "${value}" follows it. If that is the value, write ${option}=${value}`,
      command,
    );
  }
  // No folder has an empty name: a variable in the command was not set, and the current directory is not what was meant.
  if (value === "" && spec.completes === "folder") throw usage(`${option} needs a value: ${option} ${name}`, command);
  if (spec.kind === "count") return readCount(option, value, command);
  if (spec.kind === "span") return readSpan(option, value, command);
  if (spec.choices !== undefined && !spec.choices.includes(value)) {
    const near = closest(value, spec.choices);
    const hint = near === undefined ? "" : `. Did you mean "${near}"?`;
    throw usage(`${option} must be one of ${spec.choices.join(", ")}, not "${value}"${hint}`, command);
  }
  return value;
}

function readCount(option: string, value: string, command: Reading): number {
  const count = Number(value);
  if (!/^\d+$/.test(value) || !Number.isSafeInteger(count)) {
    throw usage(`${option} must be a whole number, not "${value}"`, command);
  }
  return count;
}

function readSpan(option: string, value: string, command: Reading): number {
  const span = parseDuration(value);
  if (span === undefined) throw usage(`${option} must be a span of time such as 90s or 1h30m, not "${value}"`, command);
  return span;
}

function checkArguments(given: readonly string[], command: CommandSpec): void {
  const missing = command.arguments.find(({ required }, index) => required && given[index] === undefined);
  if (missing !== undefined) throw usage(`${missing.name} is missing: ${missing.describe}`, command);
  const extra = command.arguments.at(-1)?.many === true ? undefined : given[command.arguments.length];
  if (extra !== undefined) throw usage(`"${extra}" is one argument too many`, command);
  for (const [index, { choices, name }] of command.arguments.entries()) {
    const value = given[index];
    if (choices === undefined || value === undefined || choices.includes(value)) continue;
    const near = closest(value, choices);
    const hint = near === undefined ? "" : `. Did you mean "${near}"?`;
    throw usage(`${name} must be one of ${choices.join(", ")}, not "${value}"${hint}`, command);
  }
}

function inputOf({ arguments: given, values, lists }: Typed): Input {
  return {
    arguments: given,
    flag: (name) => values.get(name) === true,
    text: (name) => values.get(name) as string | undefined,
    texts: (name) => lists.get(name) ?? [],
    count: (name) => values.get(name) as number | undefined,
    span: (name) => values.get(name) as Millis | undefined,
  };
}

function unknownOption(raw: string, specs: Readonly<Record<string, OptionSpec>>, command: Reading): UserError {
  const word = raw.replace(/^-+/, "").split("=", 1)[0] as string;
  const near = raw.startsWith("--") ? (meantOption(word, specs) ?? closest(word, Object.keys(specs))) : undefined;
  return usage(`${raw} is not an option here${near === undefined ? "" : `. Did you mean --${near}?`}`, command);
}

function meantOption(word: string, specs: Readonly<Record<string, OptionSpec>>): string | undefined {
  const meant = Object.hasOwn(OPTION_WORDS, word) ? OPTION_WORDS[word] : undefined;
  return meant !== undefined && Object.hasOwn(specs, meant) ? meant : undefined;
}

function usage(message: string, { name }: Partial<Reading> = {}): UserError {
  if (name === undefined) return new UserError("USAGE", message);
  return new UserError("USAGE", `${name}: ${message}`, { hint: `Run \`rota help ${name}\` to see how it is used.` });
}
