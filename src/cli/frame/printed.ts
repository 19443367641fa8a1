/** The one place that writes commands for a person to type: with every option that they need to work from here. */
import { basename, relative, resolve } from "node:path";
import { stateHere, stateOfPlan, stateToSubmit } from "../../app/config/state.ts";
import { type CommandWriter, runWords, shellWord } from "../../views/why/next.ts";
import type { CommandSpec, Input, Reach, Surroundings } from "./command.ts";

export const commandsTo =
  (commands: readonly CommandSpec[], around: Surroundings) =>
  (reach: Reach): CommandWriter =>
  (words, run) => {
    const spec = specOf(commands, words);
    const all = [...words.map(asTyped), ...runWords(words, run), ...optionsFor(spec, words, reach, around)];
    return [programOf(around), ...all.map(shellWord)].join(" ");
  };

/** Rewrites our commands in backticks in a text so that they work as they stand. */
export function withCommands(
  text: string,
  write: CommandWriter,
  filled: Readonly<Record<string, string>> = {},
): string {
  return text.replace(/`rota ([^`]+)`/g, (_, line: string) => {
    const words = line.split(" ").map((word) => filled[word] ?? word);
    return `\`${write(words)}\``;
  });
}

/** The state directory that a command is about, as far as that is known before it begins. */
export function rootMeant(name: string, input: Input, { env, cwd }: Surroundings): string {
  return stateOf(name, input.arguments[0], { flag: input.text("state"), env, cwd }).root;
}

/** The state directory of a command without options. */
export const rootHere = ({ env, cwd }: Surroundings): string => stateHere({ flag: undefined, env, cwd }).root;

/** The meaning of the words in the hints of an error: `TASK` becomes the task of the command. */
export const filledIn = (
  { arguments: specs }: CommandSpec,
  { arguments: given }: Input,
): Readonly<Record<string, string>> =>
  Object.fromEntries(
    specs.flatMap(({ name, many }, at) => (many === true || given[at] === undefined ? [] : [[name, given[at]]])),
  );

/** A plan that came through a pipe has the name `-` in its directory; it has to come through a pipe again. */
const asTyped = (word: string): string => (basename(word) === "-" ? "-" : word);

const programOf = ({ program }: Surroundings): string => (program === undefined ? "rota" : shellWord(program()));

const specOf = (commands: readonly CommandSpec[], [first, second]: readonly string[]): CommandSpec | undefined =>
  commands.find(({ name }) => name === first || name === `${first} ${second}`);

function optionsFor(
  spec: CommandSpec | undefined,
  words: readonly string[],
  { root, socket }: Reach,
  around: Surroundings,
): readonly string[] {
  const options: string[] = [];
  const takes = (option: string): boolean =>
    spec !== undefined && Object.hasOwn(spec.options, option) && !words.includes(`--${option}`);
  if (socket !== undefined && takes("socket")) return ["--socket", pathFrom(around.cwd, socket)];
  if (takes("state") && !isFoundWithout(root, words, around)) options.push("--state", pathFrom(around.cwd, root));
  return options;
}

/** Whether the command would find this state directory by itself, with the present variables and in a shell without them. */
function isFoundWithout(root: string, [name, plan]: readonly string[], { env, cwd }: Surroundings): boolean {
  return [env, {}].every((variables) => {
    const where = { flag: undefined, env: variables, cwd };
    return stateOf(name, plan, where).root === root;
  });
}

function stateOf(name: string | undefined, plan: string | undefined, where: Parameters<typeof stateHere>[0]) {
  if (plan === undefined || plan === "PLAN") return stateHere(where);
  if (name === "run" || name === "simulate") return stateOfPlan(where, resolve(where.cwd, plan));
  return name === "submit" ? stateToSubmit(where, resolve(where.cwd, plan)) : stateHere(where);
}

/** Relative where it lies below, absolute where it does not. */
function pathFrom(cwd: string, path: string): string {
  const short = relative(cwd, path);
  return short === "" ? "." : short.startsWith("..") ? path : short;
}
