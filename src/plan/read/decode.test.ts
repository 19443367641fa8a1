import { expect, test } from "vitest";
import { decode, decodeText } from "./decode.ts";

test.each([
  "",
  "name: night",
  "\ufeffname: night",
  "\ufeff\ufeffname",
  "naïve 🌙",
  "half a character \ud83c and the other half \udf19",
  "a\0b",
  "\ufeffa\0b",
  "é\0",
  "twelve bytes",
  "thirteen byte",
  "sechs äöü",
  "sieben äöüß",
])("what came as text is read as the file that holds it would be (%j)", (text) => {
  expect(decodeText(text, 12)).toEqual(decode(new TextEncoder().encode(text), 12));
  expect(decodeText(text)).toEqual(decode(new TextEncoder().encode(text)));
});
