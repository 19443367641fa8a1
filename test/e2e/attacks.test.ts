/**
 * The machine turns against the program: its disk fails, is full or read-only, its state directory is removed, there are no more open files,
 * its clock is set. Each ends in one clear sentence and the right exit code, with nothing lost and nothing left running.
 * `ATTACKS=100 npx vitest run test/e2e/attacks` tries a hundred disk errors; `SEED=N` says which is the first.
 */
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { callUntilDead, expectKept } from "../rig/answered.ts";
import { serveIn, stop, submitted } from "../rig/daemon.ts";
import { type Ended, openPlace, type Place, processesIn, type Started, until } from "../rig/rota.ts";
import {
  CALLS,
  canInject,
  countCalls,
  ERRORS,
  each,
  type Fault,
  inject,
  nameOf,
  WITHOUT_STRACE,
} from "../rig/strace.ts";

const ATTACKS = Number(process.env["ATTACKS"] ?? 6);
const FIRST = Number(process.env["SEED"] ?? 1);
const LIMIT = 240_000 + ATTACKS * 20_000;
const ENTRY = fileURLToPath(new URL("../../dist/cli/main.cjs", import.meta.url));
const NODE = [process.execPath, "--disable-warning=ExperimentalWarning", ENTRY];
const RUN = ["run", "plan.json", "--state", "state", "--resume"];
const TASKS = 8;
/** Writing to the terminal is no matter of a disk. */
const DISK_CALLS = CALLS.filter((call) => call !== "write" && call !== "link");

const traced = (no: number): string => `t${no}`;
/** One of them lasts, so that there is something to stop. */
const plan = JSON.stringify({
  name: "attacked",
  tasks: {
    long: { run: 'sleep "$(cat nap)"; echo long >> trace' },
    ...Object.fromEntries(
      Array.from({ length: TASKS }, (_, no) => [
        traced(no),
        { run: `echo t${no} >> trace`, ...(no >= 2 && { needs: [traced(no - 2)] }) },
      ]),
    ),
  },
});

function attacked(napSeconds: number): Place {
  const place = openPlace();
  place.file("plan.json", plan);
  place.file("nap", String(napSeconds));
  place.file("trace", "");
  return place;
}

/** What the person at the terminal reads: nothing, or one sentence that says what happened and what to do. */
function expectPlain({ code, signal, err }: Ended, what: string): void {
  expect({ code, signal, err }, what).toMatchObject({ code: expect.toBeOneOf([0, 2]), signal: null });
  const told = err.split("\n").filter((line) => line !== "" && !/^(?:Serving |SIG)/.test(line));
  const plain = code === 0 ? [] : [expect.stringMatching(/^(?:STORE_FAILED|STATE_UNUSABLE|MACHINE_SHORT): .+ \(.+\)$/)];
  expect(told, what).toEqual(plain);
}

/** A daemon and what it started work in the place of the test. What was told to end may need a moment to do so. */
const nothingRuns = (place: Place, what: string): Promise<void> =>
  until(
    `nothing runs (${what}): ${processesIn(place.dir).join("; ")}`,
    () => processesIn(place.dir).length === 0,
    1_500,
  );

/** Each task that was said to have succeeded has run once, and the rest is done by going on. */
async function expectWhole(place: Place, { out }: Pick<Ended, "out">, what: string): Promise<void> {
  place.file("nap", "0");
  const end = await place.rota(RUN);
  expect({ code: end.code, err: end.err }, what).toEqual({ code: 0, err: "" });
  const ran = place.read("trace").trim().split("\n");
  const told = [...out.matchAll(/✔ (t\d+|long)/g)].map(([, task]) => task);
  for (const task of told) expect(ran.filter((each) => each === task).length, `${what}: ${task}`).toBe(1);
  expect(new Set(ran).size, what).toBe(TASKS + 1);
  const doctor = await place.rota(["doctor", "--state", "state"]);
  expect(doctor.code, `${what}: ${doctor.out}`).toBe(0);
}

const program = (place: Place, args: readonly string[]) => ({
  argv: [...NODE, ...args],
  cwd: place.dir,
  env: { ...process.env, NO_COLOR: "1" },
});

describe.skipIf(!canInject())(`a disk that fails at a random call${WITHOUT_STRACE}`, () => {
  /** The same number in, the same fault out. */
  function faultOf(seed: number, counts: Readonly<Record<string, number>>): Fault {
    const registry = (salt: number, below: number): number =>
      Math.floor((Math.abs(Math.sin(seed * 97.13 + salt * 7.77)) * 10_000) % below);
    const call = DISK_CALLS[registry(1, DISK_CALLS.length)] as Fault["call"];
    const how = ERRORS[registry(2, ERRORS.length)] as Fault["how"];
    return { call, how, at: 1 + registry(3, Math.max(1, counts[call] ?? 1)), lasting: registry(4, 2) === 0 };
  }
  const seeds = Array.from({ length: ATTACKS }, (_, no) => FIRST + no);

  test(
    `ends \`rota run\` and \`rota serve\` plainly, and nothing is lost (${ATTACKS} errors, from seed ${FIRST})`,
    async () => {
      using calm = attacked(0);
      const counts = await countCalls(program(calm, RUN));
      const codes: Record<string, number> = {};
      await each(seeds, 2, async (seed) => {
        const fault = faultOf(seed, counts);
        const what = `SEED=${seed}: ${nameOf(fault)}`;
        using place = attacked(3);
        const ended = seed % 3 === 0 ? await attackServe(place, fault, what) : await attackRun(place, fault, what);
        codes[ended] = (codes[ended] ?? 0) + 1;
      });
      if (ATTACKS > 6) process.stderr.write(`disk errors: ${JSON.stringify(codes)}\n`);
    },
    LIMIT,
  );

  test.each<Fault>([
    { call: "pwrite64", how: "EIO", at: 15, lasting: true },
    { call: "fsync", how: "EIO", at: 9, lasting: true },
    { call: "fsync", how: "EROFS", at: 12, lasting: true },
  ])("ends `rota run` as STORE_FAILED, and what was ended with it is begun again: $how at $call $at", async (fault) => {
    using place = attacked(3);
    expect(await attackRun(place, fault, nameOf(fault))).toBe("run 2 STORE_FAILED");
  });

  async function attackRun(place: Place, fault: Fault, what: string): Promise<string> {
    const ended = await inject(fault, program(place, RUN));
    expectPlain(ended, what);
    await nothingRuns(place, what);
    await expectWhole(place, ended, what);
    return `run ${ended.code} ${ended.err.split(":")[0]}`;
  }

  async function attackServe(place: Place, fault: Fault, what: string): Promise<string> {
    const dead = inject(fault, program(place, ["serve", "--json", "--state", "state", "--stop-tasks"]));
    const answered = await callUntilDead(place, dead, "SIGTERM");
    const ended = await dead;
    expectPlain(ended, what);
    await nothingRuns(place, what);
    const again = await serveIn(place);
    await expectKept(again.client, place, answered, what);
    await stop(again);
    const doctor = await place.rota(["doctor", "--state", "state"]);
    expect(doctor.code, `${what}: ${doctor.out}`).toBe(0);
    return `serve ${ended.code} ${/^[A-Z]+_[A-Z]+/m.exec(ended.err)?.[0] ?? ""}`;
  }
});

/** Runs until the first tasks are done and the long one runs. */
async function underWay(started: Started): Promise<void> {
  await until("tasks are done", () => started.out().includes("✔ t7") || started.child.exitCode !== null);
}

describe("a state directory that is removed while it is used", () => {
  const GONE = /^STATE_UNUSABLE: [^\n]* was removed or replaced while it was in use \([^\n]+\)$/m;

  test("ends `rota run`, and what it ran", async () => {
    using place = attacked(20);
    const started = place.start(RUN);
    await underWay(started);
    rmSync(join(place.dir, "state"), { recursive: true, maxRetries: 5 });
    const ended = await started.ended;
    expect(ended.err).toMatch(GONE);
    expectPlain(ended, "removed");
    expect(ended.out).not.toContain("succeeded");
    await nothingRuns(place, "removed");
    expect(existsSync(join(place.dir, "state"))).toBe(false);
  });

  test.each([
    ["with nothing to do", false],
    ["with tasks that run", true],
  ])("ends `rota serve` %s", async (_, busy) => {
    using place = attacked(20);
    const { started, client } = await serveIn(place);
    if (busy) {
      await submitted(client, place, JSON.parse(plan) as object);
      await until("the long task runs", () => processesIn(place.dir).some((each) => each.includes("sleep 20")));
    }
    rmSync(join(place.dir, "state"), { recursive: true, maxRetries: 5 });
    const ended = await started.ended;
    client.close();
    expect(ended.err).toMatch(GONE);
    expectPlain(ended, "removed");
    await nothingRuns(place, "removed");
    expect(existsSync(join(place.dir, "state"))).toBe(false);
  });
});

describe("when there are hardly any open files", () => {
  test.each([
    ["run", RUN],
    ["serve", ["serve", "--state", "state"]],
  ])("`rota %s` says so", async (_, args) => {
    using place = attacked(0);
    const child = spawn("sh", ["-c", 'ulimit -n 24; exec "$@"', "sh", ...NODE, ...args], { cwd: place.dir });
    const ended = await endOf(child);
    expectPlain(ended, "ulimit");
    expect(ended.err).toMatch(/^MACHINE_SHORT: .*too many open files.*ulimit -n/);
    await nothingRuns(place, "ulimit");
  });
});

function endOf(child: ReturnType<typeof spawn>): Promise<Ended> {
  onTestFinished(() => void child.kill("SIGKILL"));
  let [out, err] = ["", ""];
  child.stdout?.setEncoding("utf8").on("data", (chunk: string) => (out += chunk));
  child.stderr?.setEncoding("utf8").on("data", (chunk: string) => (err += chunk));
  return new Promise((resolve) => child.once("close", (code, signal) => resolve({ code, signal, out, err })));
}

const canMount = ((): boolean => {
  using place = openPlace();
  if (spawnSync("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", place.dir]).status !== 0) return false;
  return spawnSync("umount", [place.dir]).status === 0;
})();
const WITHOUT_MOUNT = canMount ? "" : " (skipped: only root may mount a file system)";

describe.skipIf(!canMount)(`a small disk of its own${WITHOUT_MOUNT}`, () => {
  async function mounted(place: Place, options: string, act: (state: string) => Promise<void>): Promise<void> {
    const state = join(place.dir, "state");
    mkdirSync(state, { recursive: true });
    expect(spawnSync("mount", ["-t", "tmpfs", "-o", `mode=700,${options}`, "tmpfs", state]).status).toBe(0);
    try {
      await act(state);
    } finally {
      spawnSync("umount", ["-l", state]);
    }
  }

  test.each([128, 256, 320, 400, 512])("of %d KiB that is full from the start", async (size) => {
    using place = attacked(0);
    await mounted(place, `size=${size}k`, async (state) => {
      const ended = await place.rota(RUN);
      expectPlain(ended, "full");
      await nothingRuns(place, "full");
      expect(spawnSync("mount", ["-o", "remount,size=2g", state]).status).toBe(0);
      await expectWhole(place, ended, "full");
    });
  });

  test("that is filled while tasks run", async () => {
    using place = attacked(2);
    await mounted(place, "size=8m", async (state) => {
      const started = place.start(RUN);
      await underWay(started);
      const filler = join(state, "filler");
      spawnSync("dd", ["if=/dev/zero", `of=${filler}`, "bs=4k"]);
      const ended = await started.ended;
      expectPlain(ended, "filled");
      await nothingRuns(place, "filled");
      rmSync(filler);
      expect(spawnSync("mount", ["-o", "remount,size=2g", state]).status).toBe(0);
      await expectWhole(place, ended, "filled");
    });
  });

  test("that can only be read", async () => {
    using place = attacked(0);
    await mounted(place, "size=8m,ro", async () => {
      const ended = await place.rota(RUN);
      expectPlain(ended, "read-only");
      expect(ended.code).toBe(2);
      expect(ended.err).toMatch(/read-only/);
    });
  });
});

const canLimit =
  spawnSync("setpriv", ["--reuid", "54321", "--clear-groups", "prlimit", "--nproc=100", "true"]).status === 0;
const WITHOUT_LIMIT = canLimit ? "" : " (skipped: only root may run as another user)";

describe.skipIf(!canLimit)(`a machine that has no room for more processes${WITHOUT_LIMIT}`, () => {
  test("runs fewer tasks at once, says why, and takes no attempt from them", async () => {
    using place = openPlace();
    const tasks = Object.fromEntries(Array.from({ length: 8 }, (_, no) => [`t${no}`, { run: "exec sleep 0.5" }]));
    place.file("plan.json", JSON.stringify({ name: "short", tasks }));
    spawnSync("chmod", ["-R", "a+rwX", place.dir]);
    const limited = ["--reuid", "54321", "--clear-groups", "prlimit", "--nproc=14"];
    const child = spawn("setpriv", [...limited, ...NODE, "run", "plan.json", "--state", "state", "--workers", "8"], {
      cwd: place.dir,
    });
    let why = "";
    const ended = endOf(child);
    await until("the machine is short", async () => {
      if (child.exitCode !== null) return true;
      const { out } = await place.rota(["status", "--json", "--state", "state"]);
      why = out;
      return out.includes('"shortage"');
    });
    expect(why).toContain("cannot start a process now");
    const { code, err } = await ended;
    expect({ code, err }).toEqual({ code: 0, err: "" });
    const { out } = await place.rota(["events", "--json", "--state", "state"]);
    const refused = out.split("\n").filter((line) => line.includes('"kind":"shortage"'));
    expect(refused.length).toBeGreaterThan(0);
    expect(refused.length).toBeLessThan(16);
    for (const line of refused) expect(line).toContain('"costs":false');
    expect(out).not.toMatch(/"kind":"(?:parked|expired|failed)"/);
  });
});

const FAKETIME = ["/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1", "/usr/lib/faketime/libfaketimeMT.so.1"].find(
  existsSync,
);
const WITHOUT_FAKETIME = FAKETIME === undefined ? " (skipped: this machine has no libfaketime)" : "";

describe.skipIf(FAKETIME === undefined)(`a clock that is set while tasks run${WITHOUT_FAKETIME}`, () => {
  test.each(["+1h", "-1h", "+400d", "-400d"])("by %s", async (jump) => {
    using place = attacked(0);
    const tasks = {
      long: { run: "sleep 1.5; echo long >> trace", timeout: "20s" },
      after: { run: "echo after >> trace", needs: ["long"] },
    };
    place.file("plan.json", JSON.stringify({ name: "clock", tasks }));
    const time = join(place.dir, "time");
    writeFileSync(time, "+0");
    const env = {
      LD_PRELOAD: FAKETIME as string,
      FAKETIME_TIMESTAMP_FILE: time,
      FAKETIME_NO_CACHE: "1",
      FAKETIME_DONT_FAKE_MONOTONIC: "1",
    };
    const started = place.start([...RUN, "--json"], env);
    await until("the task runs", () => processesIn(place.dir).some((each) => each.includes("sleep 1.5")));
    writeFileSync(time, jump);
    const ended = await started.ended;
    expectPlain(ended, jump);
    expect(ended.code).toBe(0);
    expect(readFileSync(join(place.dir, "trace"), "utf8")).toBe("long\nafter\n");
    const { out } = await place.rota(["events", "--json", "--state", "state"]);
    expect(out).not.toMatch(/timeout|retried|expired/);
    expect((await place.rota(["doctor", "--state", "state"])).code).toBe(0);
  });
});
