/** What a request contains: the query of a GET, the body of a POST. Bodies that are too large are refused before they are stored. */
import { isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";
import { UserError } from "../domain/errors.ts";
import { Problems, shorten } from "../std/problems.ts";
import type { Schema } from "../std/schema.ts";
import type { Fields, ObjectSchema } from "../std/schema-maps.ts";
import type { Route } from "../wire/route.ts";

const NOTHING: Readonly<Record<string, never>> = Object.freeze({});
/** A caller reads no more problems than this in an answer. */
const SHOWN_MAX = 5;

/** Reads a value by the route's schema. All problems are reported at once. */
export function readRequest<T>(schema: Schema<T>, value: unknown): T {
  const problems = new Problems("the request");
  const read = schema.read(value, problems);
  if (read !== undefined && problems.count === 0) return read;
  const shown = problems.list.slice(0, SHOWN_MAX).map(({ message, hint }) => (hint ? `${message} ${hint}` : message));
  const more = problems.count - shown.length;
  throw new UserError("REQUEST_INVALID", [...shown, ...(more > 0 ? [`And ${more} more.`] : [])].join(" "));
}

/** The values of a query are text; the schema says what they stand for. */
export function queryOf(query: string, schema: ObjectSchema<Fields>): unknown {
  if (query === "") return NOTHING;
  const found = new Map<string, unknown>();
  for (const [key, text] of new URLSearchParams(query)) {
    if (found.has(key)) throw new UserError("REQUEST_INVALID", `"${shorten(key)}" stands twice in the query.`);
    found.set(key, meaning(text, Object.hasOwn(schema.fields, key) ? schema.fields[key] : undefined));
  }
  return Object.fromEntries(found);
}

function meaning(text: string, field: Route["request"]["fields"][string] | undefined): unknown {
  if (field?.types.includes("number") === true && /^\d{1,16}$/.test(text)) return Number(text);
  if (field?.types.includes("boolean") === true) return text === "true" ? true : text === "false" ? false : text;
  return text;
}

/** Throws when the headers alone show that the body cannot be accepted. */
export function checkBody({ headers, method }: IncomingMessage, max: number): void {
  const type = headers["content-type"];
  // A page may send other types without asking first; for JSON the browser asks the server first, and is refused.
  if ((method === "POST" || type !== undefined) && !isJson(type)) {
    throw new UserError("NOT_JSON", "The request is not JSON");
  }
  const encoding = headers["content-encoding"];
  if (encoding !== undefined && encoding !== "identity") {
    throw new UserError("NOT_JSON", "The request is compressed, which is not taken");
  }
  if (Number(headers["content-length"] ?? 0) > max) throw tooLarge(max);
}

const JSON_TYPE = "application/json";

function isJson(type: string | undefined): boolean {
  if (type === undefined || type.length > 100) return false;
  return type === JSON_TYPE || type.split(";", 1)[0]?.trim().toLowerCase() === JSON_TYPE;
}

const tooLarge = (max: number): UserError =>
  new UserError("REQUEST_TOO_LARGE", `The request has more than ${max} bytes`);

/** Calls `then` with the parsed body, or `fail`: once either, and neither when the peer goes away first. */
export function takeBody(
  request: IncomingMessage,
  max: number,
  then: (value: unknown) => void,
  fail: (error: unknown) => void,
): void {
  const chunks: Buffer[] = [];
  let size = 0;
  const take = (chunk: Buffer): void => {
    size += chunk.length;
    if (size <= max) return void chunks.push(chunk);
    // The code that refuses the request throws away what still comes.
    chunks.length = 0;
    request.off("data", take).off("end", end);
    fail(tooLarge(max));
  };
  const end = (): void => {
    let value: unknown;
    try {
      value = parse(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, size));
    } catch (error) {
      fail(error);
      return;
    }
    then(value);
  };
  request.on("data", take).once("end", end);
}

function parse(bytes: Buffer): unknown {
  if (bytes.length === 0) return NOTHING;
  if (!isUtf8(bytes)) throw new UserError("NOT_JSON", "The request is not UTF-8");
  try {
    return JSON.parse(bytes.toString("utf8"));
  } catch {
    throw new UserError("NOT_JSON", "The request is not JSON");
  }
}
