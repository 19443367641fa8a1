/** The live view: a picture of the run, drawn over itself a few times a second while there is something to see. */
import { waitsIn } from "../app/explain-run.ts";
import { logTail } from "../app/log-tail.ts";
import { type Forecast, forecast } from "../domain/estimate.ts";
import type { Event } from "../domain/event.ts";
import type { Task } from "../domain/task.ts";
import { type Instant, later, millis } from "../domain/time.ts";
import { type Line, paintAll } from "../views/line.ts";
import { frame, liveModel } from "../views/live.ts";
import type { Display, GoOn } from "./run-work.ts";
import { themeOf } from "./theme.ts";

/** Often enough to look alive, seldom enough to cost nothing. */
const REDRAW = millis(100);
/** A walk over the graph, so it is made once a second. */
const FORECAST_EVERY = millis(1_000);
const RECENT_MAX = 32;

const HIDE_CURSOR = "\x1b[?25l";
const SHOW_CURSOR = "\x1b[?25h";
/** Everything from here to the end of the screen. */
const CLEAR_BELOW = "\x1b[0J";
const CLEAR_LINE = "\x1b[K";
const up = (lines: number): string => (lines === 0 ? "" : `\x1b[${lines}A`);

export function openScreen({ scheduler, state, opened, context, config, since }: GoOn): Display {
  const { clock, engine } = scheduler;
  const { terminal } = context;
  const { run } = opened;
  const theme = themeOf(context);
  let recent: readonly Event[] = [];
  let said: string | undefined;
  let question: readonly Line[] = [];
  let drawn = 0;
  let guess: { readonly at: Instant; readonly forecast: Forecast | undefined } | undefined;

  const lastLineOf = ({ spec, attempt }: Task): string | undefined =>
    logTail(state.log(run.manifest.id, spec.id, attempt), 1)[0];

  const forecastAt = (now: Instant): Forecast | undefined => {
    if (guess === undefined || now >= later(guess.at, FORECAST_EVERY))
      guess = { at: now, forecast: forecast(run, config.workers, now) };
    return guess.forecast;
  };

  const draw = (): void => {
    const now = clock.now();
    const expected = forecastAt(now);
    const model = liveModel({
      run,
      now,
      since,
      recent,
      lastLineOf,
      waitOf: waitsIn(engine.pools, run, now),
      stopping: said !== undefined,
      ...(expected !== undefined && { forecast: expected }),
    });
    const rows = terminal.rows - (said === undefined ? 0 : 1) - question.length;
    const lines = frame(model, { columns: terminal.columns, rows }, theme);
    lines.push(...paintAll(question, theme, terminal.columns));
    if (said !== undefined) lines.push(said);
    terminal.out(`${up(drawn)}\r${lines.map((line) => `${line}${CLEAR_LINE}\n`).join("")}${CLEAR_BELOW}`);
    drawn = lines.length;
  };

  let timer: ReturnType<typeof clock.at>;
  const tick = (): void => {
    draw();
    timer = clock.at(later(clock.now(), REDRAW), tick);
  };
  terminal.out(HIDE_CURSOR);
  const restore = (): void => terminal.out(SHOW_CURSOR);
  process.once("exit", restore);
  tick();

  return {
    events: (events) => {
      recent = [...recent, ...events].slice(-RECENT_MAX);
    },
    notice: (text) => {
      said = text;
      draw();
    },
    ask: (lines = []) => {
      question = lines;
      draw();
    },
    close: () => {
      timer.cancel();
      process.off("exit", restore);
      terminal.out(`${up(drawn)}\r${CLEAR_BELOW}${SHOW_CURSOR}`);
      drawn = 0;
    },
  };
}
