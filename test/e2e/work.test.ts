/** `rota work`: a command does the tasks of a pool, and lives no longer than the lease under which it works. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { freshDir } from "../rig/cli.ts";
import { bash } from "../rig/guide.ts";

const SERVE = "rota serve 2> serve.log &\nuntil rota workers > /dev/null 2>&1; do sleep 0.05; done\n";
const planOf = (tasks: string): string =>
  `printf 'name: p\\ntasks:\\n${tasks}' > plan.yaml\nrota submit plan.yaml --key p > /dev/null\n`;
const ONE = planOf("  a: { pool: writers, prompt: Do it, retry: { attempts: 3, backoff: 0s } }\\n");
/** An agent that starts a process of its own, says which that is, and does nothing else. */
const STUCK = `sh -c 'sleep 1000 & echo $! > inner; echo $$ > outer; wait'`;
const IS_AT_IT = "until [ -s outer ]; do sleep 0.05; done\n";
const IS_GONE = "for file in inner outer; do while kill -0 $(cat $file) 2> /dev/null; do sleep 0.05; done; done\n";

interface Told {
  readonly kind: string;
  readonly attempt?: number;
}
/** What the ledger says, after the script. */
async function story(script: string): Promise<readonly Told[]> {
  const cwd = freshDir();
  await bash(`${script}\nrota events --json > events.jsonl\nkill %1\nwait %1`, { cwd });
  const lines = readFileSync(join(cwd, "events.jsonl"), "utf8").trim().split("\n");
  return lines.map((line) => JSON.parse(line) as Told);
}
/** What a task waits for is told in between. */
const kinds = (events: readonly Told[]): readonly string[] =>
  events.map(({ kind }) => kind).filter((kind) => kind !== "waiting");

test("a cancel reaches the command and what it has started", async () => {
  const events = await story(`${SERVE}${ONE}rota work --pool writers --ttl 2s --wait 1s -- ${STUCK} 2> work.log &
    work=$!
    ${IS_AT_IT}rota cancel a
    ${IS_GONE}wait $work`);
  expect(kinds(events).slice(-3)).toEqual(["cancelled", "run_finished", "session_left"]);
});

test.each(["TERM", "INT", "HUP"])(
  "SIG%s ends the command with all it has started, and hands the task back",
  async (signal) => {
    const events = await story(`${SERVE}${ONE}set -m
    rota work --pool writers -- ${STUCK} 2> work.log &
    work=$!
    ${IS_AT_IT}kill -${signal} $work
    wait $work
    ${IS_GONE}`);
    expect(kinds(events).slice(-2)).toEqual(["released", "session_left"]);
  },
);

test("two signals end a command that does not listen, and the session is left all the same", async () => {
  const events = await story(`${SERVE}${ONE}
    rota work --pool writers --grace 10m -- sh -c 'trap "" TERM; echo $$ > outer; echo $$ > inner; while :; do sleep 1; done' 2> work.log &
    work=$!
    ${IS_AT_IT}kill -TERM $work; sleep 0.2; kill -TERM $work
    wait $work
    ${IS_GONE}`);
  expect(kinds(events).slice(-2)).toEqual(["released", "session_left"]);
});

test("a lease that is shorter than the work is kept", async () => {
  const events = await story(`${SERVE}${ONE}rota work --pool writers --ttl 1s --wait 1s -- sleep 4 2> work.log`);
  expect(events.find(({ kind }) => kind === "succeeded")).toMatchObject({ attempt: 1 });
  expect(kinds(events)).not.toContain("expired");
});

test("nothing renews the lease of a worker that was killed", async () => {
  const events = await story(`${SERVE}${ONE}rota work --pool writers --ttl 1s -- ${STUCK} 2> work.log &
    work=$!
    ${IS_AT_IT}kill -KILL $work
    wait $work || true
    kill $(cat inner) $(cat outer) || true
    rota work --pool writers --wait 10s -- sh -c 'cat > prompt; kill $PPID' 2> second.log
    grep -q 'Before: attempt 1 by .* was lost' prompt`);
  expect(kinds(events)).toContain("expired");
});

test("a report that is refused does not end the loop", async () => {
  const two = planOf("  a: { pool: writers, prompt: A }\\n  b: { pool: writers, prompt: B, needs: [a] }\\n");
  const events = await story(`${SERVE}${two}
    rota work --pool writers --wait 1s -- sh -c 'rota fail "$ROTA_TASK" --kind exit || true' 2> work.log
    grep -q 'a: LEASE_LOST' work.log
    rota retry > /dev/null --no-wait
    rota work --pool writers --wait 1s -- sh -c 'rota progress "$ROTA_TASK" "Half of it"' 2>> work.log`);
  expect(kinds(events)).toContain("noted");
  expect(events.filter(({ kind }) => kind === "succeeded").length).toBe(2);
});

test("a command that is not there costs the task nothing", async () => {
  const events = await story(`${SERVE}${ONE}
    code=0; rota work --pool writers -- no-such-agent 2> work.log || code=$?
    [ $code = 2 ]; grep -q 'USAGE: The command cannot be started: .*no-such-agent' work.log`);
  expect(kinds(events).slice(-2)).toEqual(["released", "session_left"]);
});
