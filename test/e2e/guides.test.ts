/** What the guides and examples tell people to type is typed, and what they show is what happens. */
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { freshDir } from "../rig/cli.ts";
import { bash, isShown, runGuide, timeless } from "../rig/guide.ts";

const ROOT = resolve(import.meta.dirname, "../..");

test("the guide for agents does what it says, from the first command to the last", async () => {
  const ran = await runGuide(readFileSync(join(ROOT, "docs/guides/agents.md"), "utf8"));
  expect(ran.length).toBeGreaterThan(8);
  for (const each of ran) {
    if (each.shown !== undefined && !isShown(each)) expect(timeless(each.printed)).toBe(timeless(each.shown));
  }
});

test("the example for agents runs to its end with an agent that is a script", async () => {
  const cwd = freshDir();
  const out = await bash(
    `rota serve 2> serve.log &
     until rota workers > /dev/null 2>&1; do sleep 0.05; done
     CAPABILITY=review PATIENCE=1m '${ROOT}/examples/agent.sh' writers cat > agent.log 2>&1 &
     agent=$!
     rota submit '${ROOT}/examples/agents.yaml' --wait --json
     kill $agent
     rota events --json > events.jsonl
     kill %1
     wait %1`,
    { cwd, env: { ROTA_STATE: join(cwd, "state") } },
  );
  expect(JSON.parse(out)).toMatchObject({ outcome: "succeeded", tasks: { total: 4, succeeded: 4 }, attempts: 4 });
  const events = readFileSync(join(cwd, "events.jsonl"), "utf8");
  expect(events).toContain("Say what is wrong with essay.md.");
  expect(readFileSync(join(cwd, "agent.log"), "utf8")).toMatch(/^outline: attempt 1\n/m);
});

test("the example's agent reports a command that fails, and it is tried again", async () => {
  const cwd = freshDir();
  const plan = "name: p\ntasks:\n  a: { pool: writers, prompt: x, retry: { attempts: 2, backoff: 0s } }\n";
  const out = await bash(
    `printf '${plan.replaceAll("\n", "\\n")}' > plan.yaml
     rota serve 2> serve.log &
     until rota workers > /dev/null 2>&1; do sleep 0.05; done
     PATIENCE=1m '${ROOT}/examples/agent.sh' writers sh -c 'echo broken; exit 7' > agent.log 2>&1 &
     agent=$!
     rota submit plan.yaml --wait --json || true
     rota why a
     kill $agent
     kill %1
     wait %1`,
    { cwd },
  );
  expect(out).toMatch(/"outcome":"failed"/);
  expect(out).toMatch(/✖ a failed: exit code 7: broken, after 2 attempts\./);
});
