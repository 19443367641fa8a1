/** From the nodes of a YAML document to plain values, with a bound on what aliases may make of them. */
import { isAlias, isScalar, isSeq, type ParsedNode, type Scalar, type YAMLMap, type YAMLSeq } from "yaml";
import { shorten } from "../../std/problems.ts";
import { isMap } from "../../std/schema.ts";
import type { Finding } from "../check/diagnostics.ts";
import { DEPTH_MAX, nestedTooDeeply } from "./source.ts";

/** Aliases may make a document this many times as large as it is written, and any document may have this size. */
const GROWTH_MAX = 10;
const GROWTH_ALWAYS_ALLOWED = 10_000;

type Converted = { readonly value: unknown; readonly size: number };
type MapNode = YAMLMap<ParsedNode, ParsedNode | null>;

export class YamlValues {
  /** What stopped the reading. */
  fault: Finding | undefined;
  /** Other findings. */
  readonly findings: Finding[] = [];
  readonly duplicates: { readonly key: string; readonly offset: number; readonly first: number }[] = [];
  readonly orders = new Map<object, string[]>();
  /** What each anchor stands for; nothing while its own value is still being read. */
  readonly #anchors = new Map<string, Converted | undefined>();
  #depth = 0;
  #written = 0;
  /** Nodes so far, counting what aliases stand for each time they are used. */
  #size = 0;

  of(node: ParsedNode | null): unknown {
    if (this.fault !== undefined) return null;
    if (isAlias(node)) return this.#alias(node.source, node.range[0]);
    this.#written++;
    const sizeBefore = this.#size++;
    const anchor = node?.anchor;
    if (anchor !== undefined) this.#anchors.set(anchor, undefined);
    const value = this.#valueOf(node);
    if (anchor !== undefined) this.#anchors.set(anchor, { value, size: this.#size - sizeBefore });
    return value;
  }

  #valueOf(node: ParsedNode | null): unknown {
    if (isScalar(node)) return this.#scalar(node.value, node.range?.[0] ?? 0);
    if (node === null) return null;
    if (this.#depth >= DEPTH_MAX) {
      this.fault ??= nestedTooDeeply(node.range[0]);
      return null;
    }
    this.#depth++;
    const value = isSeq(node) ? this.#list(node) : this.#map(node as MapNode);
    this.#depth--;
    return value;
  }

  #scalar(value: unknown, offset: number): unknown {
    if (value === null || ["string", "number", "boolean"].includes(typeof value)) return value;
    this.#stop("PLAN_TYPE", "Only text, numbers, true, false, lists and maps are read.", offset);
    return null;
  }

  #list(node: YAMLSeq<ParsedNode>): unknown[] {
    return node.items.map((item) => this.of(item));
  }

  #map(node: MapNode): Record<string, unknown> {
    const map: Record<string, unknown> = {};
    const order: string[] = [];
    const own = new Map<string, number>();
    for (const { key, value } of node.items) {
      const name = this.#key(key);
      if (name === undefined) continue;
      const read = this.of(value);
      if (name === "<<" && isScalar(key) && key.type === "PLAIN") {
        this.#merge(map, order, read, key.range[0]);
        continue;
      }
      const first = own.get(name);
      if (first !== undefined) this.duplicates.push({ key: name, offset: key.range[0], first });
      if (!Object.hasOwn(map, name)) order.push(name);
      own.set(name, first ?? key.range[0]);
      put(map, name, read);
    }
    if (order.some((name) => /^\d/.test(name))) this.orders.set(map, order);
    return map;
  }

  #key(key: ParsedNode): string | undefined {
    if (isScalar(key)) return keyText(key);
    this.findings.push({ code: "PLAN_TYPE", message: "A key must be text.", spot: { offset: key.range[0] } });
    return undefined;
  }

  /** `<<` adds the keys that are not there yet. A key of the map itself wins, whether it comes earlier or later. */
  #merge(map: Record<string, unknown>, order: string[], read: unknown, offset: number): void {
    for (const from of Array.isArray(read) ? read : [read]) {
      if (!isMap(from)) {
        this.findings.push({ code: "PLAN_TYPE", message: "`<<` takes a map, or a list of maps.", spot: { offset } });
        return;
      }
      for (const [name, value] of Object.entries(from)) {
        if (Object.hasOwn(map, name)) continue;
        order.push(name);
        put(map, name, value);
      }
    }
  }

  #alias(name: string, offset: number): unknown {
    const target = this.#anchors.get(name);
    if (target === undefined) {
      const isOpen = this.#anchors.has(name);
      if (isOpen) this.#stop("PLAN_ALIASES", `The alias *${shorten(name)} stands inside what it stands for.`, offset);
      else this.#stop("PLAN_SYNTAX", `There is no anchor &${shorten(name)} before this alias.`, offset);
      return null;
    }
    this.#size += target.size;
    if (this.#size > GROWTH_ALWAYS_ALLOWED + GROWTH_MAX * this.#written) {
      this.#stop(
        "PLAN_ALIASES",
        `Aliases make the plan more than ${GROWTH_MAX} times as large as it is written.`,
        offset,
      );
      return null;
    }
    return target.value;
  }

  #stop(code: Finding["code"], message: string, offset: number): void {
    this.fault ??= { code, message, spot: { offset } };
  }
}

/** A key is its text: `010` and `1.10` are names here, not numbers. */
export const keyText = ({ value, source }: Scalar): string =>
  typeof value === "string" ? value : (source ?? String(value));

/** Assigning to `__proto__` would change what the object is; defining it does not, and the schema then refuses it by name. */
function put(map: Record<string, unknown>, key: string, value: unknown): void {
  if (key === "__proto__")
    Object.defineProperty(map, key, { value, enumerable: true, configurable: true, writable: true });
  else map[key] = value;
}
