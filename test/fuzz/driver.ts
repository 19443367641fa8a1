/**
 * Feeds a parser with mutated inputs and holds it to what every parser here promises: it answers, or refuses with an error a person can act on;
 * it takes no more than a second of the processor; and the language is as it was. An input is named by seed and number, so each can be played again alone.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { UserError } from "../../src/domain/errors.ts";
import { type Random, seededRandom } from "../../src/effects/random.ts";
import { mutate } from "./mutate.ts";

export interface Parser {
  readonly name: string;
  /** Well-formed inputs to begin from, beside those in the corpus. */
  readonly seeds: readonly (string | Buffer)[];
  /** Folders of the corpus that serve it too. */
  readonly also?: readonly string[];
  /** Makes an input by its grammar. */
  readonly grow?: (random: Random) => string;
  /** Throws a `UserError`, or nothing. Anything else it throws is a finding: broken promises of its own are thrown as such. */
  readonly run: (input: Buffer, random: Random) => unknown;
}

export interface Finding {
  readonly parser: string;
  readonly seed: number;
  readonly no: number;
  readonly input: Buffer;
  readonly what: string;
}

const CORPUS = new URL("../corpus/", import.meta.url).pathname;
const SLOW_MS = 1_000;

/** The inputs a parser begins from: its own, and those that were kept. */
export function corpusOf({ name, seeds, also = [] }: Parser): readonly Buffer[] {
  const kept = [name, ...also].flatMap((folder) => {
    const path = join(CORPUS, folder);
    if (!existsSync(path)) return [];
    return readdirSync(path, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .sort((a, b) => (a.name < b.name ? -1 : 1))
      .map((entry) => readFileSync(join(entry.parentPath, entry.name)));
  });
  return [...seeds.map((seed) => Buffer.from(seed as string)), ...kept];
}

function inputOf(parser: Parser, corpus: readonly Buffer[], seed: number, no: number): readonly [Buffer, Random] {
  const random = seededRandom((Math.imul(seed, 0x9e3779b1) + no) | 0);
  random.next();
  if (parser.grow !== undefined && random.next() < 0.3) {
    const grown = Buffer.from(parser.grow(random));
    return [random.next() < 0.5 ? grown : mutate([grown, ...corpus], random), random];
  }
  return [mutate(corpus, random), random];
}

/** What is wrong with how the parser takes this input; nothing when nothing is. */
export async function tryOne(parser: Parser, input: Buffer, random: Random): Promise<string | undefined> {
  const before = LANGUAGE();
  const start = process.cpuUsage();
  let wrong: string | undefined;
  try {
    await parser.run(input, random);
  } catch (error) {
    if (!(error instanceof UserError)) wrong = error instanceof Error ? (error.stack ?? error.message) : String(error);
  }
  // Not by the clock on the wall: a busy machine can make anything take a second.
  const { user, system } = process.cpuUsage(start);
  const took = (user + system) / 1_000;
  if (took > SLOW_MS) wrong ??= `took ${Math.round(took)} ms for ${input.length} bytes`;
  if (LANGUAGE() !== before) wrong ??= "changed Object.prototype";
  return wrong;
}

const LANGUAGE = (): string => `${Reflect.ownKeys(Object.prototype).length} ${Reflect.ownKeys(Array.prototype).length}`;

export async function fuzzOne(
  parser: Parser,
  corpus: readonly Buffer[],
  seed: number,
  no: number,
): Promise<Finding | undefined> {
  const [input, random] = inputOf(parser, corpus, seed, no);
  const what = await tryOne(parser, input, random);
  return what === undefined ? undefined : { parser: parser.name, seed, no, input, what };
}

/** Keeps an input that broke something, for ever: every later run begins from it too. */
export function keep({ parser, seed, no, input }: Finding): string {
  const folder = join(CORPUS, parser);
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `found-${seed}-${no}`);
  writeFileSync(file, input);
  return file;
}
