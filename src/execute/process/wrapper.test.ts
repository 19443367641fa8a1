import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { ProcessIdentity } from "../../domain/task.ts";
import { seededRandom } from "../../effects/random.ts";
import { eventually } from "../conformance.ts";
import { parseTimes, prepareDirectory, readOutcome, takeBegun } from "./directory.ts";
import { orderText } from "./order.ts";
import { readSlot } from "./register.ts";
import { Wrapper, type WrapperWatch } from "./wrapper.ts";

// Real processes on a machine that may be busy.
vi.setConfig({ testTimeout: 30_000 });

const SEED = Number(process.env["SEED"] ?? 17);
const RACES = 200;

let dir: string;
let home: string;
let wrappers: Wrapper[];

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "rota-wrapper-"));
  home = join(dir, "home");
  mkdirSync(home);
  wrappers = [];
});
afterEach(async () => {
  for (const wrapper of wrappers) wrapper.end();
  await Promise.all(wrappers.map((wrapper) => wrapper.closed));
  rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
});

function launch(): Wrapper {
  const wrapper = new Wrapper(join(home, `slot-${wrappers.length}`), "");
  wrappers.push(wrapper);
  return wrapper;
}

/** An attempt that leaves word in `trace`, and its order. */
function attempt(no = 1, shell = `echo ${no} >> ${join(dir, "trace")}`): { directory: string; order: string } {
  const directory = join(dir, "runs", String(no));
  const log = join(directory, "log");
  prepareDirectory(directory, log);
  return { directory, order: orderText({ directory, log, command: { shell }, cwd: dir, env: {}, nice: 0 }, {}) };
}

type End = readonly ["bad" | "died", string] | readonly ["down", number];

/** Tells how it ended. */
function run(wrapper: Wrapper, order: string, up: (process: ProcessIdentity) => void = () => {}): Promise<End> {
  return new Promise((resolve) => {
    const watch: WrapperWatch = {
      up,
      bad: (step) => resolve(["bad", step]),
      down: (status) => resolve(["down", status]),
      died: (words) => resolve(["died", words]),
    };
    wrapper.run(order, watch);
  });
}

const writeOutcome = (directory: string, text: string): void => writeFileSync(join(directory, "outcome"), text);
const trace = (): string[] =>
  existsSync(join(dir, "trace")) ? readFileSync(join(dir, "trace"), "utf8").trim().split("\n") : [];

test("it runs one after the other, and writes down how each ended", async () => {
  const wrapper = launch();
  for (const no of [1, 2, 3]) {
    const { directory, order } = attempt(no, `exit ${no}`);
    expect(await run(wrapper, order)).toEqual(["down", no]);
    expect(readOutcome(directory)).toMatchObject({ status: no });
    expect(readSlot(join(home, "slot-0"))).toMatchObject({ directory });
  }
});

test("an attempt that a scheduler has taken over before does not begin", async () => {
  const { directory, order } = attempt();
  expect(takeBegun(directory)).toEqual({ kind: "void" });
  expect(await run(launch(), order)).toEqual(["bad", "begun"]);
  expect(takeBegun(directory)).toEqual({ kind: "void" });
  expect(trace()).toEqual([]);
});

test("an attempt that has begun says which process it is to the scheduler that comes too late", async () => {
  const { directory, order } = attempt();
  const found: unknown[] = [];
  await run(launch(), order, (process) => found.push([process, takeBegun(directory)]));
  const [[process]] = found as [[ProcessIdentity]];
  // From the moment on in which it was told.
  expect(found).toEqual([[process, { kind: "begun", process, atMs: expect.any(Number) }]]);
  expect(trace()).toEqual(["1"]);
});

test(`of a start and a take-over at the same moment one decides (SEED=${SEED})`, async () => {
  const random = seededRandom(SEED);
  const wrapper = launch();
  const taken = new Set<string>();
  for (let no = 0; no < RACES; no++) {
    const { directory, order } = attempt(no);
    const ended = run(wrapper, order);
    // About as long as a start takes.
    const until = process.hrtime.bigint() + BigInt(Math.floor(random.next() * 1_500_000));
    while (process.hrtime.bigint() < until);
    if (takeBegun(directory).kind === "void") taken.add(String(no));
    await ended;
  }
  const ran = new Set(trace());
  expect([ran.size + taken.size, ran.intersection(taken).size]).toEqual([RACES, 0]);
  expect(Math.min(ran.size, taken.size), "both happened").toBeGreaterThan(0);
});

test("an attempt that begins when its scheduler is gone runs, and not into the closed pipe", async () => {
  for (let no = 0; no < 20; no++) {
    const { directory, order } = attempt(no, "exit 5");
    const wrapper = launch();
    wrapper.run(order, { up() {}, bad() {}, down() {}, died() {} });
    wrapper.forsake();
    await eventually(() => expect(readOutcome(directory)?.status).toBe(5));
  }
});

test("a wrapper whose scheduler's directory was taken away begins nothing", async () => {
  const wrapper = launch();
  await run(wrapper, attempt().order);
  renameSync(home, join(dir, "taken"));
  expect(await run(wrapper, attempt(2).order)).toEqual(["bad", "slot"]);
  expect(trace()).toEqual(["1"]);
});

test("a wrapper that comes up only after that begins nothing either", async () => {
  rmSync(home, { recursive: true });
  expect(await run(launch(), attempt().order)).toEqual(["died", expect.stringContaining("slot-0")]);
  expect(trace()).toEqual([]);
});

test("an order that was cut short does nothing, wherever that was", async () => {
  const { order } = attempt();
  for (let length = 0; length < order.length - 2; length += 7) {
    const wrapper = launch();
    const ended = run(wrapper, order.slice(0, length));
    wrapper.end();
    expect(await ended).toEqual(["died", expect.any(String)]);
  }
  expect(trace()).toEqual([]);
});

test("half a line of outcome is no outcome", () => {
  const { directory } = attempt();
  expect(readOutcome(directory)).toBeUndefined();
  for (const text of ["", "1", "14", "143"]) {
    writeOutcome(directory, text);
    expect(readOutcome(directory)).toBeUndefined();
  }
  writeOutcome(directory, "143\n");
  expect(readOutcome(directory)).toMatchObject({ status: 143 });
});

test("what `times` says is read in any tongue", () => {
  expect(parseTimes("0m0.00s 0m0.00s\n1m2.50s 0m0.25s\n")).toBe(62_750);
  expect(parseTimes("0m0,000s 0m0,000s\n0m0,012s 0m0,003s\n")).toBe(15);
  expect(parseTimes("0m0.00s 0m0.00s\n0m0.01s 0m0")).toBeUndefined();
});
