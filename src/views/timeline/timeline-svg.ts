/** The timeline as a picture: a row for each worker, a bar for each attempt. It needs no other file and no script, in light and dark. */
import { formatDuration, millis } from "../../domain/time.ts";
import { escapeMarkup, px } from "../text/markup.ts";
import { grouped, percent, plural } from "../text/moment.ts";
import { displayWidth, neutralize, truncate } from "../text/text.ts";
import { ATTEMPT_ENDS, type AttemptEnd } from "./attempt-end.ts";
import { type Mark, marks } from "./axis.ts";
import { type Bar, type Gantt, type Lane, layOut } from "./gantt.ts";
import { beginOf, type Timeline } from "./timeline.ts";

const WIDTH = 1200;
const MARGIN = 24;
const TOP = 92;
const BOTTOM = 40;
const USE_WIDTH = 48;
/** The width of a character in the font of the labels. */
const CHAR_WIDTH = 6.8;

/** `bare`: without a background of its own, to stand in a page. */
export function timelineSvg(timeline: Timeline, { bare = false }: { readonly bare?: boolean } = {}): string {
  const labelWidth = Math.min(
    180,
    timeline.workers.reduce((most, worker) => Math.max(most, Math.ceil(displayWidth(worker) * CHAR_WIDTH) + 1), 40),
  );
  const left = MARGIN + labelWidth + 12;
  const width = WIDTH - left - MARGIN - USE_WIDTH;
  const gantt = layOut(timeline, width);
  const place: Place = { left, width, rowHeight: rowHeightFor(gantt.rows) };
  const height = TOP + Math.max(1, gantt.rows) * place.rowHeight + BOTTOM;
  const title = `${timeline.name}: ${timeline.state}`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${px(height)}" width="${WIDTH}" height="${px(height)}" role="img" aria-label="${escapeMarkup(title)}">`,
    `<title>${escapeMarkup(title)}</title>`,
    `<style>${STYLE}</style>`,
    `<defs><pattern id="again" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect class="again-ground" width="6" height="6"/><rect class="again-stripe" width="3" height="6"/></pattern></defs>`,
    bare ? "" : `<rect class="ground" width="100%" height="100%" rx="8"/>`,
    heading(timeline),
    axis(timeline, place, gantt.rows),
    ...gantt.lanes.map((lane) => laneLabel(lane, place)),
    ...gantt.bars.map((bar) => barMarkup(bar, timeline, place)),
    criticalLine(timeline, gantt, place),
    gantt.rows === 0 ? `<text class="quiet" x="${px(left)}" y="${TOP + 18}">Nothing has started yet.</text>` : "",
    "</svg>",
  ]
    .filter((part) => part !== "")
    .join("\n");
}

interface Place {
  readonly left: number;
  readonly width: number;
  readonly rowHeight: number;
}

/** A few rows are tall enough to be read, and many rows still fit a screen. */
const rowHeightFor = (rows: number): number => (rows <= 16 ? 32 : rows <= 40 ? 22 : rows <= 120 ? 10 : 4);

const END_WORDS: Readonly<Record<AttemptEnd, string>> = {
  succeeded: "succeeded",
  failed: "failed",
  retried: "tried again",
  lost: "lost",
  released: "given back",
  parked: "parked",
  cancelled: "cancelled",
  running: "running",
};

function heading(timeline: Timeline): string {
  const { name, run, state, from, to, tasks, attempts, workers, criticalPath } = timeline;
  const facts = [
    state,
    formatDuration(millis(to - from)),
    plural(tasks, "task"),
    plural(attempts.length, "attempt"),
    plural(workers.length, "worker"),
  ];
  const present = ATTEMPT_ENDS.filter((end) => attempts.some((attempt) => attempt.end === end));
  const legend = present.map((end) => ({ class: `bar ${end}`, word: END_WORDS[end] }));
  if (criticalPath.length > 0) legend.push({ class: "bar none critical", word: "critical path" });
  let x = MARGIN;
  const items = legend.map((item) => {
    const at = x;
    x += 24 + item.word.length * CHAR_WIDTH + 12;
    return `<rect class="${item.class}" x="${px(at)}" y="60" width="14" height="10" rx="2"/><text class="quiet" x="${px(at + 20)}" y="69">${item.word}</text>`;
  });
  return (
    `<text class="name" x="${MARGIN}" y="32">${escapeMarkup(name)}<tspan class="quiet" dx="10">${escapeMarkup(run)} · ${escapeMarkup(facts.join(" · "))}</tspan></text>` +
    items.join("")
  );
}

function axis({ from, to }: Timeline, { left, width, rowHeight }: Place, rows: number): string {
  const span = millis(Math.max(1, to - from));
  const bottom = TOP + Math.max(1, rows) * rowHeight + 4;
  return marks(span, 10)
    .map(({ at, label }: Mark) => {
      const x = px(left + (at / span) * width);
      return `<line class="grid" x1="${x}" y1="${TOP - 6}" x2="${x}" y2="${px(bottom)}"/><text class="tick" x="${x}" y="${px(bottom + 16)}">${label}</text>`;
    })
    .join("");
}

/** Only rows with enough room have a name. */
function laneLabel({ worker, firstRow, rows, use }: Lane, { left, width, rowHeight }: Place): string {
  const y = TOP + (firstRow + rows / 2) * rowHeight;
  const line = `<line class="lane" x1="${px(left)}" y1="${px(TOP + firstRow * rowHeight)}" x2="${px(left + width)}" y2="${px(TOP + firstRow * rowHeight)}"/>`;
  if (rowHeight * rows < 10) return line;
  const name = truncate(neutralize(worker), Math.floor((left - MARGIN - 12) / CHAR_WIDTH));
  return (
    `${line}<text class="worker" x="${px(left - 12)}" y="${px(y + 4)}">${escapeMarkup(name)}</text>` +
    `<text class="quiet" x="${px(left + width + 8)}" y="${px(y + 4)}">${percent(Math.round(use * 1000), 1000)}</text>`
  );
}

function barMarkup(bar: Bar, timeline: Timeline, { left, rowHeight }: Place): string {
  const gap = rowHeight >= 20 ? 4 : rowHeight >= 10 ? 1.5 : 0.5;
  const height = rowHeight - 2 * gap;
  const x = left + bar.x;
  const y = TOP + bar.row * rowHeight + gap;
  const width = Math.max(1, bar.width - (bar.width > 3 ? 1 : 0));
  const radius = Math.min(3, width / 2, height / 2);
  // An outline would hide a narrow bar, so a narrow bar gets a line below it instead.
  const narrow = width < 8 || rowHeight < 20 || bar.count > 1;
  const outline = bar.critical && !narrow ? " critical" : "";
  const underline =
    bar.critical && narrow
      ? `<rect class="underline" x="${px(x)}" y="${px(y + height * 0.75)}" width="${px(width)}" height="${px(height * 0.25)}"/>`
      : "";
  const room = Math.floor((width - 10) / CHAR_WIDTH);
  const shown = rowHeight >= 20 && room >= 3 && bar.count === 1 ? truncate(neutralize(labelOf(bar)), room) : "";
  const text =
    shown === ""
      ? ""
      : `<text class="label" x="${px(x + 6)}" y="${px(y + height / 2 + 4)}">${escapeMarkup(shown)}</text>`;
  return (
    `<g><title>${escapeMarkup(tooltip(bar, timeline))}</title>` +
    `<rect class="bar ${bar.end}${outline}" x="${px(x)}" y="${px(y)}" width="${px(width)}" height="${px(height)}" rx="${px(radius)}"/>${underline}${text}</g>`
  );
}

const labelOf = ({ attempt }: Bar): string =>
  attempt.attempt > 1 ? `${attempt.task} #${attempt.attempt}` : attempt.task;

function tooltip({ attempt, count, end }: Bar, { from, to }: Timeline): string {
  const begin = beginOf(attempt);
  const since = formatDuration(millis(begin - from));
  if (count > 1) return `${grouped(count)} short attempts on ${attempt.worker} from ${since} on`;
  const took = formatDuration(millis((attempt.endedAt ?? to) - begin));
  const how =
    attempt.outcome === undefined || end === "succeeded" ? END_WORDS[end] : `${END_WORDS[end]} (${attempt.outcome})`;
  const called = attempt.title === undefined ? "" : ` (${attempt.title})`;
  return `${attempt.task}${called}, attempt ${attempt.attempt}: ${how} · ${took} from ${since} on · ${attempt.worker}`;
}

/** From the end of each link of the critical path to the beginning of the next. */
function criticalLine({ criticalPath }: Timeline, { bars }: Gantt, { left, rowHeight }: Place): string {
  const last = new Map(bars.filter(({ count }) => count === 1).map((bar) => [bar.attempt.task, bar]));
  const first = new Map(
    bars
      .toReversed()
      .filter(({ count }) => count === 1)
      .map((bar) => [bar.attempt.task, bar]),
  );
  const strokes: string[] = [];
  for (const [at, task] of criticalPath.slice(1).entries()) {
    const before = last.get(criticalPath[at] as typeof task);
    const after = first.get(task);
    if (before === undefined || after === undefined || before.row === after.row) continue;
    const [x1, y1] = [left + before.x + before.width, TOP + (before.row + 0.5) * rowHeight];
    const [x2, y2] = [left + after.x, TOP + (after.row + 0.5) * rowHeight];
    const bend = (x2 - x1) / 2;
    strokes.push(`M${px(x1)} ${px(y1)}C${px(x1 + bend)} ${px(y1)} ${px(x2 - bend)} ${px(y2)} ${px(x2)} ${px(y2)}`);
  }
  return strokes.length === 0 ? "" : `<path class="path" d="${strokes.join("")}"/>`;
}

/** Every rule begins with `svg`, because inside a page the rules of a picture apply to the whole page. */
const STYLE = `
svg{--ground:#fff;--ink:#1f2328;--quiet:#656d76;--grid:#e6eaef;--good:#2a8f4f;--bad:#cf222e;--warn:#b7791f;--busy:#1f6feb;--dull:#8c959f;--path:#8250df;--stripe:#0003}
@media(prefers-color-scheme:dark){svg{--ground:#0d1117;--ink:#e6edf3;--quiet:#8d96a0;--grid:#21262d;--good:#238643;--bad:#da3633;--warn:#9e6a03;--busy:#1f6feb;--dull:#6e7681;--path:#c297ff;--stripe:#0d111766}}
svg text{font:12px ui-sans-serif,system-ui,-apple-system,"Segoe UI",sans-serif;fill:var(--ink)}
svg .name{font-size:18px;font-weight:600}svg .quiet{font-size:12px;font-weight:400;fill:var(--quiet)}
svg .tick{fill:var(--quiet);font-size:11px;text-anchor:middle}svg .worker{text-anchor:end}svg .label{fill:#fff;font-size:11.5px;pointer-events:none}
svg .ground{fill:var(--ground)}svg .grid,svg .lane{stroke:var(--grid)}svg .bar{fill:var(--dull)}
svg .succeeded{fill:var(--good)}svg .failed{fill:var(--bad)}svg .running{fill:var(--busy)}svg .parked{fill:var(--warn)}
svg .retried,svg .lost{fill:url(#again)}svg .again-ground{fill:var(--warn)}svg .again-stripe{fill:var(--stripe)}
svg .none{fill:none}svg .critical{stroke:var(--path);stroke-width:2}svg .underline{fill:var(--path)}svg .path{fill:none;stroke:var(--path);stroke-width:1.5}
`.replaceAll("\n", "");
