/** `rota status --watch`: the same screen again whenever something has changed, until nothing more will come; for programs a line of JSON each time. */
import type { Reader } from "../../../app/look/reader.ts";
import { changes } from "../../../app/look/watch.ts";
import { UserError } from "../../../domain/errors.ts";
import { millis } from "../../../domain/time.ts";
import { plural } from "../../../views/text/moment.ts";
import type { Context } from "../../frame/command.ts";
import { pollInterval } from "../../frame/poll.ts";
import { openScreen } from "../../frame/screen.ts";

/** Ages are shown in seconds. */
const REDRAW = millis(1_000);
/** After a look at a very large run, the processor is left to others for this many times as long. */
const REST = 4;
const EXIT_INTERRUPTED = 130;

export interface Watched {
  /** The text, or for programs the line of JSON, as it would be printed now. */
  readonly show: () => Promise<string>;
  /** Whether nothing more will come by itself. */
  readonly isOver: () => Promise<boolean>;
  readonly json: boolean;
}

export async function watch(
  reader: Pick<Reader, "state" | "store">,
  watched: Watched,
  context: Context,
): Promise<number> {
  const { terminal } = context;
  if (!watched.json && !terminal.interactive) throw noTerminal();
  const interrupted = new AbortController();
  const interrupt = (): void => interrupted.abort();
  process.once("SIGINT", interrupt).once("SIGTERM", interrupt).once("SIGHUP", interrupt);
  const signal = AbortSignal.any([terminal.gone, interrupted.signal]);
  const follow = watched.json ? followLines : followOnScreen;
  try {
    await follow(reader, watched, context, signal);
  } finally {
    process.off("SIGINT", interrupt).off("SIGTERM", interrupt).off("SIGHUP", interrupt);
  }
  return interrupted.signal.aborted ? EXIT_INTERRUPTED : 0;
}

type Follow = (
  reader: Pick<Reader, "state" | "store">,
  watched: Watched,
  context: Context,
  signal: AbortSignal,
) => Promise<void>;

/** A line for each state of the ledger that was seen, and none twice. */
const followLines: Follow = async ({ state, store }, { show, isOver }, context, signal) => {
  const { terminal } = context;
  const pollEvery = await pollInterval(context);
  let seen = -1;
  for await (const _ of changes([state.root], { signal, pollEvery, rest: REST })) {
    // Checked before the look: then the last line includes everything that was written before the end.
    const [over, now] = [await isOver(), await store.lastSeq()];
    if (now !== seen) terminal.out(await show());
    seen = now;
    if (over) return;
    await terminal.flush();
  }
};

const followOnScreen: Follow = async ({ state }, { show, isOver }, { terminal }, signal) => {
  let text = "";
  const draw = (): void => screen.draw(fitted(text.trimEnd().split("\n"), terminal.rows));
  const screen = openScreen(terminal, draw);
  try {
    for await (const _ of changes([state.root], { signal, pollEvery: REDRAW, rest: REST })) {
      const over = await isOver();
      text = await show();
      if (over) break;
      draw();
    }
  } finally {
    screen.close();
    terminal.out(text);
  }
};

/** Says how many lines do not fit. */
function fitted(lines: readonly string[], rows: number): readonly string[] {
  if (lines.length <= rows) return lines;
  const shown = lines.slice(0, Math.max(0, rows - 1));
  return [...shown, `and ${plural(lines.length - shown.length, "more line")}`];
}

const noTerminal = (): UserError =>
  new UserError("USAGE", "--watch draws on a terminal, and standard output is none", {
    hint: "With --json it prints a line for each change; `rota events --follow` prints each event.",
  });
