/** `rota completion SHELL`: a script for the shell, made from the table of commands. */
import { type CommandSpec, FAMILIES, type OptionSpec, type Run } from "./command.ts";

/** The command, for these commands. */
export const completion =
  (commands: readonly CommandSpec[]): Run =>
  async (input, { terminal }) => {
    const shell = input.arguments[0] as keyof typeof SCRIPTS;
    terminal.out(SCRIPTS[shell](commands));
    return 0;
  };

export const SCRIPTS = { bash, zsh, fish } as const satisfies Record<
  string,
  (commands: readonly CommandSpec[]) => string
>;

const HELP: OptionSpec = { kind: "flag", short: "h", describe: "Show how the command is used" };
const allOptions = ({ options }: CommandSpec): readonly (readonly [string, OptionSpec])[] => [
  ...Object.entries(options),
  ["help", HELP],
];
/** The possible first words, each with its meaning. */
export const firstWords = (commands: readonly CommandSpec[]): ReadonlyMap<string, string> =>
  new Map(
    commands.map(({ name, summary }) => {
      const [first = name] = name.split(" ");
      return [first, FAMILIES[first] ?? summary];
    }),
  );
const names = (commands: readonly CommandSpec[]): string => [...firstWords(commands).keys()].join(" ");

/** Commands with a common first word, by that word: their second words with their purposes. */
function families(commands: readonly CommandSpec[]): readonly (readonly [string, readonly CommandSpec[]])[] {
  const first = [...firstWords(commands).keys()].filter((word) => Object.hasOwn(FAMILIES, word));
  return first.map((word) => [word, commands.filter(({ name }) => name.startsWith(`${word} `))]);
}
const secondWord = ({ name }: CommandSpec): string => name.split(" ")[1] ?? name;

/** What may follow a command that is no option: its fixed words, the commands themselves, or a file. */
function wordsOf(command: CommandSpec, commands: readonly CommandSpec[]): string | undefined {
  if (command.name === "help") return names(commands);
  return command.arguments[0]?.choices?.join(" ");
}
const takesFile = ({ arguments: given }: CommandSpec): boolean => given.some(({ completes }) => completes === "file");

function bash(commands: readonly CommandSpec[]): string {
  const cases = commands.map((command) => {
    const words = allOptions(command).flatMap(([name, { short }]) => [`--${name}`, ...(short ? [`-${short}`] : [])]);
    const values = allOptions(command).flatMap(([name, spec]) => bashValue(name, spec));
    const rest = wordsOf(command, commands);
    const plain = takesFile(command)
      ? "compopt -o default; COMPREPLY=()"
      : `COMPREPLY=($(compgen -W "${rest ?? ""}" -- "$word"))`;
    return [
      `    '${command.name}')`,
      ...(values.length === 0 ? [] : [`      case $previous in`, ...values, `      esac`]),
      `      if [[ $word == -* ]]; then COMPREPLY=($(compgen -W "${words.join(" ")}" -- "$word")); return; fi`,
      `      ${plain} ;;`,
    ].join("\n");
  });
  return `# bash completion for rota. Use it with: eval "$(rota completion bash)"
_rota() {
  local word=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]}
  if (( COMP_CWORD == 1 )); then
    COMPREPLY=($(compgen -W "${names(commands)} --help --version" -- "$word"))
    return
  fi
  local command=\${COMP_WORDS[1]}
  case $command in
${families(commands).map(bashFamily).join("\n")}
  esac
  case $command in
${cases.join("\n")}
  esac
}
complete -F _rota rota
`;
}

/** After the first of two words comes the second. */
const bashFamily = ([word, members]: readonly [string, readonly CommandSpec[]]): string =>
  [
    `    ${word})`,
    `      if (( COMP_CWORD == 2 )); then COMPREPLY=($(compgen -W "${members.map(secondWord).join(" ")}" -- "$word")); return; fi`,
    `      command="$command \${COMP_WORDS[2]}" ;;`,
  ].join("\n");

function bashValue(name: string, { kind, short, choices, completes }: OptionSpec): string[] {
  if (kind === "flag") return [];
  const pattern = short === undefined ? `--${name}` : `--${name}|-${short}`;
  const flag = completes === "folder" ? "-d" : completes === "file" ? "-f" : `-W "${choices?.join(" ") ?? ""}"`;
  return [`        ${pattern}) COMPREPLY=($(compgen ${flag} -- "$word")); return ;;`];
}

function zsh(commands: readonly CommandSpec[]): string {
  const list = Array.from(firstWords(commands), ([word, summary]) => `    '${word}:${zshText(summary)}'`);
  const cases = commands.map((command) => {
    const options = allOptions(command).map(([name, spec]) => `        ${zshOption(name, spec)} \\`);
    const rest = wordsOf(command, commands);
    const argument = takesFile(command) ? "'*:file:_files'" : rest === undefined ? "'*: :'" : `'1: :(${rest})'`;
    return [`      '${command.name}')`, `        _arguments \\`, ...options, `        ${argument} ;;`].join("\n");
  });
  return `#compdef rota
# zsh completion for rota. Put it in your $fpath as _rota, or use: source <(rota completion zsh)
_rota() {
  local -a commands
  commands=(
${list.join("\n")}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
${families(commands).map(zshFamily).join("\n")}
  esac
  case $command in
${cases.join("\n")}
  esac
}
compdef _rota rota
`;
}

const zshFamily = ([word, members]: readonly [string, readonly CommandSpec[]]): string =>
  [
    `    ${word})`,
    `      if (( CURRENT == 2 )); then`,
    `        local -a members`,
    `        members=(${members.map((command) => `'${secondWord(command)}:${zshText(command.summary)}'`).join(" ")})`,
    `        _describe command members`,
    `        return`,
    `      fi`,
    `      command="$command $words[2]"`,
    `      shift words`,
    `      (( CURRENT-- )) ;;`,
  ].join("\n");

function zshOption(name: string, spec: OptionSpec): string {
  const value = spec.kind === "flag" ? "" : `:${(spec.value ?? "value").toLowerCase()}:${zshValue(spec)}`;
  const described = `[${zshText(spec.describe)}]${value}`;
  if (spec.many === true) return `'*--${name}${described}'`;
  return spec.short === undefined
    ? `'--${name}${described}'`
    : `'(-${spec.short} --${name})'{-${spec.short},--${name}}'${described}'`;
}

const zshValue = ({ completes, choices }: OptionSpec): string =>
  completes === "folder"
    ? "_files -/"
    : completes === "file"
      ? "_files"
      : choices === undefined
        ? " "
        : `(${choices.join(" ")})`;
const zshText = (text: string): string => text.replaceAll("'", "'\\''").replaceAll(/[[\]:]/g, "\\$&");

function fish(commands: readonly CommandSpec[]): string {
  const first = Array.from(
    firstWords(commands),
    ([word, summary]) => `complete -c rota -n __fish_use_subcommand -f -a ${word} -d '${fishText(summary)}'`,
  );
  const second = families(commands).flatMap(([word, members]) =>
    members.map(
      (command) =>
        `complete -c rota -n '${fishInside(word)}' -f -a ${secondWord(command)} -d '${fishText(command.summary)}'`,
    ),
  );
  const lines = commands.flatMap((command) => {
    const inside = fishInside(command.name);
    const rest = wordsOf(command, commands);
    return [
      ...(takesFile(command) ? [] : [`complete -c rota -n '${inside}' -f${rest === undefined ? "" : ` -a '${rest}'`}`]),
      ...allOptions(command).map(([name, spec]) => `complete -c rota -n '${inside}' ${fishOption(name, spec)}`),
    ];
  });
  return `# fish completion for rota. Use it with: rota completion fish > ~/.config/fish/completions/rota.fish
${[...first, ...second, ...lines].join("\n")}
`;
}

const fishInside = (name: string): string =>
  name
    .split(" ")
    .map((word) => `__fish_seen_subcommand_from ${word}`)
    .join("; and ");

function fishOption(name: string, { kind, short, describe, completes, choices }: OptionSpec): string {
  const takes =
    kind === "flag"
      ? ""
      : completes === undefined
        ? ` -x${choices === undefined ? "" : ` -a '${choices.join(" ")}'`}`
        : " -r -F";
  return `-l ${name}${short === undefined ? "" : ` -s ${short}`}${takes} -d '${fishText(describe)}'`;
}

const fishText = (text: string): string => text.replaceAll("\\", "\\\\").replaceAll("'", "\\'");
