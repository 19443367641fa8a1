/** What a scheduler of many runs reports while it works: one line for each event that matters to a person. */
import { type Event, isSystemEvent, isTaskEvent, type SystemEvent } from "../../domain/event.ts";
import { type Run, taskOf } from "../../domain/run.ts";
import { isLocalWorker } from "../../domain/spec.ts";
import { eventWords } from "../events/events.ts";
import { systemWords } from "../events/system-events.ts";
import { type Line, quiet, strong, toned } from "../text/line.ts";
import { timeOfDay } from "../text/moment.ts";
import { STATE_SIGNS } from "../text/sign.ts";
import { eventSign } from "./live.ts";

/** `12:03:11 ✔ build 3.1s · plan-7f3a`. Nothing for events that do not matter to a person. `run` is the event's run, if it has one. */
export function passingLine(event: Event, run: Run | undefined, timeZone: string | undefined): Line | undefined {
  const what = isSystemEvent(event) ? systemLine(event, run) : run && runLine(event, run);
  return what && [quiet(timeOfDay(event.at, timeZone)), " ", ...what];
}

function systemLine(event: SystemEvent, run: Run | undefined): Line | undefined {
  // Each scheduler starts its workers, and one line for each of them tells no more than that it serves.
  if (event.kind === "worker_started") return undefined;
  // A session goes from idle to busy and back with every task, and the lines of its tasks show that.
  if (event.kind === "session_changed" && event.state !== "stalled" && event.state !== "quarantined") return undefined;
  const { text, tone } = systemWords(event, run);
  return [toned(tone ?? "quiet", "·"), " ", text];
}

function runLine(event: Exclude<Event, SystemEvent>, run: Run): Line | undefined {
  if (!isTaskEvent(event)) return [strong(run.manifest.id), " ", eventWords(event, run).text];
  const line = claimLine(event, run) ?? eventSign(event, run);
  return line && [...line, quiet(` · ${run.manifest.id}`)];
}

/** A session has claimed a task. The line of a local worker is written when its process has started. */
function claimLine(event: Event, run: Run): Line | undefined {
  if (event.kind !== "claimed" || isLocalWorker(event.worker)) return undefined;
  return [STATE_SIGNS.claimed, " ", taskOf(run, event.task).spec.id, quiet(` claimed by ${event.worker}`)];
}
