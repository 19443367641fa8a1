/** How rates and latencies are shown, and what they are held against. */
import { atMost, type Goal, round } from "../rig.ts";
import type { Latencies, Load, Rates } from "./field.ts";

/** A table of the report, below a line that says what it shows. */
export interface Table {
  readonly title: string;
  readonly head: readonly string[];
  readonly rows: readonly (readonly (string | number)[])[];
}

type Versions = Readonly<Record<string, string>>;

export function rateTable(
  what: string,
  { load, rates, ratios }: Rates,
  versions: Versions,
  leftOut: Readonly<Record<string, string>>,
): Table {
  const rows = Object.entries(rates).map(([name, rate]) =>
    "skipped" in rate
      ? [name, "", `left out: ${rate.skipped}`, "", "", ""]
      : [
          rate.jobs === undefined ? name : `${name} (${rate.jobs} jobs)`,
          versions[name] ?? "",
          rate.perSecond,
          rate.best,
          rate.submitPerSecond,
          ratios[name] ?? "",
        ],
  );
  const others = Object.entries(leftOut).map(([name, reason]) => [name, "", `left out: ${reason}`, "", "", ""]);
  return {
    title: `**${what}**; ${loads(load)}.`,
    head: ["", "version", "done a second", "best round", "submitted a second", "rota ÷ this"],
    rows: [...rows, ...others],
  };
}

export function latencyTable(what: string, { load, latencies }: Latencies, versions: Versions): Table {
  const rows = Object.entries(latencies).map(([name, each]) =>
    "skipped" in each ? [name, "", `left out: ${each.skipped}`, ""] : [name, versions[name] ?? "", each.p50, each.p99],
  );
  return { title: `**${what}**, milliseconds; ${loads(load)}.`, head: ["", "version", "p50", "p99"], rows };
}

export function settingsTable(settings: Readonly<Record<string, unknown>>, versions: Versions): Table {
  const rows = Object.entries(settings).map(([name, value]) => [
    [name, versions[name]].filter((each) => each !== undefined).join(", "),
    `\`${JSON.stringify(value)}\``,
  ]);
  return { title: "**Settings** that are not the defaults.", head: ["", "settings"], rows };
}

/** One goal for the middle and one for the slowest of a hundred, for each peer that took part and is not only shown. */
export const belowEach = (what: string, ours: string, all: Latencies, shown: readonly string[] = []): readonly Goal[] =>
  Object.keys(all.latencies)
    .filter((name) => name !== ours && !shown.includes(name))
    .flatMap((name) => below(what, ours, name, all));

/** The same beside one of them; `alike` says what both promise. */
export const below = (what: string, ours: string, theirs: string, all: Latencies, alike = ""): readonly Goal[] =>
  ratios(what, ours, theirs, all).map(({ ratio, value }) => atMost(`${ratio}${alike}`, value, 1));

/** What is not alike is told all the same, and held against nothing. */
export const ratioTable = (title: string, all: readonly Ratio[]): Table => ({
  title,
  head: ["", "value"],
  rows: all.map(({ ratio, value }) => [ratio, value]),
});

export interface Ratio {
  readonly ratio: string;
  readonly value: number;
}

/** None where one of the two took no part. */
export function ratios(what: string, ours: string, theirs: string, { latencies }: Latencies): readonly Ratio[] {
  const [own, other] = [latencies[ours], latencies[theirs]];
  if (own === undefined || other === undefined || "skipped" in own || "skipped" in other) return [];
  return (["p50", "p99"] as const).map((part) => ({
    ratio: `${what}, ${part}: ${ours} ÷ ${theirs}`,
    value: round(own[part] / other[part]),
  }));
}

const loads = ({ before, after }: Load): string => `load average ${before} before, ${after} after`;
