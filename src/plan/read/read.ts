/** From text to a plain value: JSON or YAML, whichever it is. */
import { err, ok, type Result } from "../../std/result.ts";
import type { Finding } from "../check/diagnostics.ts";
import { type JsonScan, scanJson } from "./json-scan.ts";
import { duplicateFindings, type Source, taskKeysOf } from "./source.ts";
import { type FastYaml, readFastYaml } from "./yaml-fast.ts";

/** Reads the text. The name decides when it ends in `.json`; otherwise what looks like JSON is tried as such first. */
export async function readSource(text: string, file: string): Promise<Result<Source, readonly Finding[]>> {
  const isJson = file.toLowerCase().endsWith(".json");
  if (text.trim() === "") return err([{ code: "PLAN_EMPTY", message: "The plan is empty.", spot: { offset: 0 } }]);
  if (isJson || /^\s*\{/.test(text)) {
    const scan = scanJson(text);
    if (scan.fault === undefined) return ok(jsonSource(text, scan));
    if (isJson) return err([scan.fault]);
  }
  const fast = readFastYaml(text);
  if (fast !== undefined) return ok(fastSource(text, fast));
  // Loaded only here: it takes longer to load than most plans take to read.
  const { readFullYaml } = await import("./yaml-full.ts");
  return readFullYaml(text);
}

function jsonSource(text: string, scan: JsonScan): Source {
  const value = JSON.parse(text) as unknown;
  const keys = taskKeysOf(value);
  // Fewer keys than were written: some were written twice. Numbers: the order is lost. Only then is it worth a second look.
  const isLossy = scan.tasks !== undefined && (scan.tasks.hasNumberKey || scan.tasks.count !== keys.length);
  const { duplicates, tasks } = isLossy ? scanJson(text, { isThorough: true }) : scan;
  return {
    value,
    taskKeys: tasks?.keys ?? keys,
    findings: duplicateFindings(text, duplicates),
    duplicates,
    locate: (places) => {
      scanJson(text, { places });
    },
  };
}

/** Nothing is wrong with the text. */
const fastSource = (text: string, { value, orders }: FastYaml): Source => ({
  value,
  taskKeys: taskKeysOf(value, orders),
  findings: [],
  duplicates: [],
  locate: (places) => void readFastYaml(text, places),
});
