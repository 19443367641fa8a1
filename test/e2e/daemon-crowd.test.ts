/** Many sessions at one daemon, through its socket: each task is done exactly once, also when other sessions report on it. */
import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import type { EventReply, Grant } from "../../src/wire/answers.ts";
import type { Client } from "../../src/wire/client.ts";
import { connect } from "../../src/wire/client.ts";
import { serveIn, stop, submitted } from "../rig/daemon.ts";
import { openPlace, until } from "../rig/rota.ts";

const SESSIONS = 64;
const TASKS = 2_000;

/** Every tenth task needs the one before it, so that the frontier moves. */
const crowdPlan = () => ({
  name: "crowd",
  defaults: { pool: "crowd", retry: { attempts: 3, backoff: "0s" } },
  tasks: Object.fromEntries(
    Array.from({ length: TASKS }, (_, no) => [
      `t${no}`,
      { prompt: `do ${no}`, ...(no % 10 === 9 && { needs: [`t${no - 1}`] }) },
    ]),
  ),
});

const proofOf = ({ run, task, fence, token }: Grant) => ({ run, task, fence, token });

/** Works until nothing comes any more. Says which claims it got, and which of its words won. */
async function work(
  client: Client,
  no: number,
): Promise<readonly { readonly claim: string; readonly won: readonly string[] }[]> {
  const { session } = await client.join({ agent: "crowd", session: `s${no}` });
  const done: { claim: string; won: string[] }[] = [];
  for (;;) {
    const grant = await client.claim({ session, waitMs: done.length === 0 ? 20_000 : 2_000 });
    if (grant === undefined) return done;
    const proof = proofOf(grant);
    const words = grant.fence === 1 && Number(grant.task.slice(1)) % 4 === 0 ? RACE : (["complete"] as const);
    const won = await Promise.all(words.map((word) => say(client, word, proof)));
    done.push({ claim: `${grant.task}#${grant.fence}`, won: won.filter((each) => each !== undefined) });
  }
}
const RACE = ["complete", "fail", "release", "complete"] as const;

async function say(
  client: Client,
  word: (typeof RACE)[number],
  proof: ReturnType<typeof proofOf>,
): Promise<string | undefined> {
  try {
    const { repeated } = await client[word](proof);
    return repeated ? undefined : word;
  } catch (error) {
    expect((error as { code?: string }).code).toBe("LEASE_LOST");
    return undefined;
  }
}

test(`${SESSIONS} sessions do ${TASKS} tasks, each exactly once, with one winner for each claim`, async () => {
  using place = openPlace();
  const served = await serveIn(place);
  const { client } = served;
  const clients = Array.from({ length: SESSIONS }, () => connect({ state: join(place.dir, "state") }));
  const working = clients.map(work);
  await submitted(client, place, crowdPlan());
  const done = (await Promise.all(working)).flat();
  for (const each of clients) each.close();

  const claims = done.map(({ claim }) => claim);
  expect(new Set(claims).size).toBe(claims.length);
  for (const { claim, won } of done) expect({ claim, won: won.length }).toEqual({ claim, won: 1 });
  expect(await client.await("last", 10_000)).toMatchObject({ outcome: "succeeded" });

  const events = await allEvents(client);
  const ends = events.flatMap((event) => (event.kind === "succeeded" ? [event.task] : []));
  expect(ends.length).toBe(TASKS);
  expect(new Set(ends).size).toBe(TASKS);
  expect(events.filter(({ kind }) => kind === "claimed").length).toBe(claims.length);
  // The second report was refused, and the ledger has that.
  expect(events.some(({ kind }) => kind === "late_report_refused")).toBe(true);
  await stop(served);
  expect((await place.rota(["doctor", "--state", "state"])).code).toBe(0);
});

async function allEvents(client: Client): Promise<readonly EventReply[]> {
  const all: EventReply[] = [];
  for (;;) {
    const page = await client.events({ after: all.at(-1)?.seq ?? 0, limit: 10_000 });
    if (page.length === 0) return all;
    all.push(...page);
  }
}

const ZOMBIES = Number(process.env["ZOMBIES"] ?? 20);
const ZOMBIE = fileURLToPath(new URL("../rig/zombie-main.ts", import.meta.url));

function zombieIn(
  state: string,
  ...args: readonly string[]
): {
  readonly child: ChildProcess;
  readonly lines: () => readonly Record<string, unknown>[];
} {
  const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", ZOMBIE, state, ...args], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  // A process that is still stopped when the test has failed would stay stopped for ever.
  onTestFinished(() => void child.kill("SIGKILL"));
  let out = "";
  child.stdout?.setEncoding("utf8").on("data", (chunk: string) => {
    out += chunk;
  });
  const lines = () =>
    out
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  return { child, lines };
}

test("a session that is stopped past its deadline and goes on has nothing accepted that is stale", async () => {
  using place = openPlace();
  const served = await serveIn(place);
  const { client } = served;
  await submitted(client, place, { name: "haunted", tasks: { a: { prompt: "do it", pool: "zombies" } } });
  const zombie = zombieIn(join(place.dir, "state"));
  await until("the zombie has claimed", () => zombie.lines().length === 1);
  zombie.child.kill("SIGSTOP");

  await client.join({ agent: "zombies", session: "alive" });
  const grant = await client.claim({ session: "alive", waitMs: 20_000 });
  expect(grant).toMatchObject({ task: "a", fence: 2 });
  zombie.child.kill("SIGCONT");
  zombie.child.stdin?.write("go\n");
  await until("the zombie has reported", () => zombie.lines().length === 2);
  expect(zombie.lines()).toEqual([{ task: "a", fence: 1 }, { refused: "LEASE_LOST" }]);
  expect(await client.complete(proofOf(grant as Grant))).toMatchObject({ state: "succeeded", repeated: false });

  const kinds = (await allEvents(client))
    .filter((event) => "task" in event && event.task === "a" && event.kind !== "waiting")
    .map((event) => [event.kind, "fence" in event ? event.fence : undefined]);
  expect(kinds).toEqual([
    ["claimed", 1],
    ["expired", 1],
    ["claimed", 2],
    ["late_report_refused", 1],
    ["succeeded", 2],
  ]);
  await stop(served);
});

test(`R6: of ${ZOMBIES} sessions that are stopped past their deadlines at once, none has anything accepted when they go on`, async () => {
  using place = openPlace();
  const served = await serveIn(place);
  const { client } = served;
  const tasks = Object.fromEntries(
    Array.from({ length: ZOMBIES }, (_, no) => [`t${no}`, { prompt: "do it", pool: "zombies" }]),
  );
  await submitted(client, place, { name: "graveyard", tasks });
  const zombies = Array.from({ length: ZOMBIES }, (_, no) => zombieIn(join(place.dir, "state"), `z${no}`, "waits"));
  // They claim at once, so that none has lost what it holds before the last one is stopped.
  const haveSaid = (count: number) => () => zombies.every(({ lines }) => lines().length >= count);
  await until("every zombie is there", haveSaid(1));
  for (const { child } of zombies) child.stdin?.write("claim\n");
  await until("every zombie has claimed", haveSaid(2));
  for (const { child } of zombies) child.kill("SIGSTOP");
  const { session } = await client.join({ agent: "zombies", session: "alive", slots: ZOMBIES });
  const grants: Grant[] = [];
  while (grants.length < ZOMBIES) {
    const grant = await client.claim({ session, waitMs: 20_000 });
    expect(grant, "what the dead held is given out again").toBeDefined();
    grants.push(grant as Grant);
  }
  // Half of it is done before they wake up, half while they do.
  for (const grant of grants.slice(0, ZOMBIES / 2)) await client.complete(proofOf(grant));
  for (const { child } of zombies) {
    child.kill("SIGCONT");
    child.stdin?.write("go\n");
  }
  await Promise.all(grants.slice(ZOMBIES / 2).map((grant) => client.complete(proofOf(grant))));
  await until("every zombie has reported", haveSaid(3));
  expect(zombies.map(({ lines }) => lines()[2])).toEqual(zombies.map(() => ({ refused: "LEASE_LOST" })));

  const events = await allEvents(client);
  const ends = events.flatMap((event) => (event.kind === "succeeded" ? [`${event.task}#${event.fence}`] : []));
  expect(ends.sort()).toEqual(grants.map(({ task, fence }) => `${task}#${fence}`).sort());
  await stop(served);
  expect((await place.rota(["doctor", "--state", "state"])).code).toBe(0);
});
