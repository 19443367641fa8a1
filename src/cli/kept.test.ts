import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { Script } from "node:vm";
import { afterEach, beforeEach, expect, test } from "vitest";
import { bodyOf, kept, keptOf, type Surroundings } from "./kept.ts";

const BODY =
  "(function($imports,$url,$load){const{one}=$imports[0];return{two:()=>one+1,url:$url,more:()=>$load(`./more.js`)}})";

let place: string;
let url: string;
const around = (): Surroundings => ({ url, imports: [{ one: 1 }], load: async (place) => ({ place }) });

beforeEach(() => {
  place = mkdtempSync(join(tmpdir(), "rota-kept-"));
  url = pathToFileURL(join(place, "part.js")).href;
  writeFileSync(bodyOf("part", url), BODY);
});
afterEach(() => rmSync(place, { recursive: true, force: true }));

test("a part that was kept is given what it imports, and gives what it exports", async () => {
  writeFileSync(keptOf("part", url), new Script(BODY).createCachedData());
  const part = kept("part", around()) as { two(): number; url: string; more(): Promise<unknown> };
  expect([part.two(), part.url, await part.more()]).toEqual([2, url, { place: "./more.js" }]);
});

test("a program that stays takes nothing that was kept", () => {
  writeFileSync(keptOf("part", url), new Script(BODY).createCachedData());
  expect(kept("part", around(), ["node", "rota", "serve"])).toBeUndefined();
});

test("a part of which this Node has kept nothing is not taken", () => {
  expect(kept("part", around())).toBeUndefined();
});

test.each([
  ["of another text", new Script("(function(){return{}})").createCachedData()],
  ["that were cut off", new Script(BODY).createCachedData().subarray(0, 100)],
  ["that never were compiled code", Buffer.from("not compiled")],
])("kept bytes %s are not taken", (_, bytes) => {
  writeFileSync(keptOf("part", url), bytes);
  expect(kept("part", around())).toBeUndefined();
});
