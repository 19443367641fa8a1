/** A machine that is slow, full, crowded or confused: nothing is lost, no process is killed by mistake, and work goes on when it is over. */
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { createConnection, type Socket } from "node:net";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { bootId } from "../../src/effects/host.ts";
import { hostName } from "../../src/effects/machine.ts";
import { openSqliteStore } from "../../src/store/sqlite/store.ts";
import type { Grant } from "../../src/wire/answers.ts";
import { connect } from "../../src/wire/client.ts";
import { owner } from "../rig/builders.ts";
import { answers, killHard, serveIn, stop, submitted } from "../rig/daemon.ts";
import { childOf, lastJson, openPlace, opens, type Place, type Started, until } from "../rig/rota.ts";
import { canInject, WITHOUT_STRACE } from "../rig/strace.ts";

const BIN = fileURLToPath(new URL("../../bin/rota", import.meta.url));
const ENTRY = fileURLToPath(new URL("../../dist/cli/main.cjs", import.meta.url));
const proofOf = ({ run, task, fence, token }: Grant) => ({ run, task, fence, token });
const prompt = (pool: string) => ({ prompt: "do it", pool });

describe("R15: many that start at once on one directory", () => {
  const ROUNDS = Number(process.env["STARTS"] ?? 12) / 6;
  test(`have one among them that serves; the others say who, and leave (${ROUNDS * 6} starts)`, async () => {
    using place = openPlace();
    for (let round = 0; round < ROUNDS; round++) {
      const started = Array.from({ length: 6 }, () => place.start(["serve", "--json", "--state", "state"]));
      const isOver = ({ child, out }: Started): boolean => out().includes("\n") || child.exitCode !== null;
      await until("each has begun or given up", () => started.every(isOver));
      const serving = started.filter(({ child }) => child.exitCode === null);
      expect(serving).toHaveLength(1);
      const others = await Promise.all(started.filter((each) => !serving.includes(each)).map(({ ended }) => ended));
      for (const { code, err } of others) {
        expect({ code, err }).toEqual({ code: 2, err: expect.stringMatching(/^STATE_BUSY: .*pid \d+/) });
      }
      // The daemon that is left is not disturbed by those that came and went.
      await using client = connect({ state: join(place.dir, "state") });
      expect(await client.info()).toMatchObject({ pid: serving[0]?.child.pid });
      serving[0]?.child.kill(round % 2 === 0 ? "SIGKILL" : "SIGTERM");
      await serving[0]?.ended;
    }
  });
});

describe("R14: what a dead daemon left", () => {
  test("a socket and a record with the pid of a stranger are no hindrance, and the stranger is not harmed", async () => {
    using place = openPlace();
    const stranger = spawn("sleep", ["60"], { stdio: "ignore" });
    onTestFinished(() => void stranger.kill("SIGKILL"));
    const first = await serveIn(place);
    await submitted(first.client, place, { name: "left", tasks: { a: { run: "true" }, b: prompt("agents") } });
    await killHard(first);
    expect(existsSync(join(place.dir, "state", "rota.sock"))).toBe(true);
    await impersonate(place, stranger.pid as number);

    const second = await serveIn(place);
    expect(await second.client.runs()).toMatchObject([{ name: "left" }]);
    await stop(second);
    expect(stranger.exitCode).toBeNull();
    expect(stranger.signalCode).toBeNull();
    expect((await place.rota(["doctor", "--state", "state"])).code).toBe(0);
  });

  /** As if the pids of the daemon, a wrapper and a task had been given to another process since. */
  async function impersonate(place: Place, pid: number): Promise<void> {
    const process = { pid, startTime: "1", bootId: bootId() };
    await using store = openSqliteStore(join(place.dir, "state", "rota.db"));
    await store.acquire({ ...owner("rota serve"), process, host: hostName() });
    const folder = join(place.dir, "state", "processes", "gone");
    const attempt = join(place.dir, "state", "runs", "left", "a", "1");
    for (const path of [folder, attempt]) mkdirSync(path, { recursive: true });
    writeFileSync(join(folder, "slot-1"), `${bootId()} ${pid} 1\n${attempt}\n`);
    writeFileSync(join(attempt, "begun"), `${bootId()} ${pid} 1\n`);
  }
});

describe("R9: a store that is slow or busy", () => {
  test("a writer beside it makes a run wait, not fail", async () => {
    using place = openPlace();
    place.file(
      "plan.json",
      JSON.stringify({ name: "busy", tasks: { a: { run: "true" }, b: { run: "true", needs: ["a"] } } }),
    );
    expect((await place.rota(["run", "plan.json", "--state", "state"])).code).toBe(0);
    using other = new DatabaseSync(join(place.dir, "state", "rota.db"));
    other.exec("begin immediate");
    const { child, ended } = place.start(["run", "plan.json", "--state", "state", "--json"]);
    // It is waiting for the lock once it has opened the file.
    await until("the run has the store open", () => opens(child.pid as number, "rota.db"));
    other.exec("rollback");
    expect(lastJson(await ended)).toMatchObject({ outcome: "succeeded" });
  });

  test("a reader that stays lets the log grow, and when it has gone the log is cut again", async () => {
    using place = openPlace();
    const file = join(place.dir, "rota.db");
    await using store = openSqliteStore(file, { durability: "normal" });
    const acquired = await store.acquire(owner("writer"));
    expect(acquired.ok).toBe(true);
    using reader = new DatabaseSync(file, { readOnly: true });
    reader.exec("begin");
    reader.prepare("select count(*) from page").get();
    const why = "x".repeat(4_000_000);
    const grow = async (times: number): Promise<void> => {
      for (let no = 0; no < times; no++)
        await store.request({ kind: "cancel", run: "r" as never, by: "mo", why, at: 1 as never });
    };
    await grow(12);
    expect(statSync(`${file}-wal`).size).toBeGreaterThan(40 * 2 ** 20);
    reader.exec("commit");
    await grow(2);
    expect(statSync(`${file}-wal`).size).toBeLessThanOrEqual(33 * 2 ** 20);
  });

  test.skipIf(!canInject())(
    `a disk that takes nearly half a second for every commit loses no lease that is renewed${WITHOUT_STRACE}`,
    async () => {
      using place = openPlace();
      const argv = [process.execPath, "--disable-warning=ExperimentalWarning", ENTRY, "serve", "--state", "state"];
      const slow = ["-qq", "-o", "/dev/null", "-e", "trace=fsync", "-e", "inject=fsync:delay_exit=400000:when=20+"];
      const child = spawn("strace", [...slow, ...argv], { cwd: place.dir, stdio: "ignore" });
      onTestFinished(() => void child.kill("SIGKILL"));
      await using client = connect({ state: join(place.dir, "state") });
      await until("it serves", () => answers(client));
      await client.join({ agent: "agents", session: "s1", slots: 8, ttlMs: 6_000 });
      const tasks = Object.fromEntries(Array.from({ length: 8 }, (_, no) => [`t${no}`, prompt("agents")]));
      await submitted(client, place, { name: "slow", tasks });
      const end = performance.now() + 8_000;
      // Each is renewed from the moment it is held, and not when the last one is.
      const hold = async (): Promise<void> => {
        const proof = proofOf((await client.claim({ session: "s1", waitMs: 60_000 })) as Grant);
        while (performance.now() < end) await client.heartbeat(proof);
        expect(await client.complete(proof)).toMatchObject({ state: "succeeded" });
      };
      await Promise.all(Array.from({ length: 8 }, hold));
      const kinds = (await client.events({ limit: 1_000 })).map(({ kind }) => kind);
      expect(kinds).not.toContain("expired");
      client.close();
      process.kill(childOf(child.pid as number), "SIGTERM");
      await new Promise((resolve) => child.once("exit", resolve));
    },
  );
});

describe("R12: when there are no file descriptors left", () => {
  test("connected callers are heard, others are turned away, and afterwards it is as before", async () => {
    using place = openPlace();
    const child = spawn("sh", ["-c", `ulimit -n 64; exec ${BIN} serve --state state`], {
      cwd: place.dir,
      stdio: "ignore",
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    const state = join(place.dir, "state");
    await using client = connect({ state });
    await until("it serves", () => answers(client));
    await client.join({ agent: "agents", session: "s1", ttlMs: 600_000 });
    await submitted(client, place, { name: "crowded", tasks: { a: prompt("agents"), b: prompt("agents") } });
    const grant = (await client.claim({ session: "s1", waitMs: 5_000 })) as Grant;

    const crowd = await crowdAt(join(state, "rota.sock"), 90);
    expect(await client.heartbeat(proofOf(grant))).toMatchObject({ fence: 1 });
    for (const socket of crowd) socket.destroy();
    expect(await client.complete(proofOf(grant))).toMatchObject({ state: "succeeded" });
    await using late = connect({ state });
    await until("others are heard again", () => answers(late));
    await late.join({ agent: "agents", session: "s2" });
    const next = (await late.claim({ session: "s2", waitMs: 5_000 })) as Grant;
    expect(await late.complete(proofOf(next))).toMatchObject({ state: "succeeded" });
    child.kill("SIGTERM");
    await new Promise((resolve) => child.once("exit", resolve));
  });
});

/** Connections that say nothing, until each is open or was turned away. */
function crowdAt(path: string, count: number): Promise<readonly Socket[]> {
  return Promise.all(
    Array.from(
      { length: count },
      () =>
        new Promise<Socket>((resolve) => {
          const socket = createConnection(path);
          socket.once("connect", () => resolve(socket));
          socket.on("error", () => resolve(socket));
        }),
    ),
  );
}
