/** Finds the route of a request. Paths without parameters, such as the hot ones, take one look in a map. */
import { UserError } from "../domain/errors.ts";
import type { Route } from "../wire/route.ts";
import { ROUTES } from "../wire/routes.ts";
import type { Mount } from "./mount.ts";

export interface Match {
  readonly route: Route;
  readonly params: Readonly<Record<string, string>>;
}

interface Pattern {
  readonly route: Route;
  /** What each part of the path must be; a name stands for any part. */
  readonly parts: readonly (string | { readonly name: string })[];
}

const NONE: Readonly<Record<string, string>> = {};
const PARAM_MAX = 128;

export class Router {
  readonly #mounts: ReadonlyMap<string, Mount>;
  /** By path, then by method. */
  readonly #plain = new Map<string, Map<string, Match>>();
  readonly #patterns: Pattern[] = [];

  constructor(mounts: readonly Mount[] = []) {
    this.#mounts = new Map(mounts.map((mount) => [mount.path, mount]));
    for (const route of Object.values(ROUTES) as Route[]) this.#add(route);
  }

  /** Throws when there is no such path. */
  find(method: string, path: string): Match | Mount {
    const plain = this.#plain.get(path);
    const match = plain?.get(method) ?? this.#findPattern(method, path) ?? this.#findMount(method, path);
    if (match !== undefined) return match;
    const allowed = this.allowed(path);
    if (allowed.length === 0) throw new UserError("ROUTE_UNKNOWN", "There is no such path");
    throw new UserError("METHOD_REFUSED", `This path takes ${allowed.join(", ")}`);
  }

  /** The methods a path has, for the `allow` header. */
  allowed(path: string): readonly string[] {
    const parts = path.split("/");
    const patterns = this.#patterns.filter((pattern) => fits(pattern, parts)).map(({ route }) => route.method);
    return [...(this.#plain.get(path)?.keys() ?? []), ...patterns, ...(this.#mounts.get(path)?.methods ?? [])];
  }

  #add(route: Route): void {
    if (!route.path.includes("{")) {
      const methods = this.#plain.get(route.path) ?? new Map<string, Match>();
      this.#plain.set(route.path, methods.set(route.method, { route, params: NONE }));
      return;
    }
    const parts = route.path.split("/");
    this.#patterns.push({ route, parts: parts.map((part) => (part[0] === "{" ? { name: part.slice(1, -1) } : part)) });
  }

  #findPattern(method: string, path: string): Match | undefined {
    const parts = path.split("/");
    for (const pattern of this.#patterns) {
      if (pattern.route.method === method && fits(pattern, parts)) {
        return { route: pattern.route, params: paramsOf(pattern, parts) };
      }
    }
    return undefined;
  }

  #findMount(method: string, path: string): Mount | undefined {
    const mount = this.#mounts.get(path);
    return mount?.methods.includes(method) === true ? mount : undefined;
  }
}

function fits({ parts }: Pattern, given: readonly string[]): boolean {
  if (parts.length !== given.length) return false;
  return parts.every((part, at) => (typeof part === "string" ? part === given[at] : given[at] !== ""));
}

function paramsOf({ parts }: Pattern, given: readonly string[]): Readonly<Record<string, string>> {
  const params: Record<string, string> = {};
  for (const [at, part] of parts.entries())
    if (typeof part !== "string") params[part.name] = decode(part.name, given[at] ?? "");
  return params;
}

function decode(name: string, written: string): string {
  const refuse = (why: string): never => {
    throw new UserError("REQUEST_INVALID", `{${name}} in the path ${why}`);
  };
  let value: string;
  try {
    value = decodeURIComponent(written);
  } catch {
    return refuse("is not UTF-8 in percent encoding");
  }
  if (value.length > PARAM_MAX) return refuse(`has ${value.length} characters, and may have ${PARAM_MAX}`);
  const control = /\p{Cc}/u.exec(value)?.[0];
  return control === undefined ? value : refuse(`has the control character ${codePoint(control)}, which no name has`);
}

const codePoint = (character: string): string =>
  `U+${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}`;
