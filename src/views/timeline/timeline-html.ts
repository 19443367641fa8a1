/** The timeline as a page of its own: the picture, and every attempt in a table, failures first, to be searched. Nothing is loaded, and one script runs. */
import { formatDuration, type Instant, millis } from "../../domain/time.ts";
import { escapeMarkup } from "../text/markup.ts";
import { grouped, iso } from "../text/moment.ts";
import type { AttemptEnd } from "./attempt-end.ts";
import { SEVERITY } from "./gantt.ts";
import { beginOf, type Timeline, type TimelineAttempt } from "./timeline.ts";
import { timelineSvg } from "./timeline-svg.ts";

/** Longer tables are left to programs, which have `--json`. */
const ROWS_MAX = 10_000;

export const timelineHtml = (timeline: Timeline): string =>
  timelinePage(timeline, {
    head: "",
    all: `rota timeline ${escapeMarkup(timeline.run)} --json`,
    foot: `Times count from ${escapeMarkup(iso(timeline.from))}.`,
  });

/** The parts of a page beside its picture, as markup. */
export interface PageWords {
  /** Above the picture. */
  readonly head: string;
  /** The command that shows every attempt. */
  readonly all: string;
  /** Below the table. */
  readonly foot: string;
}

export function timelinePage(timeline: Timeline, { head, all, foot }: PageWords): string {
  const { name, state, attempts } = timeline;
  const shown = worstFirst(attempts).slice(0, ROWS_MAX);
  const left = attempts.length - shown.length;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src '${SCRIPT_HASH}'; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeMarkup(`${name}: ${state}`)}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
${head}<figure>
${timelineSvg(timeline, { bare: true })}
</figure>
${finder(shown)}
<table>
<thead><tr><th>Task</th><th class="n">Attempt</th><th>Worker</th><th class="n">Began</th><th class="n">Took</th><th>End</th></tr></thead>
<tbody>
${shown.map((attempt) => rowOf(attempt, timeline)).join("\n")}
</tbody>
</table>
${left > 0 ? `<p>${grouped(left)} more attempts are not listed; <code>${all}</code> has them all.</p>\n` : ""}<p>${foot}</p>
</main>
<script>${SCRIPT}</script>
</body>
</html>
`;
}

/** What a reader looks for comes first; what ended alike stays in the order of its claims. */
const worstFirst = (attempts: readonly TimelineAttempt[]): readonly TimelineAttempt[] =>
  SEVERITY.flatMap((end) => attempts.filter((attempt) => attempt.end === end));

/** Shown by the script, because without it nothing would come of it. */
function finder(shown: readonly TimelineAttempt[]): string {
  const counts = Map.groupBy(shown, ({ end }) => end);
  const boxes = Array.from(
    counts,
    ([end, of]: readonly [AttemptEnd, readonly unknown[]]) =>
      `<label><input type="checkbox" value="${end}" checked> <span class="dot ${end}"></span>${end} ${grouped(of.length)}</label>`,
  );
  return `<div id="find" hidden><input type="search" placeholder="Find a task, a worker, a failure" aria-label="Find"> ${boxes.join(" ")} <output></output></div>`;
}

function rowOf(attempt: TimelineAttempt, { from, to }: Timeline): string {
  const since = (at: Instant): string => formatDuration(millis(at - from));
  const begin = beginOf(attempt);
  const took = formatDuration(millis((attempt.endedAt ?? to) - begin));
  const how =
    attempt.outcome === undefined || attempt.end === "succeeded" ? attempt.end : `${attempt.end}: ${attempt.outcome}`;
  const critical = attempt.critical ? ` class="critical"` : "";
  const title = attempt.title === undefined ? "" : ` <small>${escapeMarkup(attempt.title)}</small>`;
  return (
    `<tr data-end="${attempt.end}"${critical}><td>${escapeMarkup(attempt.task)}${title}</td><td class="n">${attempt.attempt}</td><td>${escapeMarkup(attempt.worker)}</td>` +
    `<td class="n">${since(begin)}</td><td class="n">${took}</td><td><span class="dot ${attempt.end}"></span>${escapeMarkup(how)}</td></tr>`
  );
}

/** Hides the rows that hold not every word that was typed, or whose end is not ticked. */
const SCRIPT = `
"use strict";
const find = document.getElementById("find");
const [search, ...boxes] = find.querySelectorAll("input");
const rows = Array.from(document.querySelectorAll("tbody tr"), (row) => ({ row, text: row.textContent.toLowerCase() }));
const look = () => {
  const words = search.value.toLowerCase().split(/\\s+/);
  const ends = new Set(boxes.filter((box) => box.checked).map((box) => box.value));
  let count = 0;
  for (const { row, text } of rows) {
    row.hidden = !ends.has(row.dataset.end) || !words.every((word) => text.includes(word));
    if (!row.hidden) count++;
  }
  find.querySelector("output").textContent = count + " of " + rows.length;
};
find.addEventListener("input", look);
find.hidden = false;
look();
`;
/** Of the script as it stands, so that the page allows no other. */
const SCRIPT_HASH = "sha256-RocrqseKQwu972svvDyZe9/DqEsMGpzDX6iM8lr46OQ=";

const STYLE = `
:root{color-scheme:light dark;--ground:#fff;--ink:#1f2328;--quiet:#656d76;--rule:#e6eaef;--good:#2a8f4f;--bad:#cf222e;--warn:#b7791f;--busy:#1f6feb;--dull:#8c959f;--path:#8250df}
@media(prefers-color-scheme:dark){:root{--ground:#0d1117;--ink:#e6edf3;--quiet:#8d96a0;--rule:#21262d;--good:#2ea043;--bad:#f85149;--warn:#d29922;--busy:#388bfd;--dull:#6e7681;--path:#c297ff}}
body{margin:0;background:var(--ground);color:var(--ink);font:14px/1.5 ui-sans-serif,system-ui,-apple-system,"Segoe UI",sans-serif}
main{max-width:1200px;margin:0 auto;padding:16px 24px 48px}
figure{margin:0 -24px 24px;overflow-x:auto}
figure svg{display:block;max-width:100%;height:auto}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
th{text-align:left;font-weight:600;color:var(--quiet)}
th,td{padding:5px 12px 5px 0;border-bottom:1px solid var(--rule)}
.n{text-align:right}
.critical td:first-child{font-weight:600;color:var(--path)}
.dot{display:inline-block;width:8px;height:8px;border-radius:50%;margin-right:8px;background:var(--dull)}
.dot.succeeded{background:var(--good)}.dot.failed{background:var(--bad)}.dot.running{background:var(--busy)}
.dot.retried,.dot.lost,.dot.parked{background:var(--warn)}
#find{display:flex;flex-wrap:wrap;gap:8px 16px;align-items:center;margin:0 0 12px}#find[hidden]{display:none}
#find input[type=search]{font:inherit;padding:4px 8px;min-width:280px}
small,output,p{color:var(--quiet)}
`.replaceAll("\n", "");
