/** The text of `rota help`, made from the table of commands. */
import { type ArgumentSpec, type CommandSpec, FAMILIES, GROUPS, type OptionSpec } from "./command.ts";
import type { Terminal } from "./terminal.ts";

type Screen = Pick<Terminal, "color" | "columns">;

const COLUMNS_MAX = 100;
const GAP = 2;

/** One command, the commands of a family, or all of them in short. */
export function helpOn(
  subject: CommandSpec | string | undefined,
  commands: readonly CommandSpec[],
  screen: Screen,
): string {
  if (subject === undefined) return overview(commands, screen);
  return typeof subject === "string" ? familyPage(subject, commands, screen) : page(subject, screen);
}

function overview(commands: readonly CommandSpec[], screen: Screen): string {
  const width = Math.max(...commands.map(({ name }) => name.length));
  const sections = GROUPS.flatMap((group) => {
    const members = commands.filter((command) => command.group === group);
    const rows = members.map(({ name, summary }): Row => [name, summary]);
    return members.length === 0 ? [] : [`${heading(group, screen)}\n${table(rows, screen, width)}`];
  });
  return [
    "Rota runs plans: tasks that depend on each other, several at once, each seen to its end.\n",
    `${heading("Usage", screen)}\n  rota COMMAND [ARGUMENTS] [OPTIONS]\n`,
    ...sections,
    "`rota help COMMAND` shows one of them with its options. `rota --version` shows the version.\n",
  ].join("\n");
}

function familyPage(family: string, commands: readonly CommandSpec[], screen: Screen): string {
  const members = commands.filter(({ name }) => name.startsWith(`${family} `));
  return [
    `${FAMILIES[family]}.\n`,
    `${heading("Usage", screen)}\n${members.map((command) => `  ${usageOf(command)}\n`).join("")}`,
    `${heading("Commands", screen)}\n${table(
      members.map(({ name, summary }): Row => [name, summary]),
      screen,
    )}`,
    `\`rota help ${family} COMMAND\` shows one of them with its options.\n`,
  ].join("\n");
}

function page(command: CommandSpec, screen: Screen): string {
  const options = Object.entries(command.options);
  const rows: Row[] = [
    ...options.map(([name, spec]): Row => [optionName(name, spec), describeOption(spec)]),
    ["-h, --help", "Show this page."],
  ];
  const parts = [
    `${command.summary}.\n`,
    `${heading("Usage", screen)}\n  ${usageOf(command)}\n`,
    ...(command.details === undefined ? [] : [`${wrap(command.details, widthOf(screen)).join("\n")}\n`]),
    ...(command.arguments.length === 0
      ? []
      : [`${heading("Arguments", screen)}\n${table(command.arguments.map(argumentRow), screen)}`]),
    `${heading("Options", screen)}\n${table(rows, screen)}`,
    ...(command.examples.length === 0
      ? []
      : [`${heading("Examples", screen)}\n${command.examples.map((line) => `  ${line}\n`).join("")}`]),
  ];
  return parts.join("\n");
}

/** `rota logs TASK [OPTIONS]` */
export const usageOf = ({ name, arguments: given }: CommandSpec): string =>
  ["rota", name, ...given.map(argumentName), "[OPTIONS]"].join(" ");

function argumentName({ name, required, many }: ArgumentSpec): string {
  const word = many === true ? `${name}...` : name;
  return required ? word : `[${word}]`;
}

const VALUE_NAMES = { count: "N", span: "TIME", text: "TEXT" } as const;

export function optionName(name: string, { kind, value, short }: OptionSpec): string {
  const long = kind === "flag" ? `--${name}` : `--${name} ${value ?? VALUE_NAMES[kind]}`;
  return short === undefined ? `    ${long}` : `-${short}, ${long}`;
}

/** The sentence, with the possible values and the default. */
export function describeOption({ describe, choices, fallback }: OptionSpec): string {
  const notes = [choices?.join(" | "), fallback === undefined ? undefined : `default: ${fallback}`];
  const said = notes.filter((note) => note !== undefined);
  return said.length === 0 ? `${describe}.` : `${describe} (${said.join("; ")}).`;
}

const argumentRow = ({ name, describe, choices }: ArgumentSpec): Row => [
  name,
  choices === undefined ? `${describe}.` : `${describe} (${choices.join(" | ")}).`,
];

type Row = readonly [left: string, right: string];

/** Two columns; the right one is wrapped under itself. */
function table(rows: readonly Row[], screen: Screen, least = 0): string {
  const left = Math.max(least, ...rows.map(([word]) => word.length));
  const indent = GAP + left + GAP;
  return rows
    .map(([word, text]) => {
      const lines = wrap(text, Math.max(20, widthOf(screen) - indent));
      return `${" ".repeat(GAP)}${word.padEnd(left + GAP)}${lines.join(`\n${" ".repeat(indent)}`)}\n`;
    })
    .join("");
}

const widthOf = ({ columns }: Screen): number => Math.min(columns, COLUMNS_MAX);
const heading = (text: string, { color }: Screen): string => (color ? `\u001b[1m${text}\u001b[22m` : text);

function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const paragraph of text.split("\n")) {
    let line = "";
    for (const word of paragraph.split(" ")) {
      if (line !== "" && line.length + 1 + word.length > width) {
        lines.push(line);
        line = word;
      } else line = line === "" ? word : `${line} ${word}`;
    }
    lines.push(line);
  }
  return lines;
}
