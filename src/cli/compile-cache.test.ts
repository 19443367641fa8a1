import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { Script } from "node:vm";
import { afterEach, beforeEach, expect, test } from "vitest";
import { bodyOf, cacheOf, type PartName, type Parts, partsIn } from "./compile-cache.ts";

const BODIES: Readonly<Record<PartName, string>> = {
  look: "(function($parts,$url,$load){return{one:{value:1},url:$url,more:$load}})",
  start: "(function($parts,$url,$load){const{one}=$parts[0];return{two:()=>one.value+1,one}})",
};

let place: string;
let folder: string;
const parts = (...args: readonly string[]): Parts =>
  partsIn(folder, ["node", "rota", ...args], async (module) => ({ module }));
const save = (name: PartName, bytes = new Script(BODIES[name]).createCachedData()): void =>
  writeFileSync(cacheOf(name, folder), bytes);

beforeEach(() => {
  place = mkdtempSync(join(tmpdir(), "rota-compile-cache-"));
  folder = `${pathToFileURL(place).href}/`;
  for (const [name, body] of Object.entries(BODIES)) writeFileSync(bodyOf(name as PartName, folder), body);
});
afterEach(() => rmSync(place, { recursive: true, force: true }));

test("a part in the cache is given where it is, and those before it", () => {
  save("look");
  save("start");
  const { part } = parts();
  const start = part("start") as { two(): number; one: object };
  expect([part("look")?.["url"], start.two()]).toEqual([folder, 2]);
});

test("all who ask for a part get the same one", () => {
  save("look");
  save("start");
  const { part, taken } = parts();
  expect(part("start")?.["one"]).toBe(part("look")?.["one"]);
  expect([...taken.keys()]).toEqual(["look", "start"]);
});

test("what a part loads is another part, or a module where the cache has none", async () => {
  save("look");
  save("start");
  const { part } = parts();
  const load = part("look")?.["more"] as (place: string) => Promise<unknown>;
  expect(await load("./start.js")).toBe(part("start"));
  expect(await load("./why.js")).toEqual({ module: "./why.js" });
});

test("a part that is not in the cache is loaded as a module", async () => {
  save("look");
  const load = parts().part("look")?.["more"] as (place: string) => Promise<unknown>;
  expect(await load("./start.js")).toEqual({ module: "./start.js" });
});

test("a program that stays takes nothing in the cache", () => {
  save("look");
  expect(parts("serve").part("look")).toBeUndefined();
});

test("a part without compiled code of this Node is not taken, nor a part that needs it", () => {
  save("start");
  const { part } = parts();
  expect([part("look"), part("start")]).toEqual([undefined, undefined]);
});

test.each([
  ["of another text", new Script("(function(){return{}})").createCachedData()],
  ["that were cut off", new Script(BODIES.look).createCachedData().subarray(0, 100)],
  ["that never were compiled code", Buffer.from("not compiled")],
])("cached bytes %s are not taken", (_, bytes) => {
  save("look", bytes);
  expect(parts().part("look")).toBeUndefined();
});
