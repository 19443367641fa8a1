/** `--what-if workers=8,claude=3`: the same plan with other workers or resources. */
import { LANE_POLICIES } from "../../decide/queue/lanes.ts";
import { UserError } from "../../domain/errors.ts";
import type { Amounts, Rate, Rates } from "../../domain/spec.ts";
import { bytes, capacity, cores, count } from "../../plan/read/scalars.ts";
import type { SiteSpec } from "../../simulate/simulate.ts";
import { Problems } from "../../std/problems.ts";
import { didYouMean, integer, oneOf, type Schema } from "../../std/schema.ts";
import { SETTINGS } from "../config/settings.ts";

const NODES_MAX = 1_024;
const NODES = integer({ min: 1, max: NODES_MAX });
const SESSIONS = integer({ min: 0, max: 10_000 });
const PRIORITIES = oneOf(LANE_POLICIES);
/** Resources of machines; any other name is a resource of the plan. */
const ON_MACHINES: Readonly<Record<string, Schema<number>>> = { cpu: cores, memory: bytes, gpu: count };

/** The site with the changes. Everything that is not named stays as it is. */
export function readWhatIf(text: string, base: SiteSpec): SiteSpec {
  return text.split(",").reduce((site, part) => {
    const [, key, value] = /^\s*([^=]+?)\s*=\s*(.+?)\s*$/.exec(part) ?? [];
    if (key === undefined || value === undefined) {
      throw new UserError("USAGE", `--what-if ${text}: "${part}" does not say what is to be how much`, {
        hint: `Write it as \`--what-if workers=8\` or \`--what-if workers=8,${Object.keys(base.resources)[0] ?? "cpu"}=2\`.`,
      });
    }
    return change(site, key, value, text);
  }, base);
}

/** `--pool writers=3`: this many sessions in place of one. */
export function withPool(site: SiteSpec, text: string): SiteSpec {
  const [, pool, size] = /^\s*([^=]+?)\s*=\s*(\d+)\s*$/.exec(text) ?? [];
  const known = Object.keys(site.pools);
  if (pool !== undefined && size !== undefined && Object.hasOwn(site.pools, pool))
    return { ...site, pools: { ...site.pools, [pool]: readAs(SESSIONS, pool, size, `--pool ${text}`) } };
  const near = pool === undefined ? undefined : didYouMean(pool, known);
  const what =
    size === undefined ? `"${text}" does not say how many sessions a pool has` : `the plan has no pool "${pool}"`;
  const first = known[0];
  throw new UserError("USAGE", `--pool ${text}: ${what}${near === undefined ? "" : `. ${near}`}`, {
    hint:
      first === undefined
        ? "No task of the plan names a pool: leave the option out."
        : `Its pools are ${known.join(", ")}: write \`--pool ${first}=2\`.`,
  });
}

function change(site: SiteSpec, key: string, value: string, text: string): SiteSpec {
  const read = <T>(schema: Schema<T, "required" | "optional">): T => readAs(schema, key, value, `--what-if ${text}`);
  switch (key) {
    case "workers":
      return { ...site, workers: read(SETTINGS.workers) };
    case "nodes":
      return { ...site, nodes: read(NODES) };
    case "priorities":
      return { ...site, priorities: read(PRIORITIES) };
  }
  const machine = Object.hasOwn(ON_MACHINES, key) ? ON_MACHINES[key] : undefined;
  if (machine !== undefined) return { ...site, capacity: { ...site.capacity, [key]: read(machine) } };
  const pool = /^pool\.(.+)$/.exec(key)?.[1];
  if (pool !== undefined && Object.hasOwn(site.pools, pool))
    return { ...site, pools: { ...site.pools, [pool]: read(SESSIONS) } };
  if (!Object.hasOwn(site.resources, key) && !Object.hasOwn(site.rates, key)) throw unknown(key, site, text);
  return withCapacity(site, key, read(capacity));
}

/** Slots can become a rate, and a rate can become slots. */
function withCapacity(site: SiteSpec, name: string, there: number | Rate): SiteSpec {
  const resources: Amounts = without(site.resources, name);
  const rates: Rates = without(site.rates, name);
  return typeof there === "number"
    ? { ...site, resources: { ...resources, [name]: there }, rates }
    : { ...site, resources, rates: { ...rates, [name]: there } };
}

const without = <T>(all: Readonly<Record<string, T>>, name: string): Readonly<Record<string, T>> =>
  Object.fromEntries(Object.entries(all).filter(([each]) => each !== name));

function readAs<T>(schema: Schema<T, "required" | "optional">, key: string, value: string, text: string): T {
  const problems = new Problems(key);
  const isNumber = schema.types.includes("number") && /^-?\d+(?:\.\d+)?$/.test(value);
  const found = schema.read(isNumber ? Number(value) : value, problems);
  const [problem] = problems.list;
  if (problem === undefined) return found as T;
  throw new UserError("USAGE", `${text}: ${problem.message.replace(/\.$/, "")}`, {
    hint: problem.hint ?? "Give it a value that could be.",
  });
}

function unknown(key: string, { resources, rates, pools }: SiteSpec, text: string): UserError {
  const own = [...Object.keys(resources), ...Object.keys(rates), ...Object.keys(pools).map((pool) => `pool.${pool}`)];
  const known = ["workers", "nodes", "priorities", ...Object.keys(ON_MACHINES), ...own];
  const near = didYouMean(key, known);
  return new UserError(
    "USAGE",
    `--what-if ${text}: the plan has no resource "${key}"${near === undefined ? "" : `. ${near}`}`,
    {
      hint: `It can be: ${known.join(", ")}.`,
    },
  );
}
