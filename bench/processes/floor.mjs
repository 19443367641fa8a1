/**
 * The floor: the least a Node program can do to run a graph of `true`, some at a time: `node floor.mjs GRAPH.json AT_ONCE`. It keeps
 * nothing, so nothing survives it. Plain JavaScript, because stripping types would be start-up time that no such program needs.
 */
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";

const [file, atOnce] = process.argv.slice(2);
const waiting = new Map();
const dependents = new Map();
const ready = [];
for (const { id, needs } of JSON.parse(readFileSync(file, "utf8"))) {
  dependents.set(id, []);
  waiting.set(id, needs.length);
  for (const need of needs) dependents.get(need).push(id);
  if (needs.length === 0) ready.push(id);
}

let next = 0;
const startOne = () => {
  if (next === ready.length) return;
  const id = ready[next++];
  spawn("true", [], { stdio: "ignore" }).on("exit", (code) => {
    running--;
    if (code !== 0) process.exitCode = 1;
    for (const dependent of dependents.get(id)) {
      const left = waiting.get(dependent) - 1;
      waiting.set(dependent, left);
      if (left === 0) ready.push(dependent);
    }
    fill();
  });
  running++;
};
let running = 0;
const fill = () => {
  while (running < Number(atOnce) && next < ready.length) startOne();
};
fill();
process.on("exit", () => {
  if (next !== waiting.size) process.exitCode = 1;
});
