/** `npm run bench -- report`: writes the tables of bench/README.md from the results that were saved with `--save`. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Table } from "../peers/present.ts";
import type { Race } from "../processes/race.ts";
import type { Report } from "../rig.ts";

const FOLDER = import.meta.dirname;
const PAGE = join(FOLDER, "../README.md");
const [BEGIN, END] = ["<!-- results: begin -->", "<!-- results: end -->"];

type Saved = Report & { readonly bench: string; readonly takenAt: string };

/** Saved as the formatter of this repository writes it, so that saving changes figures and nothing else. */
export function saveResult(bench: string, report: Report): void {
  const saved: Saved = { bench, takenAt: new Date().toISOString().slice(0, 10), ...report };
  writeFileSync(resultFile(bench), `${JSON.stringify(saved, null, 2)}\n`);
}

export function writeTables(benches: readonly string[]): void {
  const page = readFileSync(PAGE, "utf8");
  const [before] = page.split(BEGIN, 1) as [string];
  const after = page.slice(page.indexOf(END));
  const sections = benches.filter((bench) => existsSync(resultFile(bench))).map((bench) => section(readResult(bench)));
  writeFileSync(PAGE, `${before}${BEGIN}\n\n${sections.join("\n")}\n${after}`);
}

const resultFile = (bench: string): string => join(FOLDER, `${bench}.json`);
const readResult = (bench: string): Saved => JSON.parse(readFileSync(resultFile(bench), "utf8")) as Saved;

function section({ bench, takenAt, machine, goals, results }: Saved): string {
  const where = `Taken on ${takenAt} with Node ${machine.node} on ${machine.cores} × ${machine.cpu}.`;
  const marks = goals.map(({ goal, value, limit, met }) => [goal, value, limit, met ? "met" : "**missed**"]);
  const parts = [
    `### ${bench}`,
    where,
    ...races(results),
    ...own(results),
    table(["goal", "value", "limit", ""], marks),
  ];
  return `${parts.join("\n\n")}\n`;
}

/** The standings of a benchmark that has races. */
function races({ races: all, atOnce }: Report["results"]): readonly string[] {
  return Object.entries((all ?? {}) as Races).map(([name, { tasks, load, standings, ratios }]) => {
    const rows = Object.entries(standings).map(([contender, standing]) =>
      "skipped" in standing
        ? [contender, "", standing.skipped, "", "", ""]
        : [
            contender,
            standing.version,
            standing.wallMsPerTask,
            standing.wallMsPerTaskBest,
            standing.ownMsPerTask ?? "",
            ratios[contender]?.floor ?? "",
          ],
    );
    const title = `**${name}**: ${tasks} tasks, ${String(atOnce)} at a time; load average ${load.before} before, ${load.after} after.`;
    return `${title}\n\n${table(["", "version", "ms a task", "best round", "by its own clock", "÷ floor"], rows)}`;
  });
}

/** The tables that a benchmark has made itself. */
const own = ({ tables }: Report["results"]): readonly string[] =>
  ((tables ?? []) as readonly Table[]).map(({ title, head, rows }) => `${title}\n\n${table(head, rows)}`);

type Races = Readonly<Record<string, Race>>;

const table = (head: readonly string[], rows: readonly (readonly unknown[])[]): string =>
  [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
