/** The short texts of a plan that have a meaning of their own: ids, durations, amounts, paths, words. */

import { parseBytes } from "../../domain/amounts/size.ts";
import { ID_LENGTH_MAX, isId, type TaskId, taskId } from "../../domain/ids.ts";
import { normalizePath, PATH_LENGTH_MAX } from "../../domain/paths.ts";
import type { Rate } from "../../domain/spec.ts";
import { formatDuration, type Millis, millis, parseDuration } from "../../domain/time.ts";
import { integer, number, type Schema, string, text, union } from "../../std/schema.ts";
import type { KeyRule } from "../../std/schema-maps.ts";

const ID_PATTERN = `^[A-Za-z0-9_][A-Za-z0-9._-]{0,${ID_LENGTH_MAX - 1}}$`;
const ID_EXPECTS = `letters, digits, ".", "_" and "-", at most ${ID_LENGTH_MAX}, not starting with "." or "-"`;

export const idRule: KeyRule = { accepts: isId, expects: ID_EXPECTS, pattern: ID_PATTERN, code: "id" };

export const id: Schema<TaskId> = text({
  expects: "the id of a task",
  parse: (raw) => (isId(raw) ? taskId(raw) : undefined),
  json: { pattern: ID_PATTERN },
  code: "id",
});

/** A word that several plans or tasks can agree on. */
export const name: Schema<string> = text({
  expects: "a name",
  rules: ID_EXPECTS,
  parse: (raw) => (isId(raw) ? raw : undefined),
  json: { pattern: ID_PATTERN },
});

/** What a name must not contain: control characters, and marks that turn the direction of the text around them. */
const UNSEEN = /[\p{Cc}\u2028-\u202e\u2066-\u2069]/u;

/** Text that is shown to people on one line. */
export const line = (max: number): Schema<string> =>
  text({
    expects: "text",
    rules: `one line of 1 to ${max} characters that can be seen`,
    parse: (raw) => (raw !== "" && raw.length <= max && !UNSEEN.test(raw) && raw.isWellFormed() ? raw : undefined),
    json: { minLength: 1, maxLength: max },
  });

const DURATION_PATTERN = "^(\\d+(\\.\\d+)?(ms|s|m|h|d))+$";

/** A span of time of at least `min`. */
export const duration = (min: Millis = millis(0)): Schema<Millis> =>
  text({
    expects: `a duration${min > 0 ? ` of at least ${formatDuration(min)}` : ""} such as 250ms, 90s or 1h30m`,
    parse: (raw) => {
      const span = parseDuration(raw);
      return span !== undefined && span >= min ? span : undefined;
    },
    json: { pattern: DURATION_PATTERN },
    hint: withUnit,
  });

function withUnit(value: unknown): string {
  const count = String(value);
  if (!/^\d{1,9}$/.test(count)) return "Write a number and a unit, such as 250ms, 90s, 5m or 1h30m; at most 366d.";
  return `Add the unit: ${count}s, ${count}m, or ${count}ms.`;
}

export const bytes: Schema<number> = text({
  expects: "a size such as 512MiB or 4GiB",
  parse: (raw) => parseBytes(raw),
  json: { pattern: "^\\d+(\\.\\d+)?([KMGT]i?)?B$" },
  hint: "Write a number and a unit, such as 512MiB, 4GiB or 2GB.",
});

const CORES_MAX = 1_000_000;
const MILLICORES = /^(\d{1,10})m$/;

/** Cores, as thousandths: `2`, `0.5` and `250m` are 2000, 500 and 250. */
export const cores: Schema<number> = union(
  number({ min: 0, max: CORES_MAX })
    .where(isThousandths, "a number of cores in steps of 0.001")
    .map((cores) => Math.round(cores * 1000)),
  text({
    expects: "thousandths of a core such as 250m",
    parse: (raw) => {
      const match = MILLICORES.exec(raw);
      const found = match === null ? Number.NaN : Number(match[1]);
      return found <= CORES_MAX * 1000 ? found : undefined;
    },
    json: { pattern: "^\\d{1,10}m$" },
  }),
);

/** Sums such as 0.1 + 0.2 are not exact, and count as the number they are meant to be. */
function isThousandths(cores: number): boolean {
  return Math.abs(cores * 1000 - Math.round(cores * 1000)) < 1e-6;
}

const COUNT = /^(\d{1,16}(?:\.\d{1,9})?)([kM]?)$/;
const COUNT_PATTERN = "\\d+(\\.\\d+)?[kM]?";
const COUNT_UNITS: Readonly<Record<string, number>> = { "": 1, k: 1_000, M: 1_000_000 };

/** Reads `30k` and `1.5M`. Nothing when that is not a whole number. */
function parseCount(raw: string): number | undefined {
  const match = COUNT.exec(raw);
  if (match === null) return undefined;
  const exact = Number(match[1]) * (COUNT_UNITS[match[2] as string] as number);
  const whole = Math.round(exact);
  return Number.isSafeInteger(whole) && Math.abs(exact - whole) < 1e-6 ? whole : undefined;
}

const countText: Schema<number> = text({
  expects: "a count such as 30k or 1M",
  parse: parseCount,
  json: { pattern: `^${COUNT_PATTERN}$` },
});

/** Whole slots of something: `2`, or `30k`. */
export const count: Schema<number> = union(integer({ min: 0 }), countText);

const RATE = /^([^/]+)\/(s|min|h|d)$/;
const RATE_UNITS: Readonly<Record<string, Millis>> = {
  s: millis(1_000),
  min: millis(60_000),
  h: millis(3_600_000),
  d: millis(86_400_000),
};

/** A capacity of the plan's own: slots, or a rate such as `400k/min`. */
export const capacity: Schema<number | Rate> = union(
  integer({ min: 0 }),
  text<number | Rate>({
    expects: "a count such as 30k or a rate such as 400k/min",
    parse: (raw) => {
      const match = RATE.exec(raw);
      if (match === null) return parseCount(raw);
      const amount = parseCount(match[1] as string);
      return amount === undefined || amount === 0
        ? undefined
        : { amount, per: RATE_UNITS[match[2] as string] as Millis };
    },
    json: { pattern: `^${COUNT_PATTERN}(/(s|min|h|d))?$` },
  }),
);

/** A path, prefix or glob inside the plan's directory. */
export const path: Schema<string> = text({
  expects: "a path inside the plan's directory",
  parse: normalizePath,
  json: { minLength: 1, maxLength: PATH_LENGTH_MAX },
  hint: "Write it with `/`, relative to the plan's directory, without leaving it by `..`.",
});

/** Where a command runs: inside the plan's directory, or any absolute path. */
export const directory: Schema<string> = text({
  expects: "a directory inside the plan's directory, or an absolute path",
  // Kept as it is written: other paths are only compared, but this one must be found on the disk.
  parse: (raw) => (normalizePath(raw.startsWith("/") ? `.${raw}` : raw) === undefined ? undefined : raw),
  json: { minLength: 1, maxLength: PATH_LENGTH_MAX },
  hint: "Write it with `/`; a relative one may not leave the plan's directory by `..`.",
});

const WORD = /^[A-Za-z0-9_][A-Za-z0-9._:/@+-]{0,127}$/;

/** A capability that a worker must have. */
export const capability: Schema<string> = text({
  expects: "a word such as gpu or node:24",
  parse: (raw) => (WORD.test(raw) ? raw : undefined),
  json: { pattern: WORD.source },
});

export const labelRule: KeyRule = { accepts: (key) => WORD.test(key), expects: "a word", pattern: WORD.source };

const ENV_NAME = /^[A-Za-z_][A-Za-z0-9_]{0,255}$/;
/** Every process of a task gets these; a value that the plan sets would be overwritten. */
const ENV_OWN = new Set(["ROTA_RUN", "ROTA_TASK", "ROTA_ATTEMPT", "ROTA_FENCE"]);

export const envRule: KeyRule = {
  accepts: (key) => ENV_NAME.test(key) && !ENV_OWN.has(key),
  expects: "a name of letters, digits and _, and none that Rota sets itself",
  pattern: ENV_NAME.source,
};
export const envName: Schema<string> = text({
  expects: "the name of an environment variable",
  parse: (raw) => (ENV_NAME.test(raw) ? raw : undefined),
  json: { pattern: ENV_NAME.source },
});

/** The longest single argument that Linux takes. */
export const ARGUMENT_MAX = 131_071;
export const argument: Schema<string> = string({ max: ARGUMENT_MAX });
