/** From an opened run to an exit code: shows it, handles interruptions, and reports at the end. */
import type { Scheduler } from "../../../app/scheduler.ts";
import type { Run } from "../../../domain/run.ts";
import { millis } from "../../../domain/time.ts";
import { plural } from "../../../views/text/moment.ts";
import { RunProgress } from "../../../views/timeline/run-progress.ts";
import { openDisplay, showReport } from "./run-display.ts";
import type { Questions } from "./run-questions.ts";
import { openRunServer } from "./run-server.ts";
import type { Display, GoOn } from "./run-work.ts";

const EXIT = { succeeded: 0, failed: 1, stalled: 3, interrupted: 130 } as const;

export async function goOn(work: GoOn): Promise<number> {
  const { scheduler, opened } = work;
  const { engine } = scheduler;
  const { run } = opened;
  const display = openDisplay(work);
  const progress = await courseOf(work);
  const questions = await questionsOf(work, display);
  const stopListening = engine.listen((events) => {
    display.events(events);
    for (const event of events) progress.add(event);
    questions?.look();
  });
  const interrupts = hearInterrupts(scheduler, display);
  const server = openRunServer(work, (text) => display.notice(text));
  try {
    if (opened.how !== "finished") {
      await engine.takeRequests();
      do await engine.idle(run);
      while (await questions?.answered(interrupts.heard));
    }
  } finally {
    questions?.close();
    interrupts.close();
    await server.close();
    stopListening();
    display.close();
  }
  const interrupted = interrupts.count > 0 && run.status.state === "active";
  const older = (await scheduler.store.runs("newest"))[0]?.no !== run.no;
  showReport(work, progress, interrupted, older);
  return interrupted ? EXIT.interrupted : exitCode(run);
}

/** Only where a person sits at the terminal, and the plan has a question. */
async function questionsOf(work: GoOn, display: Display): Promise<Questions | undefined> {
  const { context, json, opened } = work;
  if (!context.terminal.interactive || json || opened.run.tasks.every(({ spec }) => spec.gate === undefined)) return;
  const { openQuestions } = await import("./run-questions.ts");
  return openQuestions(work, display);
}

/** The course from the moment at which this command took the run up; the whole course of a run that had ended already. */
async function courseOf({ scheduler, opened, since }: GoOn): Promise<RunProgress> {
  const { run, how } = opened;
  return how === "finished"
    ? RunProgress.of(run, await scheduler.store.events({ run: run.no }))
    : new RunProgress(run, since);
}

function exitCode({ status }: Run): number {
  if (status.state !== "finished") return EXIT.stalled;
  return status.outcome === "succeeded" ? EXIT.succeeded : EXIT.failed;
}

interface Interrupts {
  readonly count: number;
  /** Aborted by the first interruption. */
  readonly heard: AbortSignal;
  close(): void;
}

/**
 * Once: nothing new is started, running attempts may end. Twice: running attempts are asked to end, and killed after their grace. Three times:
 * killed now. A request to terminate counts as two, because its sender will not ask again.
 */
function hearInterrupts({ engine }: Scheduler, display: Display): Interrupts {
  let count = 0;
  const heard = new AbortController();
  const interrupt = (weight: number) => (): void => {
    count += weight;
    heard.abort();
    const running = plural(engine.live, "running task");
    if (count === 1) {
      engine.pause();
      return display.notice(`Interrupted: nothing new starts. Waiting for ${running}; Ctrl-C again stops them.`);
    }
    const now = count > 2;
    engine.stopAll(now ? millis(0) : undefined);
    if (now) return display.notice(`Killing ${running}.`);
    display.notice(`Stopping ${running}, to begin again when the run is resumed. Ctrl-C again kills at once.`);
  };
  const once = interrupt(1);
  const twice = interrupt(2);
  process.on("SIGINT", once).on("SIGTERM", twice).on("SIGHUP", twice);
  return {
    get count() {
      return count;
    },
    heard: heard.signal,
    close: () => void process.off("SIGINT", once).off("SIGTERM", twice).off("SIGHUP", twice),
  };
}
