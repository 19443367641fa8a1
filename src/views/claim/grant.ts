/** A task that was just claimed: what to do, until when, and how to report. For people, and for shell scripts. */

import type { Instant } from "../../domain/time.ts";
import { formatDuration, millis } from "../../domain/time.ts";
import type { Grant, PreviousAttempt } from "../../wire/replies/lease.ts";
import { momentOf } from "../status/workers.ts";
import { type Line, paintSections, quiet, strong, type Theme, table, toned } from "../text/line.ts";
import { timeOfDay } from "../text/moment.ts";
import { neutralize, neutralizeLines } from "../text/text.ts";
import { type CommandWriter, commandLines, plainCommand, shellWord } from "../why/next.ts";

/** The token is only for reports, and not shown. */
export type GrantView = Omit<Grant, "token" | "ttl_ms" | "labels">;

export function grantText(
  grant: GrantView,
  options: { readonly columns: number; readonly now: Instant; readonly command?: CommandWriter },
  theme: Theme,
): string[] {
  const { columns, now, command = plainCommand } = options;
  const { task, run, attempt, priority, title } = grant;
  const head: Line = [...[toned("busy", "●"), " ", strong(task)], quiet(`  attempt ${attempt} · ${priority} · ${run}`)];
  const sections: Line[][] = [
    [head, ...(title === undefined ? [] : [[quiet(`  ${title}`)]])],
    workLines(grant),
    factLines(grant, now, columns, theme),
    commandLines([
      [command(["heartbeat", task]), "keep it for longer"],
      [command(["complete", task, "--summary", "TEXT"]), "say that it is done"],
      [command(["fail", task, "--message", "TEXT"]), "say that it failed"],
      [command(["release", task]), "hand it back undone"],
    ]),
  ];
  // The instructions are never cut.
  return paintSections(sections, theme, Number.POSITIVE_INFINITY);
}

function workLines({ prompt, command }: GrantView): Line[] {
  if (prompt !== undefined) return neutralizeLines(prompt.trimEnd()).split("\n").map(indented);
  return commandText(command).split("\n").map(indented);
}

const indented = (line: string): Line => ["  ", line];
const commandText = (command: GrantView["command"]): string =>
  typeof command === "string" ? command : (command ?? []).map(shellWord).join(" ");

function factLines(grant: GrantView, now: Instant, width: number, { timeZone }: Theme): Line[] {
  const { directory, env, reads, writes, deadline, previous } = grant;
  const end = momentOf(deadline);
  const rows: [string, string][] = [
    ["before", previous === undefined ? "" : previousText(previous)],
    ["directory", directory],
    [
      "env",
      Object.entries(env)
        .map(([name, value]) => `${name}=${shellWord(value)}`)
        .join(" "),
    ],
    ["reads", reads.join(", ")],
    ["writes", writes.join(", ")],
    ["lease", `until ${timeOfDay(end, timeZone)}, in ${formatDuration(millis(Math.max(0, end - now)))}`],
  ];
  const said = rows.filter(([, value]) => value !== "").map(([name, value]): Line[] => [[quiet(name)], [value]]);
  return table(said, { columns: [{}, {}], width });
}

/** How the attempt before ended, so that the next one does not begin as if it were the first. */
export const previousText = ({ attempt, worker, ended, why, note }: PreviousAttempt): string => {
  const end = ended === "retried" ? "failed" : `was ${ended}`;
  return neutralize(
    `attempt ${attempt} by ${worker} ${end}: ${why}${note === undefined ? "" : `; its last word: ${note}`}`,
  );
};

/**
 * Lines that a shell can `eval`. Every variable is set each time, so that no value of an earlier task is left. The token is not among
 * them, because every program that the script starts sees the environment.
 */
export function grantEnv(grant: GrantView, session: string): string {
  const { run, task, attempt, fence, deadline, title, prompt, command, directory, env, previous } = grant;
  const exports = Object.entries(env)
    .filter(([name]) => /^[A-Za-z_]\w*$/.test(name))
    .map(([name, value]) => `export ${name}=${quoted(value)}`);
  const variables: Readonly<Record<string, string>> = {
    ROTA_SESSION: session,
    ROTA_RUN: run,
    ROTA_TASK: task,
    ROTA_ATTEMPT: String(attempt),
    ROTA_FENCE: String(fence),
    ROTA_DEADLINE: deadline,
    ROTA_TITLE: title ?? "",
    ROTA_PROMPT: prompt ?? "",
    ROTA_COMMAND: command === undefined ? "" : [...exports, commandText(command)].join("\n"),
    ROTA_DIRECTORY: directory,
    ROTA_PREVIOUS: previous === undefined ? "" : previousText(previous),
  };
  return Object.entries(variables)
    .map(([name, value]) => `export ${name}=${quoted(value)}\n`)
    .join("");
}

/** In single quotes no character is special to a shell; a null byte cannot be in a variable at all. */
const quoted = (text: string): string => `'${text.replaceAll("\0", "").replaceAll("'", "'\\''")}'`;
