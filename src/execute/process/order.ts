/** What a wrapper is told: a piece of shell that runs one attempt (wrapper.sh). Whole or not at all: cut short it is no sentence of the shell. */
import type { Command } from "../../domain/spec.ts";
import type { Environment } from "./environment.ts";

export interface Order {
  readonly directory: string;
  readonly log: string;
  readonly command: Command;
  readonly cwd: string;
  /** On top of what the wrapper was given at first. */
  readonly env: Environment;
  readonly nice: number;
}

/** The words of a command; a line is for the shell. */
export const argvOf = (command: Command): readonly [string, ...string[]] =>
  "shell" in command ? ["/bin/sh", "-c", command.shell] : command.argv;

export function orderText({ directory, log, command, cwd, env, nice }: Order, odd: Environment): string {
  const prefix = nice === 0 ? [] : ["nice", "-n", String(nice)];
  const unusual = entriesOf({ ...odd, ...env }).filter(([name]) => !isPlain(name));
  if (unusual.length > 0) prefix.push("env", ...unusual.map(([name, value]) => `${name}=${value}`));
  const words = [...prefix, ...argvOf(command)].map(quote).join(" ");
  const enter = [
    `rota_begin ${quote(cwd)}`,
    exportText(env),
    `exec $rota_setsid ${words} </dev/null >>${quote(log)} 2>&1`,
  ];
  const attempt = enter.filter((part) => part !== "").join("; ");
  return `if rota_open ${quote(directory)}; then ( ${attempt} ); rota_close $?; else rota_refuse; fi\n`;
}

/** Gives variables to everything that the shell starts from then on. */
export function exportText(env: Environment): string {
  const plain = entriesOf(env).filter(([name]) => isPlain(name));
  return plain.length === 0 ? "" : `export ${plain.map(([name, value]) => `${name}=${quote(value)}`).join(" ")}`;
}

/** Variables that a shell cannot hold, or that mean something to it: they are given to a command by `env`. */
export const oddOf = (env: Environment): Environment =>
  Object.fromEntries(entriesOf(env).filter(([name]) => !isPlain(name)));

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
const MEANINGFUL =
  /^(?:IFS|PS[0-9]|PPID|UID|EUID|GROUPS|SHLVL|PWD|OLDPWD|OPT(?:IND|ARG|ERR)|LINENO|RANDOM|SECONDS|EPOCH\w+|ENV|CDPATH|MAIL\w*|DIRSTACK|FUNCNAME|HIST\w+|BASH\w*|SHELLOPTS|POSIX\w*|_|rota_\w+)$/;
const isPlain = (name: string): boolean => NAME.test(name) && !MEANINGFUL.test(name);

const entriesOf = (env: Environment): [string, string][] => Object.entries(env);

/** As one word of the shell, whatever it holds but NUL. */
export const quote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
