/** A short round of every parser, the same each time, and everything that ever broke one. `npm run fuzz -- PARSER --seconds 60` goes on from there. */
import { expect, test } from "vitest";
import { seededRandom } from "../../src/effects/random.ts";
import { corpusOf, fuzzOne, tryOne } from "./driver.ts";
import { PARSERS } from "./parsers.ts";

const SEED = Number(process.env["SEED"] ?? 17);
const ROUND = 120;

test.each(PARSERS.map((parser) => [parser.name, parser] as const))(
  `%s takes whatever comes (SEED=${SEED})`,
  async (_, parser) => {
    const corpus = corpusOf(parser);
    for (const [no, input] of corpus.entries()) {
      expect(await tryOne(parser, input, seededRandom(no)), `input ${no} of the corpus`).toBeUndefined();
    }
    for (let no = 1; no <= ROUND; no++) {
      const finding = await fuzzOne(parser, corpus, SEED, no);
      expect(finding?.what, `npm run fuzz -- ${parser.name} --seed ${SEED} --only ${no}`).toBeUndefined();
    }
  },
  60_000,
);
