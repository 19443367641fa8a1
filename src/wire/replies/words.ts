/** Small shapes that most replies use. */
import { integer, list, Schema, text } from "../../std/schema.ts";
import { record } from "../../std/schema-maps.ts";

/** Any text. */
export const words = () => text({ expects: "text", parse: (raw) => raw });
/** Any JSON value. */
export const anything = () =>
  new Schema<unknown>(
    {
      read: (value) => value,
      json: {},
      expects: "any JSON value",
      types: ["string", "number", "boolean", "list", "map", "empty"],
    },
    "required",
  );
export const time = () => words().describe("ISO 8601.");
export const count = () => integer({ min: 0 });
export const names = () => list(words());
export const texts = () => record({ accepts: () => true, expects: "any name", pattern: "" }, words());

/** Which person asked for something, and why. */
export const asked = { by: words().describe("Who asked for it."), why: words().optional() };
