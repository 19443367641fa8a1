import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { type Plan, parsePlan } from "./plan.ts";
import { writePlan } from "./write.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const FULL = `
name: full
weight: 3
tenant: web
resources: { claude: 2, tokens: 400k/min, calls: 5/s, cpu: 2.5, memory: 4GiB }
defaults: { env: { CI: "1" }, retry: { attempts: 2 } }
tasks:
  fetch: { title: Get it, run: [curl, -f, "http://x"], timeout: { soft: 5m, hard: 90m }, labels: { team: web } }
  build:
    run: make
    needs: [fetch]
    env: { TOKEN: { from: GITHUB_TOKEN } }
    resources: { cpu: 0.25, memory: 512MiB, claude: 1, tokens: 30k }
    retry: { attempts: 5, backoff: 250ms, factor: 1.5, max: 1m, on: [75] }
    verify: [test, -f, out]
    limits: { memory: 1GiB }
    reads: [src/]
    writes: ["dist/\${matrix.os}/"]
    cwd: app
    estimate: 1h30m
    progress: 90s
    priority: high
    matrix: { os: [linux, mac] }
  review: { prompt: Look at it, pool: writers, workspace: /w, channel: c, requires: [english], after: [fetch], gate: true, onFailure: continue }
  note: { prompt: Write it down, pool: writers, session: s1, retry: { attempts: 1 }, provider: mail, idempotencyKey: once }
`;

/** The graph follows from the tasks, and the description is for the readers of the file. */
const kept = (plan: Plan) => ({ ...plan, graph: undefined, description: undefined });

const rewritten = async (plan: Plan): Promise<Plan> => {
  const parsed = await parsePlan(JSON.stringify(writePlan(plan)), "plan.json");
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.error));
  return parsed.value.plan;
};

test("a plan that uses everything is read back as it was", async () => {
  const parsed = await parsePlan(FULL, "plan.yaml");
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.error));
  expect(kept(await rewritten(parsed.value.plan))).toEqual(kept(parsed.value.plan));
});

test.each([
  ...readdirSync(join(ROOT, "examples"))
    .filter((name) => name.endsWith(".yaml"))
    .map((name) => `examples/${name}`),
  ...readdirSync(join(ROOT, "test/corpus/plans/good")).map((name) => `test/corpus/plans/good/${name}`),
])("%s is read back as it was", async (name) => {
  const parsed = await parsePlan(readFileSync(join(ROOT, name)), name);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.error));
  expect(kept(await rewritten(parsed.value.plan))).toEqual(kept(parsed.value.plan));
});
