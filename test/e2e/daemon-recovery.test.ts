/** The daemon is killed with work in every state: everything is found again, and nothing is done twice. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { EventReply, Grant } from "../../src/wire/answers.ts";
import type { Client } from "../../src/wire/client.ts";
import { killHard, serveIn, stop, submitted } from "../rig/daemon.ts";
import { expectLawsKept } from "../rig/laws-kept.ts";
import { openPlace, type Place, processesWith, until } from "../rig/rota.ts";

const startsRunning = (event: EventReply): boolean => event.kind === "started" && event.task === "running";

/** Every session waits a little longer than the daemon is away. */
const SETTINGS = { ROTA_LEASE_TTL: "20s", ROTA_OFFER_TTL: "10m", ROTA_WAKE_INTERVAL: "1h" };

const plan = {
  name: "everything",
  tasks: {
    offered: { prompt: "offered", pool: "listeners" },
    claimed: { prompt: "claimed", pool: "agents", priority: "critical" },
    worked: { prompt: "worked on", pool: "agents", priority: "high" },
    queued: { prompt: "queued", pool: "deserted" },
    blocked: { run: "true", needs: ["running"] },
    running: { run: "echo $$ > running.pid; echo once >> running.log; while [ ! -e go ]; do sleep 0.05; done" },
    backing: { prompt: "rate limited", pool: "agents", priority: "critical" },
    paused: { prompt: "paused", pool: "agents", priority: "low" },
    gated: { run: "true", gate: "May it?" },
    parked: { prompt: "parked", pool: "agents", priority: "critical" },
  },
};

type Tasks = Readonly<Record<string, { readonly state: string; readonly reason?: string }>>;

async function statesOf(client: Client): Promise<Tasks> {
  const found = await Promise.all(
    Object.keys(plan.tasks).map(async (id) => {
      const why = (await client.why("last", id)) as { state: string; wait?: { reason: string } };
      return [id, { state: why.state, ...(why.wait && { reason: why.wait.reason }) }] as const;
    }),
  );
  return Object.fromEntries(found);
}

/** Brings every task into the state it is named for. */
async function arrange(client: Client, place: Place): Promise<Readonly<Record<"claimed" | "worked", Grant>>> {
  await client.join({ agent: "agents", session: "a1", slots: 2 });
  await client.join({ agent: "agents", session: "a2" });
  await client.join({ agent: "listeners", session: "l1" });
  await submitted(client, place, plan);
  await client.pause({ run: "last", task: "paused", why: "not today" });
  const claim = async (session: string, task: string): Promise<Grant> => {
    const grant = await client.claim({ session, run: "last", task, waitMs: 5_000 });
    expect(grant).toMatchObject({ task });
    return grant as Grant;
  };
  const parked = await claim("a2", "parked");
  await client.fail({ run: parked.run, task: "parked", fence: parked.fence, token: parked.token, kind: "auth" });
  const { run, fence, token } = await claim("a2", "backing");
  // A time that was told: a back-off that is drawn by lot may be over at once.
  await client.fail({ run, task: "backing", fence, token, kind: "rate-limit", resetMs: 600_000 });
  const claimed = await claim("a1", "claimed");
  const worked = await claim("a1", "worked");
  await client.heartbeat({ run: worked.run, task: "worked", fence: worked.fence, token: worked.token });
  expect(await client.wake("l1", 5_000)).toMatchObject({ task: "offered" });
  // The process says so at once, the daemon a moment later, and what it says is on the disk a moment after that.
  await until("the local task runs", () => existsSync(join(place.dir, "running.log")));
  await until("that is written down", async () => (await client.events({ limit: 10_000 })).some(startsRunning));
  return { claimed, worked };
}

const EXPECTED: Tasks = {
  offered: { state: "ready", reason: "offered" },
  claimed: { state: "claimed" },
  worked: { state: "running" },
  queued: { state: "ready", reason: "no-match" },
  blocked: { state: "blocked", reason: "needs" },
  running: { state: "running" },
  backing: { state: "ready", reason: "backing-off" },
  paused: { state: "ready", reason: "paused" },
  gated: { state: "blocked", reason: "gate" },
  parked: { state: "parked", reason: "parked" },
};

test("work in every state survives kill -9, and goes on where it was", async () => {
  using place = openPlace();
  const first = await serveIn(place, ["--workers", "3"], SETTINGS);
  const grants = await arrange(first.client, place);
  expect(await statesOf(first.client)).toEqual(EXPECTED);
  const before = await first.client.events({ limit: 10_000 });
  await killHard(first);

  const second = await serveIn(place, ["--workers", "3"], SETTINGS);
  const { client } = second;
  expect(await statesOf(client)).toEqual(EXPECTED);
  const kept = await client.events({ limit: 10_000 });
  expect(kept.slice(0, before.length)).toEqual(before);
  await expectGoesOn(client, place, grants);
  await stop(second);
  await expectLawsKept(join(place.dir, "state"));
  expect((await place.rota(["doctor", "--state", "state"])).code).toBe(0);
  expect(processesWith(`ROTA_RUN=${grants.claimed.run}`)).toEqual([]);
});

async function expectGoesOn(
  client: Client,
  place: Place,
  { claimed, worked }: Awaited<ReturnType<typeof arrange>>,
): Promise<void> {
  const proof = ({ run, task, fence, token }: Grant) => ({ run, task, fence, token });
  // Sessions keep what they hold, with the token from the daemon that died.
  expect(await client.heartbeat(proof(claimed))).toMatchObject({ fence: 1 });
  expect(await client.complete(proof(claimed))).toMatchObject({ state: "succeeded" });
  expect(await client.complete(proof(worked))).toMatchObject({ state: "succeeded" });
  // The offered task is still kept for the session that was woken for it, and for no other.
  expect(await client.claim({ session: "l1" })).toMatchObject({ task: "offered" });
  expect(await client.claim({ session: "a2" })).toBeUndefined();
  await client.resume({ run: "last", task: "paused" });
  expect(await client.claim({ session: "a2" })).toMatchObject({ task: "paused" });
  // The local process was taken over, not started again.
  const pid = readFileSync(join(place.dir, "running.pid"), "utf8");
  place.file("go", "");
  await until("the local task has ended", async () => (await statesOf(client))["running"]?.state === "succeeded");
  await until("what needed it too", async () => (await statesOf(client))["blocked"]?.state === "succeeded");
  expect(readFileSync(join(place.dir, "running.pid"), "utf8")).toBe(pid);
  expect(readFileSync(join(place.dir, "running.log"), "utf8")).toBe("once\n");
  // Parked is never a dead end.
  await client.requeue({ run: "last", task: "parked" });
  expect((await statesOf(client))["parked"]?.state).toBe("ready");
  const starts = (await client.events({ limit: 10_000 })).filter(startsRunning);
  expect(starts).toHaveLength(1);
}

test("a daemon may be told to stop at the very moment it says that it serves", async () => {
  for (let no = 0; no < 5; no++) {
    using place = openPlace();
    const { child, ended } = place.start(["serve", "--json", "--state", "state"]);
    child.stdout?.once("data", () => child.kill("SIGTERM"));
    expect(await ended).toMatchObject({ code: 0, signal: null, err: expect.stringContaining("SIGTERM: ") });
  }
});

const HELD = {
  name: "held",
  tasks: { held: { run: "echo $$ >> pids; while [ ! -e go ]; do sleep 0.05; done" } },
};
const pidsOf = (place: Place): readonly string[] =>
  existsSync(join(place.dir, "pids")) ? place.read("pids").trim().split("\n") : [];

test("a daemon that is told to stop leaves what runs to the next one, which does not begin it again", async () => {
  using place = openPlace();
  const first = await serveIn(place, [], { ROTA_LEASE_TTL: "20s" });
  await submitted(first.client, place, HELD);
  await until("it runs", () => pidsOf(place).length === 1);
  first.client.close();
  first.started.child.kill("SIGTERM");
  expect(await first.started.ended).toMatchObject({
    code: 0,
    err: expect.stringContaining(
      "SIGTERM: stopping. 1 running task goes on; to take it over, run this within 20s: rota serve --state state\n",
    ),
  });
  const second = await serveIn(place, [], { ROTA_LEASE_TTL: "20s" });
  expect(await second.client.status("last")).toMatchObject({
    running: [{ task: "held", attempt: 1, state: "running" }],
  });
  place.file("go", "");
  await until("it has ended", async () => (await second.client.status("last")).state === "succeeded");
  expect(pidsOf(place)).toHaveLength(1);
  expect((await second.client.events({ limit: 100 })).filter(({ kind }) => kind === "started")).toHaveLength(1);
  await stop(second);
  await expectLawsKept(join(place.dir, "state"));
});

test("a daemon that is to stop its tasks stops them, and the next one begins them again at no cost", async () => {
  using place = openPlace();
  const first = await serveIn(place, ["--stop-tasks"]);
  const { run } = await submitted(first.client, place, HELD);
  await until("it runs", () => pidsOf(place).length === 1);
  first.client.close();
  first.started.child.kill("SIGTERM");
  expect((await first.started.ended).err).toContain("SIGTERM: stopping, with 1 running task.\n");
  expect(processesWith(`ROTA_RUN=${run}`)).toEqual([]);
  const second = await serveIn(place);
  await until("it runs again", () => pidsOf(place).length === 2);
  expect(await second.client.why("last", "held")).toMatchObject({ attempt: 2, failures: 0 });
  place.file("go", "");
  await until("it has ended", async () => (await second.client.status("last")).state === "succeeded");
  await stop(second);
});
