/** Makes new inputs from known ones: the same random numbers give the same input. */
import type { Random } from "../../src/effects/random.ts";

export const below = (random: Random, most: number): number => Math.floor(random.next() * most);
export const oneOf = <T>(random: Random, items: readonly T[]): T => items[below(random, items.length)] as T;

/** What has broken parsers before. */
const TOKENS: readonly (string | Buffer)[] = [
  "__proto__",
  "constructor",
  "\u0000",
  "\ufeff",
  "\\ud800",
  "\u202e",
  "\x1b[31m",
  "\x1b]52;c;aGk=\x07",
  "\x9b2J",
  "\r",
  "\n\n",
  "\t",
  "1e308",
  "-1",
  "1e999",
  "9007199254740993",
  "0.1",
  "NaN",
  "null",
  "true",
  "[]",
  "{}",
  '""',
  "&a ",
  "*a",
  "<<: *a",
  "!!js/function",
  "? ",
  "- ",
  ": ",
  "#",
  "|",
  ">-",
  "---\n",
  "data: ",
  "id: ",
  "../../etc/passwd",
  "-oProxyCommand=x",
  "$(id)",
  "%00",
  Buffer.from([0xff, 0xfe]),
  Buffer.from([0xc0, 0x80]),
  Buffer.from([0xed, 0xa0, 0x80]),
  Buffer.from([0xf0, 0x9f]),
];
const OPENERS = ["[", "{", '{"a":', "(", "- ", "  ", "\\", '"', "a: "];
const SIZE_MAX = 200_000;

type Change = (input: Buffer, random: Random, others: readonly Buffer[]) => Buffer;

const cut = (input: Buffer, random: Random): readonly [number, number] => {
  const from = below(random, input.length + 1);
  return [from, Math.min(input.length, from + below(random, random.next() < 0.8 ? 16 : input.length + 1))];
};
const splice = (input: Buffer, from: number, to: number, piece: Uint8Array): Buffer =>
  Buffer.concat([input.subarray(0, from), piece, input.subarray(to)]);

const CHANGES: readonly Change[] = [
  (input, random) => {
    const copy = Buffer.from(input);
    if (copy.length === 0) return copy;
    const at = below(random, copy.length);
    copy[at] = (copy[at] as number) ^ (1 << below(random, 8));
    return copy;
  },
  (input, random) => {
    const at = below(random, input.length + 1);
    return splice(input, at, at, Buffer.from(oneOf(random, TOKENS) as string));
  },
  (input, random) => {
    const [from, to] = cut(input, random);
    return splice(input, from, to, Buffer.from(oneOf(random, TOKENS) as string));
  },
  (input, random) => splice(input, ...cut(input, random), Buffer.alloc(0)),
  (input, random) => {
    const [from, to] = cut(input, random);
    return splice(input, to, to, input.subarray(from, to));
  },
  (input, random) => input.subarray(0, below(random, input.length + 1)),
  (input, random, others) => {
    const other = oneOf(random, others);
    const [from, to] = cut(other, random);
    return splice(input, ...cut(input, random), other.subarray(from, to));
  },
  (input, random) => {
    const at = below(random, input.length + 1);
    const times = 1 + below(random, random.next() < 0.95 ? 200 : 20_000);
    return splice(input, at, at, Buffer.from(oneOf(random, OPENERS).repeat(times)));
  },
  (input, random) => {
    const text = input.toString("latin1");
    const numbers = [...text.matchAll(/\d+/g)];
    if (numbers.length === 0) return input;
    const { 0: found, index } = oneOf(random, numbers);
    const other = oneOf(random, ["0", "-1", "1.5", "1e400", "99999999999999999999", "4294967296", "275760000000000"]);
    return splice(input, index, index + found.length, Buffer.from(other));
  },
];

/** One to eight changes to one of the inputs. */
export function mutate(inputs: readonly Buffer[], random: Random): Buffer {
  let input = oneOf(random, inputs);
  for (let changes = 1 + below(random, 8); changes > 0; changes--) {
    input = oneOf(random, CHANGES)(input, random, inputs);
    if (input.length > SIZE_MAX) input = input.subarray(0, SIZE_MAX);
  }
  return input;
}
