/** The live view: a picture of the run, drawn over itself a few times a second while there is something to see. */
import { waitsIn } from "../../../app/look/explain-run.ts";
import { logTail } from "../../../app/look/log-tail.ts";
import { type Forecast, forecast } from "../../../domain/durations/estimate.ts";
import type { Event } from "../../../domain/event.ts";
import type { Task } from "../../../domain/task.ts";
import { type Instant, later, millis } from "../../../domain/time.ts";
import { frame, liveModel } from "../../../views/status/live.ts";
import { type Line, paintAll } from "../../../views/text/line.ts";
import { openScreen } from "../../frame/screen.ts";
import { themeOf } from "../../frame/theme.ts";
import type { Display, GoOn } from "./run-work.ts";

/** Often enough to look alive, seldom enough to cost nothing. */
const REDRAW = millis(100);
/** A walk over the graph, so it is made once a second. */
const FORECAST_EVERY = millis(1_000);
const RECENT_MAX = 32;

export function openLiveView({ scheduler, state, opened, context, config, since }: GoOn): Display {
  const { clock, engine } = scheduler;
  const { terminal } = context;
  const { run } = opened;
  const theme = themeOf(context);
  let recent: readonly Event[] = [];
  let said: string | undefined;
  let question: readonly Line[] = [];
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
    if (said !== undefined) lines.push(...paintAll([[said]], theme, terminal.columns));
    screen.draw(lines);
  };

  let timer: ReturnType<typeof clock.at>;
  const tick = (): void => {
    draw();
    timer = clock.at(later(clock.now(), REDRAW), tick);
  };
  const screen = openScreen(terminal, draw);
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
      screen.close();
    },
  };
}
