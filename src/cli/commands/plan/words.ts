/** Commands about plans, before any task runs. */
import type { CommandSpec } from "../../frame/command.ts";
import { html, json, output, PLAN, stateOfPlan, svg, workers } from "../shared.ts";

export const PLAN_COMMANDS: readonly CommandSpec[] = [
  {
    name: "init",
    group: "Write a plan",
    summary: "Write a small plan to start from",
    details: "Writes a commented plan that runs as it is. An existing file is left as it is.",
    arguments: [
      { name: "FILE", describe: "Where to write it; `plan.yaml` when left out", required: false, completes: "file" },
    ],
    options: {},
    examples: ["rota init && rota run plan.yaml"],
    load: () => import("./init.ts"),
  },
  {
    name: "check",
    group: "Write a plan",
    summary: "Say everything that is wrong with a plan",
    details:
      "Reads the plan without running it, and shows every problem with its place and what to do about it: also variables that a " +
      "command names and does not get from the scheduler. " +
      "Exit code 0 when it can be run, 2 when it cannot.",
    arguments: [PLAN],
    options: { json, strict: { kind: "flag", describe: "Treat warnings as errors" } },
    examples: ["rota check plan.yaml", "rota check plan.yaml --strict --json"],
    load: () => import("./check.ts"),
  },
  {
    name: "simulate",
    group: "Write a plan",
    summary: "Say how long a plan would take, without running it",
    details:
      "The real scheduler on virtual time: its order, its workers, resources, rates and files, and every attempt succeeds. A " +
      "task lasts as long as `--actual` says, else its `estimate`, else what earlier runs took, else a second; the scheduler " +
      "itself goes by the estimates. Gates count as open. `cpu`, `memory` and `gpu` are this machine's unless the plan " +
      "names them. The tasks of a pool are done by its sessions, one each unless `--pool` says how many: any session does any of them. " +
      "In place of a plan it takes a run that `rota run --manifest` wrote: its tasks then last as long as they did. " +
      "`--what-if` asks what would change with other `workers`, `nodes` (machines like this one), `priorities` " +
      "(`shares` or `strict`), `cpu`, `memory`, `gpu`, resources of the plan or sessions (`pool.writers`). Exit code 3 when some task could never start.",
    arguments: [PLAN],
    options: {
      workers,
      actual: {
        kind: "text",
        value: "FILE",
        describe: "How long tasks really take: a JSON object of task ids and milliseconds",
        completes: "file",
      },
      pool: { kind: "text", many: true, value: "NAME=N", describe: "How many sessions a pool has", fallback: "1 each" },
      "what-if": {
        kind: "text",
        many: true,
        value: "CHANGES",
        describe: "Compare with this, such as `workers=8,claude=3`; may be given several times",
      },
      svg,
      html,
      json,
      output,
      state: { ...stateOfPlan, describe: "The state directory, for what earlier runs took" },
    },
    examples: [
      "rota simulate plan.yaml",
      "rota simulate plan.yaml --workers 4 --what-if workers=8 --what-if workers=8,nodes=2",
      "rota simulate plan.yaml --actual durations.json --json",
    ],
    load: () => import("./simulate.ts"),
  },
  {
    name: "schema",
    group: "Write a plan",
    summary: "Print the schema of plans, settings, the API or output",
    details:
      "For editors: with `# yaml-language-server: $schema=FILE` on the first line of a plan they complete and check it. `openapi` is the API of " +
      "a daemon as an OpenAPI document, `output` what each command prints with `--json`.",
    arguments: [
      {
        name: "WHAT",
        describe: "Which schema; that of a plan when left out",
        required: false,
        choices: ["plan", "config", "openapi", "output"],
      },
    ],
    options: {},
    examples: ["rota schema > plan.schema.json", "rota schema openapi > openapi.json", "rota schema output"],
    load: () => import("./schema.ts"),
  },
];
