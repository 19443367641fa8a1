/** A run as one document, that people can read and that can be taken in again. */
import { type Event, isTaskEvent } from "../../domain/event.ts";
import { type Run, taskOf } from "../../domain/run.ts";
import { type Ended, isTerminal, type Status } from "../../domain/task.ts";
import type { Instant } from "../../domain/time.ts";
import { MANIFEST_FORMAT, type ManifestReply } from "../../wire/replies/manifest.ts";
import { iso } from "../text/moment.ts";
import { outcomeJson } from "./outcome.ts";

export interface ManifestFacts {
  readonly run: Run;
  /** As it would be written. */
  readonly plan: ManifestReply["plan"];
  /** In the order of the ledger. */
  readonly events: readonly Event[];
  /** Of the program that writes it. */
  readonly version: string;
  readonly now: Instant;
}

export function manifestJson({ run, plan, events, version, now }: ManifestFacts): ManifestReply {
  const { manifest, status } = run;
  const { id, submittedAt, directory, file, digest, seed, only, carried, retryOf } = manifest;
  return {
    manifest: MANIFEST_FORMAT,
    rota: version,
    at: iso(now),
    run: {
      id,
      no: run.no,
      state: status.state,
      outcome: status.state === "active" ? null : status.outcome,
      submitted_at: iso(submittedAt),
      ended_at: status.state === "active" ? null : iso(status.at),
      directory,
      file,
      digest,
      seed,
      ...(only !== undefined && { only }),
      ...(carried.length > 0 && { carried: carried.map((no) => taskOf(run, no).spec.id) }),
      ...(retryOf !== undefined && { retry_of: retryOf }),
    },
    plan,
    tasks: standings(run),
    events: events.map((event) => eventEntry(event, run)),
  };
}

/** How each task stands: what a replay of the events must come to as well. */
export const standings = ({ tasks }: Run): ManifestReply["tasks"] =>
  tasks.map(({ spec, status, attempt, failures, expiries }) => ({
    task: spec.id,
    state: status.state,
    attempts: attempt,
    failures,
    expiries,
    ...("outcome" in status && status.outcome !== undefined && { outcome: outcomeJson(status.outcome) }),
    ...(isEnded(status) && { ended_at: iso(status.at) }),
  }));

const isEnded = (status: Status): status is Ended => isTerminal(status.state);

/** As it is in the ledger, with the time and the task in words. Secrets are not in the ledger, and the plan stands above. */
function eventEntry(event: Event, run: Run): Readonly<Record<string, unknown>> {
  const { at, run: no, ...rest } = event.kind === "claimed" ? { ...event, tokenHash: undefined } : event;
  const of = no === run.no ? {} : { of: "scheduler" };
  const task = isTaskEvent(event) ? { task: taskOf(run, event.task).spec.id } : {};
  return { ...rest, at: iso(at), ...of, ...task };
}

/** The document as text: a line for each task and each event, so that it can be looked through and compared. */
export function* manifestLines({ plan, tasks, events, ...head }: ManifestReply): Iterable<string> {
  yield "{\n";
  for (const [key, value] of Object.entries(head)) yield `  ${JSON.stringify(key)}: ${JSON.stringify(value)},\n`;
  const { tasks: written, ...rest } = plan as { readonly tasks: readonly unknown[] };
  yield '  "plan": {\n';
  for (const [key, value] of Object.entries(rest)) yield `    ${JSON.stringify(key)}: ${JSON.stringify(value)},\n`;
  yield* listLines("tasks", written, "    ");
  yield "\n  },\n";
  yield* listLines("tasks", tasks, "  ");
  yield ",\n";
  yield* listLines("events", events, "  ");
  yield "\n}\n";
}

function* listLines(name: string, items: readonly unknown[], indent: string): Iterable<string> {
  yield `${indent}"${name}": [`;
  for (const [at, item] of items.entries()) yield `${at === 0 ? "" : ","}\n${indent}  ${JSON.stringify(item)}`;
  yield `\n${indent}]`;
}
