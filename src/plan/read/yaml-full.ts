/**
 * Reads all of YAML 1.2, with the `yaml` package doing the parsing. The step from its nodes to plain values is our own,
 * because that is where a small file becomes a large one: aliases are counted before they are followed, keys keep their
 * text and their order, and keys written twice are found without comparing each with each.
 */
import { type Document, isMap, isScalar, isSeq, type ParsedNode, parseDocument } from "yaml";
import { shorten } from "../../std/problems.ts";
import { err, ok, type Result } from "../../std/result.ts";
import type { Finding } from "../check/diagnostics.ts";
import type { Place } from "./places.ts";
import { duplicateFindings, nestedTooDeeply, type Source, taskKeysOf } from "./source.ts";
import { tooDenseAt } from "./yaml-dense.ts";
import { keyText, YamlValues } from "./yaml-values.ts";

/** The full parser needs about a microsecond per character; more than this would look like a hang. */
const FULL_LENGTH_MAX = 8 * 2 ** 20;
/** One missing bracket causes many faults: only the first few are worth reading. */
const FAULTS_MAX = 10;

export function readFullYaml(text: string): Result<Source, readonly Finding[]> {
  if (text.length > FULL_LENGTH_MAX) {
    const message = `A YAML plan of more than ${FULL_LENGTH_MAX} characters must be plain, and this one is not.`;
    const hint = "Write it as JSON, or without anchors, tags, tabs and values that go on over several lines.";
    return err([{ code: "PLAN_TOO_LARGE", message, spot: { offset: 0 }, hint }]);
  }
  const dense = tooDenseAt(text);
  if (dense !== undefined) return err([nestedTooDeeply(dense)]);
  const document = parsed(text);
  if (document === undefined) return err([nestedTooDeeply(0)]);
  const faults = [...document.errors, ...document.warnings];
  if (faults.length > 0) return err(faultFindings(faults));
  if (document.contents === null) {
    return err([{ code: "PLAN_EMPTY", message: "The plan is empty.", spot: { offset: 0 } }]);
  }
  return convert(text, document);
}

/** Nothing when the parser, which is recursive, has run out of stack. */
function parsed(text: string): Document.Parsed | undefined {
  try {
    return parseDocument(text, {
      version: "1.2",
      schema: "core",
      merge: false,
      uniqueKeys: false,
      prettyErrors: false,
      // Not "silent": that would let a second document pass unseen. Nothing is printed either way.
      logLevel: "error",
    });
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

function convert(text: string, document: Document.Parsed): Result<Source, readonly Finding[]> {
  const values = new YamlValues();
  const value = values.of(document.contents);
  if (values.fault !== undefined) return err([values.fault]);
  return ok({
    value,
    findings: [...values.findings, ...duplicateFindings(text, values.duplicates)],
    duplicates: values.duplicates,
    taskKeys: taskKeysOf(value, values.orders),
    locate: (places) => {
      const start = document.contents?.range[0] ?? 0;
      places.found(start, start);
      locate(document.contents, places);
    },
  });
}

interface Fault {
  readonly code: string;
  readonly message: string;
  readonly pos: readonly [number, number];
}

function faultFindings(faults: readonly Fault[]): readonly Finding[] {
  const tooDeep = faults.find((fault) => fault.code === "RESOURCE_EXHAUSTION");
  if (tooDeep !== undefined) return [nestedTooDeeply(tooDeep.pos[0])];
  return faults.slice(0, FAULTS_MAX).map(({ code, message, pos: [offset] }) => ({
    code: "PLAN_SYNTAX",
    message:
      code === "MULTIPLE_DOCS" ? "A file holds one plan, but here a second one begins." : `${shorten(message, 160)}.`,
    spot: { offset },
  }));
}

/** Walks only along the places that findings asked for, so its depth is theirs. */
function locate(node: ParsedNode | null, place: Place): void {
  if (isMap<ParsedNode, ParsedNode | null>(node)) {
    for (const { key, value } of node.items) {
      const child = isScalar(key) ? place.child(keyText(key)) : undefined;
      if (child === undefined) continue;
      const keyAt = key.range[0];
      const isEmpty = value === null || (isScalar(value) && value.value === null && value.source === "");
      child.found(keyAt, isEmpty ? keyAt : value.range[0]);
      locate(value, child);
    }
  } else if (isSeq<ParsedNode>(node)) {
    for (const [at, item] of node.items.entries()) {
      const child = place.child(at);
      if (child === undefined) continue;
      child.found(item.range[0], item.range[0]);
      locate(item, child);
    }
  }
}
