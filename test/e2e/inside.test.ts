/** A program inside an attempt has the authority of the attempt: it looks and reports, and what a person decides is left to the person. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { freshDir } from "../rig/cli.ts";
import { bash } from "../rig/guide.ts";

const SERVE = "rota serve 2> serve.log &\nuntil rota workers > /dev/null 2>&1; do sleep 0.05; done\n";
const gated = (command: string): string => `cat > plan.yaml <<'PLAN'
name: p
tasks:
  agent: { run: ${JSON.stringify(command)} }
  publish: { run: echo published, gate: Really? }
PLAN
`;
const kinds = (lines: string): readonly string[] =>
  lines
    .trim()
    .split("\n")
    .map((line) => (JSON.parse(line) as { readonly kind: string }).kind);
const REFUSED = /FORBIDDEN: This comes from inside attempt 1 of agent in run p-\w+, which may look and report/;

describe.each([
  ["as it was started", "rota"],
  // The processes above it are marked all the same.
  ["with its environment taken away", 'env -i "PATH=$PATH" "HOME=$HOME" rota'],
])("an attempt, %s,", (_, rota) => {
  test("does not open its own gate, beside a daemon", async () => {
    const cwd = freshDir();
    const out = await bash(
      `${SERVE}${gated(`for what in 'approve publish' 'cancel publish' pause 'submit plan.yaml'; do ${rota} $what 2>> said && exit 1; done; ${rota} status > seen`)}
       rota submit plan.yaml > /dev/null
       until rota status --json | grep -q '"succeeded":1'; do sleep 0.1; done
       rota events --json
       rota approve publish > /dev/null
       until rota status --json | grep -q '"succeeded":2'; do sleep 0.1; done
       kill %1; wait %1`,
      { cwd, env: { ROTA_STATE: join(cwd, ".rota") } },
    );
    expect(kinds(out)).not.toContain("approved");
    expect(kinds(out)).not.toContain("paused");
    const said = readFileSync(join(cwd, "said"), "utf8").trim().split("\n");
    expect(said.length).toBe(4);
    for (const line of said) expect(line).toMatch(REFUSED);
    expect(readFileSync(join(cwd, "seen"), "utf8")).toContain("agent");
  });

  test("nor beside a single run", async () => {
    const cwd = freshDir();
    const out = await bash(
      `${gated(`${rota} approve publish 2> said && exit 1; exit 0`)}
       rota run plan.yaml > /dev/null 2>&1 || [ $? = 3 ]
       rota events --json`,
      { cwd, env: { ROTA_STATE: join(cwd, ".rota") } },
    );
    expect(kinds(out)).not.toContain("approved");
    expect(readFileSync(join(cwd, "said"), "utf8")).toMatch(REFUSED);
  });
});

test("an attempt is free in another state directory", async () => {
  const cwd = freshDir();
  await bash(
    `mkdir inner
     cat > inner/plan.yaml <<'PLAN'
name: inner
tasks: { a: { run: "true" }, b: { run: "true", gate: Really? } }
PLAN
     ${gated("export ROTA_STATE=$PWD/inner/.rota; rota run inner/plan.yaml; rota approve b && rota run inner/plan.yaml --resume")}
     rota run plan.yaml --only agent`,
    { cwd },
  );
});

test("the command of `rota work` reports on its own task, and does no more", async () => {
  const cwd = freshDir();
  const out = await bash(
    `${SERVE}
     cat > plan.yaml <<'PLAN'
name: p
tasks: { a: { pool: writers, prompt: A }, warm: { run: "true" } }
PLAN
     rota submit plan.yaml > /dev/null
     until rota status --json | grep -q '"succeeded":1'; do sleep 0.1; done
     rota work --pool writers --wait 1s -- sh -c 'rota progress "$ROTA_TASK" "Half of it" && ! rota submit plan.yaml 2> said && ! rota session join --pool x 2>> said' > work.log 2>&1
     rota events --json
     kill %1; wait %1`,
    { cwd },
  );
  expect(kinds(out)).toContain("noted");
  expect(kinds(out).filter((kind) => kind === "run_submitted").length).toBe(1);
  expect(kinds(out)).toContain("succeeded");
  expect(
    readFileSync(join(cwd, "said"), "utf8").match(/FORBIDDEN: This comes from inside attempt 1 of a/g)?.length,
  ).toBe(2);
});
