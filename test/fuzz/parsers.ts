/** Every parser of text from outside, and what it promises beside not breaking. */
import { deepStrictEqual } from "node:assert/strict";
import { mkdtempSync, writeFileSync } from "node:fs";
import { open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { loadConfig, variableOf } from "../../src/app/config/config.ts";
import { SETTING_NAMES } from "../../src/app/config/settings.ts";
import { diagnoseManifest } from "../../src/app/look/doctor-manifest.ts";
import { readDurations } from "../../src/app/simulate/durations.ts";
import { LineCleaner, readOn, tailStart } from "../../src/cli/commands/look/log-bytes.ts";
import { COMMANDS } from "../../src/cli/frame/commands.ts";
import { parseCommandLine } from "../../src/cli/frame/parse.ts";
import { formatBytes, parseBytes } from "../../src/domain/amounts/size.ts";
import { DURATION_MAX, formatDuration, parseDuration } from "../../src/domain/time.ts";
import { parseIdentity, parseOutcome } from "../../src/execute/process/directory.ts";
import { parseSlot } from "../../src/execute/process/register.ts";
import { parseAddress } from "../../src/http/address.ts";
import { queryOf, readRequest } from "../../src/http/input.ts";
import { serveStdio } from "../../src/mcp/stdio.ts";
import { namesTaken } from "../../src/plan/check/shell-names.ts";
import { readEdit } from "../../src/plan/edit.ts";
import { parsePlan } from "../../src/plan/plan.ts";
import { readFastYaml } from "../../src/plan/read/yaml-fast.ts";
import { readFullYaml } from "../../src/plan/read/yaml-full.ts";
import { type Line, LineCutter } from "../../src/std/lines.ts";
import { fromLedgerRow, type LedgerRow } from "../../src/store/ledger.ts";
import { Pager, rowsOn } from "../../src/store/sqlite/ledger/pages.ts";

import { neutralize } from "../../src/views/text/text.ts";
import { eventReader, type Message } from "../../src/wire/event-stream.ts";
import type { Route } from "../../src/wire/route.ts";
import { ROUTES } from "../../src/wire/routes.ts";
import { task } from "../rig/builders.ts";
import { ManualClock } from "../rig/clock.ts";
import { fakeDaemon, grant } from "../rig/mcp-daemon.ts";
import type { Parser } from "./driver.ts";
import { growJson, growYaml } from "./grammar.ts";
import { speakLines } from "./line-connection.ts";
import { below, oneOf } from "./mutate.ts";

const folder = mkdtempSync(join(tmpdir(), "rota-fuzz-"));
process.once("exit", () => void rm(folder, { recursive: true, force: true }));

/** A promise of the parser's own. */
function promise(holds: boolean, what: string): void {
  if (!holds) throw new Error(`broken: ${what}`);
}

/** What must not reach a terminal. */
const hasControl = (text: string): boolean => /\p{Cc}/u.test(text);

async function readPlan(input: Buffer, file: string): Promise<void> {
  const result = await parsePlan(input, file);
  if (result.ok) return void JSON.stringify(result.value.plan.tasks);
  promise(result.error.length > 0, "a plan that is refused has a reason");
  for (const { line, column, message } of result.error) {
    promise(line >= 1 && column >= 1, "a diagnostic has a place");
    promise(!hasControl(message), "a diagnostic can be shown");
  }
}

/** The quick reader of YAML understands less than the whole one, and the same where it does. */
function readBoth(input: Buffer): void {
  const text = input.toString("utf8").toWellFormed();
  const fast = readFastYaml(text);
  if (fast === undefined) return;
  const full = readFullYaml(text);
  promise(full.ok, "what the quick reader takes the whole one takes too");
  if (full.ok && full.value.findings.length === 0) deepStrictEqual(plain(fast.value), plain(full.value.value));
}
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value) ?? "null");

const PLANS = [
  "name: a\ntasks:\n  b: {run: echo hi, needs: [c], env: {A: x}}\n  c:\n    run: |\n      make\n    timeout: 5m\n",
  '{"name":"a","tasks":{"b":{"run":["echo","hi"],"retry":{"attempts":3,"backoff":"1s"},"resources":{"cpu":0.5}}}}',
  "tasks:\n- id: x\n  run: 'a b'\n  matrix: {os: [l, m]}\n- {id: y, run: z, needs: [x]}\n",
];

export const PARSERS: readonly Parser[] = [
  { name: "plan-yaml", seeds: PLANS, also: ["plans"], grow: growYaml, run: (input) => readPlan(input, "plan.yaml") },
  { name: "plan-json", seeds: PLANS, also: ["plans"], grow: growJson, run: (input) => readPlan(input, "plan.json") },
  { name: "yaml-both", seeds: PLANS, also: ["plans"], grow: growYaml, run: readBoth },
  {
    name: "config-file",
    seeds: [
      "workers: 4\nleaseTtl: 30s\nheartbeat: 10s\npools:\n  agents: {mode: push, wake: [tmux, send-keys]}\n",
      "{}",
    ],
    grow: growYaml,
    run: async (input) => {
      writeFileSync(join(folder, "rota.config.yaml"), input);
      await loadConfig({ cwd: folder, env: {}, flags: {} });
    },
  },
  {
    name: "settings",
    seeds: ["30s", "4", "0.5", "a,b c", '{"agents":{"mode":"push"}}', "full", "64MiB"],
    run: async (input, random) => {
      const setting = oneOf(random, SETTING_NAMES);
      const text = input.toString("utf8").replaceAll("\0", "");
      const from =
        random.next() < 0.5
          ? { env: { [variableOf(setting)]: text }, flags: {} }
          : { env: {}, flags: { [setting]: text } };
      await loadConfig({ cwd: "/nonexistent", ...from });
    },
  },
  {
    name: "command-line",
    seeds: COMMANDS.flatMap(({ examples }) => examples.map((example) => example.replace(/^rota /, ""))),
    run: (input) => parseCommandLine(input.toString("utf8").split(" "), COMMANDS),
  },
  {
    name: "api-body",
    seeds: [
      '{"text":"tasks: {}","file":"p.yaml","directory":"/tmp","key":"k"}',
      '{"session":"s1","agent":"claude","pool":"p","capabilities":["gpu"],"slots":2,"ttlMs":1000}',
      '{"run":"r-1","task":"t","fence":1,"token":"x","kind":"auth","message":"m","why":"w","note":"n"}',
      '{"waitMs":100,"limit":5,"after":3}',
    ],
    grow: growJson,
    run: (input, random) => {
      const { request } = oneOf(random, Object.values(ROUTES) as readonly Route[]);
      if (random.next() < 0.3) return void readRequest(request, queryOf(input.toString("utf8"), request));
      let value: unknown;
      try {
        value = JSON.parse(input.toString("utf8"));
      } catch {
        return;
      }
      const read = readRequest(request, value);
      // What was read is understood again as the same.
      deepStrictEqual(plain(readRequest(request, plain(read))), plain(read));
    },
  },
  {
    name: "address",
    seeds: ["127.0.0.1:7777", "[::1]:80", "localhost:0"],
    run: (input) => parseAddress(input.toString()),
  },
  { name: "mcp", seeds: MCP_SEEDS(), grow: growJson, run: speakMcp },
  {
    name: "channel",
    seeds: [
      '{"id":1,"method":"POST","path":"/v1/claims","body":{"session":"s1"}}\n{"id":2,"method":"GET","path":"/v1/daemon"}\n',
      '{"id":1,"method":"POST","path":"/v1/claims","body":{"session":"s1","waitMs":50}}\n{"id":1,"cancel":true}\n',
      '{"id":3,"method":"GET","path":"/v1/runs/last?x=1","by":"mo"}\n',
    ],
    grow: growJson,
    run: (input, random) => speakLines(pieces(input, () => random.next())),
  },
  { name: "lines", seeds: ["a\nb\n", "\n\n", "{}\n"], run: cutLines },
  {
    name: "log",
    seeds: ["plain\n", "\x1b[31mred\x1b[0m\r\n50%\r100%\n", "\x1b]0;t\x07x\x1b]8;;http://e\x1b\\l\n"],
    run: showLog,
  },
  {
    name: "ledger-row",
    seeds: ['{"worker":"w","deadline":5,"evidence":{"lane":"high"}}', '{"outcome":{"kind":"exit","code":1}}'],
    grow: growJson,
    run: readRow,
  },
  { name: "event-stream", seeds: ["id: 1\ndata: {}\n\n", ": hi\n\ndata: a\ndata: b\n\n"], run: readStream },
  {
    name: "attempt-files",
    seeds: [
      "7\n0m0.00s 0m0.01s\n0m1.20s 0m0.30s\n",
      "8c3f 4711 815\n",
      "8c3f 4711 815\n/state/runs/run/task/1\n0m0.00s 0m0.01s\n0m1.20s 0m0.30s\n",
    ],
    run: (input) => {
      const text = input.toString("utf8");
      const outcome = parseOutcome(text);
      promise(outcome === undefined || (text.includes("\n") && outcome.status < 1_000), "an outcome is a whole line");
      const identity = parseIdentity(text);
      promise(identity === undefined || identity.pid > 0, "an identity names a process");
      promise(parseSlot("slot", text) === undefined || identity !== undefined, "a slot names its wrapper");
    },
  },
  {
    name: "edit",
    seeds: [
      '{"title":"x","priority":"high","retry":{"attempts":2},"timeout":"5m"}',
      '{"run":"echo","env":{"A":"b"},"labels":{"a":"b"}}',
    ],
    grow: growJson,
    run: (input) => {
      const spec = task("a");
      const changes = readEdit(input.toString("utf8"), spec);
      promise(!("id" in changes || "needs" in changes || "after" in changes), "an edit leaves the graph alone");
      JSON.stringify({ ...spec, ...changes });
    },
  },
  {
    name: "durations-file",
    seeds: ['{"a":1200,"b":0}', "{}"],
    grow: growJson,
    run: async (input) => {
      const file = join(folder, "durations.json");
      writeFileSync(file, input);
      await readDurations(file, "durations.json", [task("a"), task("b")]);
    },
  },
  {
    name: "manifest",
    seeds: ['{"manifest":1}', "{}"],
    grow: growJson,
    run: async (input) => {
      const file = join(folder, "run.json");
      writeFileSync(file, input);
      for await (const { message } of diagnoseManifest(file)) promise(message !== "", "every finding says something");
    },
  },
  {
    name: "shell-names",
    seeds: ["echo $A \"$B$C\" '$D' `x $E`", "cat <<'END'\n$A\nEND\n(cd $B) # $C", "x=$((y + $z)); read a b <<< $c"],
    run: (input) => void namesTaken(input.toString("utf8")),
  },
  { name: "amounts", seeds: ["1h30m", "250ms", "0s", "1.5GB", "512MiB", "3d04h", "1".repeat(60)], run: readAmount },
];

function MCP_SEEDS(): string[] {
  const call = (name: string, args: object): string =>
    JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: args } });
  return [
    JSON.stringify({
      jsonrpc: "2.0",
      id: 0,
      method: "initialize",
      params: { protocolVersion: "2025-06-18", clientInfo: { name: "x" } },
    }),
    JSON.stringify([{ jsonrpc: "2.0", id: 1, method: "ping" }]),
    call("claim_next", { waitMs: 5 }),
    call("complete", { task: "a", fence: 1 }),
    call("submit_plan", { text: "tasks: {}" }),
  ];
}

async function speakMcp(line: Buffer): Promise<void> {
  const faults: unknown[] = [];
  const { service } = fakeDaemon({ claim: async () => grant(), assignment: async () => undefined });
  const noPlan = new Error("no such file");
  const [input, output] = [new PassThrough(), new PassThrough()];
  const clock = new ManualClock();
  const served = serveStdio({
    ...{ service, clock, input, output, version: "0" },
    readPlan: () => Promise.reject(noPlan),
    onFault: (error) => error !== noPlan && faults.push(error),
  });
  input.end(line);
  await clock.advance(10_000);
  await clock.advance(10_000);
  await served;
  if (faults.length > 0) throw faults[0];
}

const pieces = function* (input: Buffer, next: () => number): Generator<Buffer> {
  for (let at = 0; at < input.length; ) {
    const size = 1 + Math.floor(next() * Math.max(1, input.length / 2));
    yield input.subarray(at, at + size);
    at += size;
  }
};

/** However it is cut into pieces, the lines are the same. */
function cutLines(input: Buffer, random: { next(): number }): void {
  const whole = new LineCutter(1_000);
  const parts = new LineCutter(1_000);
  const shown = (line: Line): unknown => ("bytes" in line ? line.bytes.toString("latin1") : line);
  const expected = [...whole.push(input), ...whole.end()].map(shown);
  const found = [...pieces(input, () => random.next())].flatMap((piece) => parts.push(piece).map(shown));
  deepStrictEqual([...found, ...parts.end().map(shown)], expected);
}

async function showLog(input: Buffer, random: { next(): number }): Promise<void> {
  const cleaner = new LineCleaner();
  let shown = "";
  for (const piece of pieces(input, () => random.next())) shown += cleaner.take(piece);
  shown += cleaner.end();
  promise(!hasControl(shown.replaceAll(/[\t\n]/g, "")), "no control character is shown");
  promise(!hasControl(neutralize(input.toString("utf8"))), "nothing is left of control characters");
  const file = join(folder, "log");
  writeFileSync(file, input);
  await using log = await open(file);
  const from = await tailStart(log, below(random, 5));
  promise(from >= 0 && from <= input.length, "a tail begins in the log");
  promise((await readOn(log, from, async () => {})) === input.length, "a tail ends where the log does");
}

/** The fields of an event are ours; what is inside them is not. */
function readRow(input: Buffer): void {
  let note: unknown;
  try {
    note = JSON.parse(input.toString("utf8"));
  } catch {
    return;
  }
  const row: LedgerRow = { seq: 1, at: 2, run: 1, task: 0, version: 1, attempt: 1, kind: "noted", data: { note } };
  const read: LedgerRow[] = [];
  const pager = new Pager((page) => read.push(...rowsOn(page)));
  pager.add(fromLedgerRow(row));
  pager.end();
  // As JSON has it, which knows no negative zero.
  deepStrictEqual(read, [JSON.parse(JSON.stringify(row))]);
}

/** However it comes in pieces, the messages are the same. */
function readStream(input: Buffer, random: { next(): number }): void {
  const text = input.toString("utf8");
  const read = (parts: readonly string[]): readonly Message[] => {
    const found: Message[] = [];
    const feed = eventReader((message) => found.push(message));
    for (const part of parts) feed(part);
    return found;
  };
  const at = below(random, text.length + 1);
  deepStrictEqual(read([text.slice(0, at), text.slice(at)]), read([text]));
}

function readAmount(input: Buffer): void {
  const text = input.toString("utf8");
  const span = parseDuration(text);
  if (span !== undefined) {
    promise(
      Number.isInteger(span) && span >= 0 && span <= DURATION_MAX,
      "a duration is a whole number of milliseconds",
    );
    promise(
      parseDuration(formatDuration(span)) !== undefined || span > DURATION_MAX * 0.99,
      "what is said of it is a duration again",
    );
  }
  const size = parseBytes(text);
  if (size === undefined) return;
  promise(Number.isSafeInteger(size) && size >= 0, "a size is a whole number of bytes");
  promise(parseBytes(formatBytes(size)) !== undefined, "what is said of it is a size again");
}
