/** What an agent reads: few words, every number it needs, and never a list without an end. */
import { formatDuration, millis } from "../domain/time.ts";
import { isMap } from "../std/schema.ts";
import { visible } from "../std/visible.ts";
import { previousText } from "../views/claim/grant.ts";
import { plural } from "../views/text/moment.ts";
import { neutralize } from "../views/text/text.ts";
import type { DaemonInfo, Grant, RunSummary } from "../wire/answers.ts";

type Json = Readonly<Record<string, unknown>>;

/** Texts in data that is shown, such as the message of a failure. What an agent must have in full is never cut. */
const TEXT_MAX = 1_000;
/** Deeper than anything that is printed here. */
const DEPTH_MAX = 12;

export function grantText(grant: Grant, session: string, next: string): string {
  const { run, task, attempt, fence, token, title, priority, deadline, ttl_ms, directory, reads, writes } = grant;
  const { previous, command } = grant;
  const head = `Claimed ${task} in run ${run}, attempt ${attempt}, ${priority}${title === undefined ? "" : `: ${neutralize(title)}`}`;
  return [
    head,
    `session: ${session}  fence: ${fence}  token: ${token}`,
    `lease: until ${deadline}, then renewed for ${formatDuration(millis(ttl_ms))} at a time; the work itself may take longer`,
    `directory: ${neutralize(directory)}`,
    ...(reads.length > 0 ? [`reads: ${reads.map(neutralize).join(", ")}`] : []),
    ...(writes.length > 0 ? [`writes: ${writes.map(neutralize).join(", ")}`] : []),
    ...(Object.keys(grant.env).length > 0 ? [`env: ${JSON.stringify(grant.env)}`] : []),
    ...(Object.keys(grant.labels).length > 0 ? [`labels: ${JSON.stringify(grant.labels)}`] : []),
    ...(command === undefined ? [] : [`command: ${JSON.stringify(command)}`]),
    ...(previous === undefined ? [] : [`before: ${previousText(previous)}`]),
    ...(grant.prompt === undefined ? [] : promptLines(grant)),
    next,
  ].join("\n");
}

/** Of a prompt that is in a file, so much is shown. */
const PROMPT_SHOWN = 500;

/**
 * The prompt between two lines that the prompt does not contain, so that no part of it can look like words of this server. Where it is in a file, its
 * beginning.
 */
function promptLines({ prompt = "", prompt_file: file }: Grant): readonly string[] {
  const shown = file === undefined ? prompt : prompt.slice(0, PROMPT_SHOWN);
  const fence = fenceFor(shown);
  const what = "what the plan asks for; nothing in it comes from this server";
  const about =
    file === undefined
      ? `prompt, between the lines ${fence} (${what}):`
      : `prompt_file: ${file} (${Buffer.byteLength(prompt)} bytes, ${what}). Read all of it. It begins, between the lines ${fence}:`;
  return [about, fence, shown, fence];
}

/** A line that the text does not hold. */
function fenceFor(text: string): string {
  let fence = "-----";
  while (text.includes(fence)) fence += "-";
  return fence;
}

/** A grant as data. A prompt that is in a file is not repeated. */
export function grantData({ deadline, prompt, prompt_file: file, ...rest }: Grant): Json {
  const told = file === undefined ? { prompt } : { prompt_file: file, prompt_begins: prompt?.slice(0, PROMPT_SHOWN) };
  return { ...rest, lease_until: deadline, ...(prompt !== undefined && told) };
}

/** The value with what cannot be seen spelt out in every text, so that no text tells a model more than a person who reads it. */
export const visibleIn = (value: unknown): unknown => {
  if (typeof value === "string") return visible(value);
  if (Array.isArray(value)) return value.map(visibleIn);
  if (!isMap(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [visible(key), visibleIn(item)]));
};

export function overviewText(info: DaemonInfo, runs: readonly RunSummary[], shown: readonly RunSummary[]): string {
  const paused = info.paused.map(({ of, pool, run, task, why }) =>
    neutralize(`${of} ${task ?? run ?? pool ?? ""}${why === undefined ? "" : ` (${why})`}`.replace("  ", " ").trim()),
  );
  return [
    `${info.queued} queued, ${info.out} being worked on, ${info.parked} parked; ${plural(info.sessions, "session")}, ${plural(info.workers, "local worker")}; last event ${info.last_seq}`,
    ...(paused.length > 0 ? [`on hold: ${paused.join(", ")}`] : []),
    ...shown.map(
      ({ run, name, state, outcome, tasks }) =>
        `${run} ${neutralize(name)}: ${outcome ?? state}, ${plural(tasks, "task")}`,
    ),
    ...(runs.length > shown.length ? ["and older runs"] : []),
    ...(runs.length === 0 ? ["No runs yet: `submit` a plan."] : ["Look at one with `status` and its `run`."]),
  ].join("\n");
}

/** A run, from what `rota status --json` prints. */
export function statusText(status: unknown): string {
  if (!isMap(status)) return JSON.stringify(status);
  const { tasks, running, waiting, failed } = status;
  const counts = isMap(tasks)
    ? Object.entries(tasks).flatMap(([state, count]) =>
        state !== "total" && count !== 0 ? [`${say(count)} ${state}`] : [],
      )
    : [];
  return [
    `${say(status["run"])} ${say(status["name"])}: ${say(status["state"])}; ${plural(isMap(tasks) ? Number(tasks["total"]) : 0, "task")}${counts.length > 0 ? `: ${counts.join(", ")}` : ""}`,
    ...maps(running).map(
      (task) =>
        `${say(task["state"])} ${say(task["task"])} by ${say(task["worker"])}, attempt ${say(task["attempt"])}${age(task["age_ms"])}`,
    ),
    ...maps(waiting).map(
      (group) =>
        `waiting for ${say(group["reason"])}: ${say(group["count"])} (${maps(group["tasks"])
          .map(({ task }) => say(task))
          .join(", ")})`,
    ),
    ...maps(failed).map(
      (task) => `failed ${say(task["task"])} after ${say(task["attempts"])}: ${JSON.stringify(task["outcome"])}`,
    ),
  ].join("\n");
}

/** A task, from what `rota why --json` prints: the sentence, and the numbers that a next step may hang on. */
export function whyText(why: unknown): string {
  if (!isMap(why)) return JSON.stringify(why);
  const { sentence, title, task, state, failures, attempts_max, gates, roots, unblock, worker, lease_deadline } = why;
  const closed = maps(gates).filter(({ open }) => open === false);
  const waits = maps(roots).map((root) => `${say(root["task"])} (${say(root["state"])})`);
  return [
    sentence === undefined ? `${say(task)} is ${say(state)}.` : say(sentence),
    ...(title === undefined ? [] : [`title: ${say(title)}`]),
    `run ${say(why["run"])}, ${say(why["priority"])} priority, attempt ${say(why["attempt"])}; ${say(failures)} of ${say(attempts_max)} attempts used`,
    ...(worker === undefined ? [] : [`held by ${say(worker)}, lease until ${say(lease_deadline)}`]),
    ...closed.map((gate) => `not yet: ${gateText(gate)}`),
    ...(waits.length === 0 ? [] : [`it hangs on: ${waits.join(", ")}`]),
    ...(isMap(unblock) ? [`expected: ${say(unblock["at"])} (by ${say(unblock["from"])})`] : []),
  ].join("\n");
}

function gateText({ gate, ...numbers }: Json): string {
  const facts = Object.entries(numbers).flatMap(([name, value]) => (name === "open" ? [] : [`${name} ${say(value)}`]));
  return facts.length === 0 ? say(gate) : `${say(gate)} (${facts.join(", ")})`;
}

const age = (ms: unknown): string => (typeof ms === "number" ? `, for ${formatDuration(millis(ms))}` : "");
const say = (value: unknown): string => neutralize(typeof value === "string" ? value : (JSON.stringify(value) ?? "?"));
const maps = (value: unknown): readonly Json[] => (Array.isArray(value) ? value.filter(isMap) : []);

/** The value with no list longer than `max` and no text without end; and where something was left out. */
export function bounded(value: unknown, max: number): { readonly value: unknown; readonly cuts: readonly string[] } {
  const cuts: string[] = [];
  const cut = (part: unknown, path: string, depth: number): unknown => {
    if (typeof part === "string" && part.length > TEXT_MAX) return `${part.slice(0, TEXT_MAX)}…`;
    if (typeof part !== "object" || part === null) return part;
    if (depth > DEPTH_MAX) return "…";
    if (Array.isArray(part)) {
      if (part.length > max) cuts.push(`${path}: ${max} of ${part.length}`);
      return part.slice(0, max).map((item, index) => cut(item, `${path}[${index}]`, depth + 1));
    }
    return Object.fromEntries(
      Object.entries(part).map(([key, item]) => [
        visible(key),
        cut(item, path === "" ? key : `${path}.${key}`, depth + 1),
      ]),
    );
  };
  return { value: cut(value, "", 0), cuts };
}

/** How to get what was left out. Few places are named: there may be as many as lists. */
export const moreText = (cuts: readonly string[]): readonly string[] =>
  cuts.length === 0
    ? []
    : [`Cut: ${cuts.slice(0, 5).join("; ")}${cuts.length > 5 ? "; …" : ""}. Ask with a higher \`limit\` for more.`];
