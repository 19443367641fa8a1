/** The configuration file as a value, with the place of each part. */
import { UserError } from "../../domain/errors.ts";
import { offsetOf, Place, type Position, positionsIn } from "../../plan/read/places.ts";
import { readSource } from "../../plan/read/read.ts";
import type { Blame, Path } from "../../std/problems.ts";

export interface ConfigFile {
  /** The name of the file in messages. */
  readonly name: string;
  readonly value: unknown;
  readonly place: (path: Path, at: Blame) => Position;
}

/** A file of comments only is a configuration that sets nothing. */
export async function readConfigFile(text: string, name: string): Promise<ConfigFile> {
  const positionOf = positionsIn(text);
  const isEmpty = text.replace(/^\s*#.*$/gm, "").trim() === "";
  if (isEmpty) return { name, value: {}, place: () => positionOf(0) };
  const source = await readSource(text, name);
  const findings = source.ok ? source.value.findings : source.error;
  if (!source.ok || findings.length > 0) {
    const lines = findings.map(({ message, spot }) => {
      const { line, column } = positionOf("offset" in spot ? spot.offset : 0);
      return `${name}:${line}:${column}: ${message.replace(/\.$/, "")}`;
    });
    throw new UserError("CONFIG_INVALID", lines.join("\n"));
  }
  const { value } = source.value;
  return {
    name,
    value,
    place(path, at) {
      const root = new Place();
      root.want(path);
      source.value.locate(root);
      return positionOf(offsetOf(root, path, at));
    },
  };
}
