/** What a soak has shown, for people and for programs. */

import { formatBytes } from "../../domain/amounts/size.ts";
import { formatDuration, type Millis, millis } from "../../domain/time.ts";
import type { SoakReply } from "../../wire/replies/output.ts";
import { type Line, quiet, strong, table, toned } from "../text/line.ts";
import { plural } from "../text/moment.ts";

interface Spread {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

/** The part of a report that is shown. */
export interface SoakShown {
  readonly campaign: {
    readonly firstSeed: number;
    readonly seeds: number;
    readonly virtual: Millis;
    readonly events: number;
    readonly claims: number;
    readonly tasks: number;
    readonly lost: number;
    readonly wait: Spread;
    readonly claim: Spread;
  };
  readonly took: Millis;
  readonly growth: number;
  readonly memory: number;
  readonly deadlocks: number;
  readonly doubled: number;
  readonly failures: readonly { readonly seed: number; readonly law: string; readonly command: string }[];
  /** The trial with a real daemon that was killed again and again, where that was asked for. */
  readonly real?: RealReport;
}

export interface RealReport {
  readonly kills: number;
  readonly runs: number;
  readonly tasks: number;
  readonly isDrained: boolean;
  /** Every broken law, in sentences. */
  readonly broken: readonly string[];
  /** By how many bytes the last daemon grew from its start to its end. */
  readonly growth: number;
}

/** No law was broken, neither in the simulation nor by the real daemon. */
export const isWhole = ({ failures, real }: SoakShown): boolean =>
  failures.length === 0 && (real === undefined || (real.isDrained && real.broken.length === 0));

export const soakJson = ({ campaign, ...report }: SoakShown): SoakReply => {
  const { failures, took, growth, memory, deadlocks, doubled, real } = report;
  return {
    ok: isWhole({ campaign, ...report }),
    drained: failures.length === 0 && real?.isDrained !== false,
    all_terminal: campaign.lost === 0,
    lost: campaign.lost,
    doubled,
    deadlocks,
    seeds: campaign.seeds,
    first_seed: campaign.firstSeed,
    virtual_ms: campaign.virtual,
    took_ms: took,
    events: campaign.events,
    claims: campaign.claims,
    tasks: campaign.tasks,
    memory_bytes: memory,
    memory_growth_bytes: growth,
    wait_ms: campaign.wait,
    claim_ms: campaign.claim,
    failures,
    ...(real && {
      real: {
        kills: real.kills,
        runs: real.runs,
        tasks: real.tasks,
        drained: real.isDrained,
        memory_growth_bytes: real.growth,
        broken: real.broken,
      },
    }),
  };
};

export function soakText(report: SoakShown): readonly Line[] {
  const { campaign, took, growth, memory, failures, real } = report;
  const { seeds, virtual, tasks, claims, events, lost, firstSeed } = campaign;
  const rows: readonly (readonly [string, string])[] = [
    ["seeds", `${seeds}, from ${firstSeed} on, in ${formatDuration(took)}`],
    ["virtual time", formatDuration(virtual)],
    ["tasks", `${tasks}, given out ${claims} times, ${events} events`],
    ["lost", String(lost)],
    ["doubled", String(report.doubled)],
    ["deadlocks", String(report.deadlocks)],
    ["tasks waited", spreadOf(campaign.wait)],
    ["claims took", spreadOf(campaign.claim)],
    ["memory", `${formatBytes(memory)} (${changeOf(growth)} since it was warm)`],
    ...(real === undefined ? [] : [realRow(real)]),
  ];
  const lines = table(
    rows.map(([name, value]): Line[] => [[strong(name)], [value]]),
    { columns: [{}, {}], width: Number.POSITIVE_INFINITY, indent: 0 },
  );
  const count = failures.length + (isWhole(report) || failures.length > 0 ? 0 : 1);
  const end: Line = count === 0 ? ["Nothing is wrong."] : [toned("bad", `${plural(count, "failure")}.`)];
  const broken = (real?.broken ?? []).map((law): Line => [toned("bad", law)]);
  return [...lines, [], ...failures.flatMap(failureLines), ...broken, end];
}

function realRow({ kills, runs, tasks, isDrained, growth }: RealReport): readonly [string, string] {
  const end = isDrained ? "everything has ended" : "not everything has ended";
  return ["for real", `${plural(kills, "kill")}, ${runs} runs of ${tasks} tasks, ${end}, memory ${changeOf(growth)}`];
}

const changeOf = (bytes: number): string => `${bytes < 0 ? "-" : "+"}${formatBytes(Math.abs(bytes))}`;

const failureLines = ({ seed, law, command }: SoakShown["failures"][number]): readonly Line[] => [
  [toned("bad", `Seed ${seed}: `), law.split("\n")[0] ?? ""],
  [quiet(`  ${command}`)],
];

const spreadOf = ({ p50, p99, max }: Spread): string =>
  `${formatDuration(millis(p50))} p50, ${formatDuration(millis(p99))} p99, ${formatDuration(millis(max))} at most`;
