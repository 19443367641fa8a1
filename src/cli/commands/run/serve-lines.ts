/** Reports what happens in a scheduler that serves, as lines on standard error: never so many that writing them slows the scheduler down. */
import type { Scheduler } from "../../../app/scheduler.ts";
import type { Event } from "../../../domain/event.ts";
import type { Run, RunNo } from "../../../domain/run.ts";
import { type Instant, later, seconds } from "../../../domain/time.ts";
import { newRun } from "../../../domain/world.ts";
import { passingLine } from "../../../views/status/passing.ts";
import { paint, quiet } from "../../../views/text/line.ts";
import { plural } from "../../../views/text/moment.ts";
import type { Context } from "../../frame/command.ts";
import { themeOf } from "../../frame/theme.ts";

/** More than a person reads in a second. Further lines of that second are only counted. */
export const LINES_A_SECOND = 100;
const SECOND = seconds(1);

export interface Passing {
  /** From here on lines are written; earlier lines are kept until then. */
  begin(): void;
  close(): void;
}

type Watched = Pick<Scheduler, "clock"> & { readonly engine: Pick<Scheduler["engine"], "listen" | "world"> };

export function sayWhatPasses(
  { engine, clock }: Watched,
  { terminal, env }: Pick<Context, "terminal" | "env">,
): Passing {
  const theme = { ...themeOf({ terminal, env }), color: terminal.errColor };
  // The engine forgets a run that has ended before its end is reported here.
  const runs = new Map<RunNo, Run>(engine.world.runs);
  let lines: string[] = [];
  let state: "kept" | "idle" | "writing" = "kept";
  let second: { readonly until: Instant; said: number; leftOut: number } = { until: clock.now(), said: 0, leftOut: 0 };
  let timer: ReturnType<Scheduler["clock"]["at"]> | undefined;

  const write = async (): Promise<void> => {
    if (state !== "idle" || lines.length === 0) return;
    state = "writing";
    const text = lines.map((line) => `${line}\n`).join("");
    lines = [];
    terminal.err(text);
    // A reader that has stopped reading gets no further lines until it has read the last ones.
    await terminal.flush();
    state = "idle";
    await write();
  };

  /** The limit counts the lines of a second, from the first line on. */
  const nextSecond = (): void => {
    timer = undefined;
    const { leftOut } = second;
    second = { until: later(clock.now(), SECOND), said: 0, leftOut: 0 };
    if (leftOut === 0) return;
    lines.push(paint([quiet(`and ${plural(leftOut, "more event")}`)], theme));
    void write();
  };

  const hear = (events: readonly Event[]): void => {
    if (clock.now() >= second.until) nextSecond();
    for (const event of events) {
      const line = passingLine(event, runOf(event, runs, engine.world.runs), theme.timeZone);
      if (event.kind === "run_finished") runs.delete(event.run);
      if (line === undefined) continue;
      if (second.said === LINES_A_SECOND || lines.length >= LINES_A_SECOND) second.leftOut++;
      else {
        second.said++;
        lines.push(paint(line, theme));
      }
    }
    if (second.leftOut > 0) timer ??= clock.at(second.until, nextSecond);
    void write();
  };

  const stop = engine.listen(hear);
  for (const { manifest } of runs.values()) lines.push(`${manifest.id} is taken up again`);
  return {
    begin: () => {
      state = "idle";
      void write();
    },
    close: () => {
      stop();
      timer?.cancel();
    },
  };
}

function runOf(event: Event, known: Map<RunNo, Run>, there: ReadonlyMap<RunNo, Run>): Run | undefined {
  const run = known.get(event.run) ?? there.get(event.run) ?? submitted(event);
  if (run !== undefined) known.set(event.run, run);
  return run;
}

/** A run whose tasks had all been done before ends in the turn in which it was submitted. */
const submitted = (event: Event): Run | undefined =>
  event.kind === "run_submitted" ? newRun(event.run, event.manifest, event.specs) : undefined;
