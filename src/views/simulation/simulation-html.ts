/** A simulation as a page of its own: the figures, the picture, what if, and every task in a table. */
import { formatDuration } from "../../domain/time.ts";
import { escapeMarkup } from "../text/markup.ts";
import { grouped, percent, plural } from "../text/moment.ts";
import { timelinePage } from "../timeline/timeline-html.ts";
import { changeOf, crewPhrase, type SimulationReport, timelineOfSimulation, type VariantReport } from "./simulation.ts";
import {
  boundPhrase,
  capacityPhrase,
  changePhrase,
  closeness,
  overTimePhrase,
  sourcesPhrase,
  stuckPhrase,
} from "./simulation-text.ts";

export function simulationHtml(report: SimulationReport): string {
  return timelinePage(timelineOfSimulation(report), {
    head: `${figures(report)}${whatIf(report)}`,
    all: "rota simulate PLAN --json",
    foot: "Nothing was run: these are the choices of the scheduler on virtual time.",
  });
}

function figures(report: SimulationReport): string {
  const { name, makespan, bound, stalled, tasks, use, resources, sources, overTime } = report;
  const rows: (readonly [string, string])[] = [["Durations", sourcesPhrase(sources)]];
  if (makespan !== undefined && bound !== undefined) {
    rows.unshift(["Lower bound", `${formatDuration(bound.ms)}: ${boundPhrase(bound)} (${closeness(makespan, bound)})`]);
  } else rows.unshift(["Stuck", stuckPhrase(stalled)]);
  if (overTime.length > 0) rows.push(["Time-outs", overTimePhrase(overTime)]);
  rows.push([
    "Use",
    [
      `workers ${asPercent(use)}`,
      ...resources.map((each) => `${each.name} ${asPercent(each.use)} of ${capacityPhrase(each)}`),
    ].join(" · "),
  ]);
  const title =
    makespan === undefined
      ? `${name} cannot be finished: ${grouped(stalled.length)} of ${plural(tasks, "task")} can never start`
      : `${name} would take ${formatDuration(makespan)} on ${crewPhrase(report)}`;
  const body = rows.map(([word, text]) => `<tr><th>${word}</th><td>${escapeMarkup(text)}</td></tr>`);
  return `<h1>${escapeMarkup(title)}</h1>\n<table>\n${body.join("\n")}\n</table>\n`;
}

function whatIf(report: SimulationReport): string {
  if (report.variants.length === 0) return "";
  const rows = [
    variantRow("as it is", report, ""),
    ...report.variants.map((each) => variantRow(each.whatIf, each, changeText(each, report))),
  ];
  return `<h2>What if</h2>
<table>
<thead><tr><th></th><th class="n">Makespan</th><th class="n">Change</th><th class="n">Lower bound</th><th class="n">Use</th></tr></thead>
<tbody>
${rows.join("\n")}
</tbody>
</table>
`;
}

type Figures = Pick<VariantReport, "makespan" | "bound" | "use" | "stalled">;

function variantRow(name: string, { makespan, bound, use, stalled }: Figures, change: string): string {
  const cells =
    makespan === undefined || bound === undefined
      ? `<td colspan="4">never: ${escapeMarkup(stuckPhrase(stalled))}</td>`
      : [formatDuration(makespan), change, formatDuration(bound.ms), asPercent(use)]
          .map((text) => `<td class="n">${text}</td>`)
          .join("");
  return `<tr><td>${escapeMarkup(name)}</td>${cells}</tr>`;
}

function changeText({ makespan }: Figures, base: SimulationReport): string {
  const change = changeOf(makespan, base.makespan);
  return change === undefined ? "" : escapeMarkup(changePhrase(change));
}

const asPercent = (share: number): string => percent(share, 1);
