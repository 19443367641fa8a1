/**
 * Words that people know from make, GitHub Actions, GitLab, docker compose, Taskfile and the like, and what a plan has in place of each.
 * Words that are only misspelt are not here: a search for similar words finds those.
 */
import type { Foreign } from "../../std/schema-maps.ts";

type Words = Readonly<Record<string, Foreign>>;

/** One answer for several words. */
const all = (words: string, answer: Foreign): Words =>
  Object.fromEntries(words.split(" ").map((word) => [word, answer]));
const write = (field: string, example: string): Foreign => ({ field, hint: `Write \`${field}: ${example}\`.` });
const say = (hint: string): Foreign => ({ hint });

const WORKERS = say("How many tasks run at once is said where they are run: `rota run PLAN --workers 4`.");
const TIMES = say("A plan does not start by itself: let cron or a timer call `rota run`.");

export const TASK_WORDS: Words = {
  ...all("cmd command exec shell sh entrypoint recipe", write("run", "make build")),
  ...all("cmds commands script scripts steps", {
    field: "run",
    hint: "Write `run: |` with a line for each, or make each a task of its own with `needs`.",
  }),
  ...all("depends_on depends-on dependsOn depends deps dependencies prerequisites", write("needs", "[build]")),
  ...all("retries retry_count max_retries maxRetries max_attempts maxAttempts restart", {
    field: "retry",
    hint: "Write `retry: { attempts: 3 }`: tries in all, the first included.",
  }),
  ...all("timeout-minutes timeout_minutes timeout_seconds timeoutSeconds time_limit", write("timeout", "30m")),
  ...all("working-directory working_directory working_dir workdir dir directory", write("cwd", "app")),
  ...all("environment envs vars variables", write("env", '{ CI: "1" }')),
  ...all("env_file dotenv secrets", {
    field: "env",
    hint: "Name each variable: `env: { TOKEN: { from: TOKEN } }` takes it from Rota's own environment and keeps it out of logs.",
  }),
  ...all("name desc description summary", write("title", "Build the site")),
  ...all("id key", say("A task's id is the key it stands under: `tasks: { build: { run: make } }`.")),
  ...all("sources inputs", write("reads", "[src/]")),
  ...all("generates outputs", write("writes", "[dist/]")),
  ...all("strategy", write("matrix", "{ node: [22, 24] }")),
  ...all("tags", write("labels", "{ team: web }")),
  ...all("cpu cpus memory mem mem_limit gpu gpus", write("resources", "{ cpu: 2, memory: 4GiB }")),
  ...all("runs-on runs_on", write("requires", "[gpu]")),
  ...all("approval manual confirm", write("gate", "May it be published?")),
  ...all("finally always", write("after", "[test]")),
  ...all("before next then triggers", say("Say it the other way round: name this task in the `needs` of the others.")),
  ...all(
    "if when unless only except rules condition",
    say(
      "Ask in the command: `run: test -f x && make`. What is to run after a failure too has `after` in place of `needs`.",
    ),
  ),
  ...all(
    "continue-on-error continue_on_error allow_failure ignore_error ignore_errors",
    say("Name this task under `after`, and not under `needs`, of those that may go on when it failed."),
  ),
  ...all("model", say("The session that claims a task brings its model: give each model a pool, `pool: opus`.")),
  ...all("instructions instruction goal", write("prompt", "Write an outline.")),
  ...all("assignee assigned_to worker role queue", write("pool", "writers")),
  ...all("image container services volumes", say("Start the container in the command: `run: docker run …`.")),
  ...all("uses with", say("There are no actions: call a program in `run`.")),
  ...all("schedule cron on every", TIMES),
  ...all("workers", WORKERS),
  ...all(
    "parallel concurrency max_parallel",
    say(
      "Tasks run side by side unless one needs the other; `resources: { db: 1 }`, here and in the plan, limits some.",
    ),
  ),
};

export const RETRY_WORDS: Words = {
  ...all("count times tries retries max_attempts maxAttempts max_retries maxRetries limit", {
    field: "attempts",
    hint: "Write `attempts: 3`: tries in all, the first included.",
  }),
  ...all("delay interval wait sleep initial", write("backoff", "2s")),
  ...all("multiplier exponent", write("factor", "2")),
  ...all("max_delay maxDelay max_backoff max_interval cap", write("max", "30s")),
  ...all("exit_codes exitCodes codes when if", write("on", "[75]")),
};

export const PLAN_WORDS: Words = {
  ...all("jobs job targets services steps stages pipeline workflow task", write("tasks", "{ build: { run: make } }")),
  ...all("title", write("name", "release")),
  ...all("environment vars variables", write("defaults", '{ env: { CI: "1" } }')),
  ...all("version", say("Leave it out: the language of plans has no version.")),
  ...all("workers parallel parallelism concurrency max_parallel", WORKERS),
  ...all("on schedule cron every", TIMES),
  manifest: say("This is a run that was written down: `rota simulate FILE` and `rota doctor --manifest FILE` read it."),
  ...all("include includes import imports extends", say("A plan is one file; `defaults` and `matrix` keep it short.")),
};

/** For fields that stand in the wrong place. */
export const belongs = (fields: object, place: string): Words =>
  all(Object.keys(fields).join(" "), say(`Put it ${place}.`));
