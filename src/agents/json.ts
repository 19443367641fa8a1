/** Reading JSON that other programs wrote: what is not there, or is of another type, is nothing. */

export type Json = Readonly<Record<string, unknown>>;

/** The object that this line is. Nothing for any other text. */
export function objectIn(line: string): Json | undefined {
  if (!line.trimStart().startsWith("{")) return undefined;
  try {
    return asObject(JSON.parse(line));
  } catch {
    return undefined;
  }
}

export const asObject = (value: unknown): Json | undefined =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Json) : undefined;

export const object = (of: Json | undefined, key: string): Json | undefined => asObject(of?.[key]);

export function text(of: Json | undefined, key: string): string | undefined {
  const value = of?.[key];
  return typeof value === "string" ? value : undefined;
}

export function number(of: Json | undefined, key: string): number | undefined {
  const value = of?.[key];
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

/** The objects in a list. */
export function objects(of: Json | undefined, key: string): readonly Json[] {
  const value = of?.[key];
  return Array.isArray(value) ? value.map(asObject).filter((item) => item !== undefined) : [];
}
