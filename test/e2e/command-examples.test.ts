/** Every example that `rota help` and the reference page show is typed into a shell, in a place where it makes sense. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { COMMANDS } from "../../src/cli/frame/commands.ts";
import { freshDir } from "../rig/cli.ts";
import { bash } from "../rig/guide.ts";

/** Some tasks that run, a task that waits for a person, a task that waits for that, and two for agents. */
const PLAN = `name: plan
tasks:
  build: { run: echo built }
  test: { run: echo tested, needs: [build] }
  publish: { run: echo published, gate: Really? }
  deploy: { run: echo deployed, needs: [publish] }
  train: { pool: writers, prompt: Train it }
  review: { pool: writers, prompt: Review it, priority: high, retry: { attempts: 9, backoff: 0s } }
`;
const SMALL =
  "name: plan\ntasks:\n  build: { run: echo built }\n  test: { run: test -f ready }\n  deploy: { run: echo deployed }\n";

interface Scene {
  readonly plan?: string;
  /** Done once, before anything. */
  readonly begin: string;
  /** The commands whose examples are tried here, in this order. */
  readonly commands: readonly string[];
  /** Done before an example, or before every example of a command. */
  readonly before?: Readonly<Record<string, string>>;
  readonly after?: Readonly<Record<string, string>>;
}

const SERVE = "rota serve 2> serve.log &\nuntil rota workers > /dev/null 2>&1; do sleep 0.05; done\n";
const SESSION = "export ROTA_SESSION=$(rota session join --pool writers --id s1)\n";
/** Whatever the session holds is handed back, and what is on hold is let go. */
const FRESH = "for task in review train; do rota release $task || true; done; rota session join --pool writers --id s1";
const HOLDING = `${FRESH}; rota claim review --wait 1m`;
const STOP = "kill %1; wait %1";

const SCENES: Readonly<Record<string, Scene>> = {
  "with nothing there yet": {
    begin: "mkdir -p ~/.config/fish/completions",
    commands: ["init", "check", "simulate", "schema", "doctor", "config", "completion", "help", "soak"],
    after: { init: "echo '{\"build\": 10}' > durations.json" },
  },
  "with a plan": {
    plan: SMALL,
    begin: "touch ready",
    commands: ["run", "status", "why", "timeline", "events", "logs", "retry", "prune"],
    before: { retry: "rm ready; rota run plan.yaml || touch ready" },
  },
  "with a daemon that was just started": {
    plan: SMALL,
    begin: "touch ready",
    commands: ["serve"],
    after: { serve: "until rota workers > /dev/null 2>&1; do sleep 0.05; done; kill %%; wait %%" },
  },
  "with a daemon": {
    plan: SMALL,
    begin: `touch ready\n${SERVE}`,
    commands: ["submit", "mcp", "workers", "token issue", "token list", "token revoke"],
    before: { "token revoke": "ID=$(rota token issue x 2>&1 > /dev/null | cut -d ' ' -f 2)" },
  },
  "with a daemon and a command that is an agent": {
    plan: PLAN,
    // This one has enough after its first task.
    begin: `${SERVE}rota submit plan.yaml\nprintf '#!/bin/sh\\nkill $PPID' > claude; chmod +x claude; PATH=$PWD:$PATH`,
    commands: ["work"],
  },
  "with a daemon and work for agents": {
    plan: PLAN,
    begin: `${SERVE}rota submit plan.yaml\n${SESSION}`,
    commands: [
      "session join",
      "session beat",
      "session wait",
      "claim",
      "start",
      "heartbeat",
      "progress",
      "complete",
      "fail",
      "release",
      "session leave",
    ],
    before: {
      "session wait": "rota session beat s1 --is idle",
      claim: FRESH,
      start: HOLDING,
      heartbeat: HOLDING,
      progress: HOLDING,
      complete: HOLDING,
      fail: `rota submit plan.yaml; ${HOLDING}`,
      release: `rota submit plan.yaml; ${HOLDING}`,
      "session leave": FRESH,
    },
    after: {
      "session join": "export ROTA_SESSION=s1",
      "rota heartbeat review --every 1m &": "kill %%; wait %% || true; rota release review",
    },
  },
  "with a daemon and a person who steps in": {
    plan: PLAN,
    begin: `${SERVE}rota submit plan.yaml\n${SESSION}`,
    commands: ["pause", "resume", "drain", "edit", "approve", "requeue", "cancel"],
    before: {
      resume: "rota pause; rota pause --pool writers",
      drain: "rota resume --pool writers || true",
      requeue:
        "rota resume --pool writers; rota resume --run last || true; rota resume deploy; rota claim train; rota fail train --kind auth",
      "rota cancel deploy --why 'wrong branch'": "rota submit plan.yaml",
    },
  },
};

test("every command has its examples tried", () => {
  const tried = Object.values(SCENES).flatMap(({ commands }) => commands);
  expect([...tried].sort()).toEqual(COMMANDS.map(({ name }) => name).sort());
});

test.each(Object.keys(SCENES))("%s", async (name) => {
  const { plan, begin, commands, before = {}, after = {} } = SCENES[name] as Scene;
  const cwd = freshDir();
  mkdirSync(join(cwd, "home"));
  if (plan !== undefined) writeFileSync(join(cwd, "plan.yaml"), plan);
  const quietly = (step: string | undefined): string[] =>
    step === undefined ? [] : [`{ ${step}; } >> setup.log 2>&1`];
  const steps = commands.flatMap((command) =>
    examplesOf(command).flatMap((example) => [
      ...quietly(before[example] ?? before[command]),
      `echo '${example.replaceAll("'", "")}' >&2`,
      runnable(example),
      ...quietly(after[example] ?? after[command]),
    ]),
  );
  const end = begin.includes("rota serve") ? [STOP] : [];
  await bash([begin, ...steps, ...end].join("\n"), { cwd, env: { HOME: join(cwd, "home") } });
});

const examplesOf = (command: string): readonly string[] =>
  COMMANDS.find(({ name }) => name === command)?.examples ?? [];

/** As it would be typed, where a port may be taken, an id is made up, a soak takes long, and a daemon stays in the foreground. */
const runnable = (example: string): string => {
  const typed = example
    .replace(":7777", ":0")
    .replace("a1b2c3", '"$ID"')
    .replace(/--minutes \d+|--seeds \d+/, "--seeds 1");
  return typed.startsWith("rota serve") ? `${typed} &` : typed;
};
