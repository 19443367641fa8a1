/**
 * `npm run fuzz -- PARSER|all [--seconds N] [--seed S] [--only NO]`: feeds a parser until the time is up. Inputs that break it are printed, kept in the
 * corpus, and played again with `--seed S --only NO`. The work is done in a thread of its own, so that a parser that hangs can be named.
 */

import { parseArgs } from "node:util";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { corpusOf, type Finding, fuzzOne, keep } from "./driver.ts";
import { PARSERS } from "./parsers.ts";

interface Job {
  readonly name: string;
  readonly seed: number;
  readonly seconds: number;
  readonly only?: number;
  /** The number of the input that is being tried. */
  readonly progress: SharedArrayBuffer;
}
const HANG_MS = 20_000;

if (isMainThread) await supervise();
else await work(workerData as Job);

async function supervise(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      seconds: { type: "string", default: "10" },
      seed: { type: "string", default: "1" },
      only: { type: "string" },
    },
  });
  const [asked = "all"] = positionals;
  const names = PARSERS.map(({ name }) => name).filter((name) => asked === "all" || name === asked);
  if (names.length === 0)
    throw new Error(`There is no parser "${asked}": ${PARSERS.map(({ name }) => name).join(", ")}`);
  for (const name of names) {
    const progress = new SharedArrayBuffer(4);
    const only = values.only === undefined ? {} : { only: Number(values.only) };
    await attend({ name, seed: Number(values.seed), seconds: Number(values.seconds), ...only, progress });
  }
}

function attend(job: Job): Promise<void> {
  const { name, seed, progress } = job;
  const worker = new Worker(new URL(import.meta.url), { workerData: job });
  const at = new Int32Array(progress);
  let last = -1;
  const watch = setInterval(() => {
    const now = Atomics.load(at, 0);
    if (now === last) {
      process.stdout.write(`${name}: HANGS on --seed ${seed} --only ${now}\n`);
      process.exitCode = 1;
      void worker.terminate();
    }
    last = now;
  }, HANG_MS);
  return new Promise((resolve, reject) => {
    worker.on("message", (line: { readonly text: string; readonly isBad: boolean }) => {
      process.stdout.write(`${line.text}\n`);
      if (line.isBad) process.exitCode = 1;
    });
    worker.on("error", reject);
    worker.on("exit", () => {
      clearInterval(watch);
      resolve();
    });
  });
}

async function work({ name, seed, seconds, only, progress }: Job): Promise<void> {
  const parser = PARSERS.find((each) => each.name === name);
  if (parser === undefined || parentPort === null) throw new Error(`There is no parser "${name}"`);
  const at = new Int32Array(progress);
  const corpus = corpusOf(parser);
  const end = performance.now() + seconds * 1_000;
  const known = new Set<string>();
  let no = only ?? 1;
  let most = 0;
  for (; only === undefined ? performance.now() < end : no === only; no++) {
    Atomics.store(at, 0, no);
    const finding = await fuzzOne(parser, corpus, seed, no);
    if (no % 256 === 0) most = Math.max(most, process.memoryUsage().rss);
    if (finding !== undefined) tell(finding, known);
  }
  const megabytes = Math.round(most / 2 ** 20);
  const text = `${name}: ${no - 1} inputs from ${corpus.length} seeds, ${known.size} findings, at most ${megabytes} MB (seed ${seed})`;
  parentPort.postMessage({ text, isBad: false });
  process.exit(0);
}

/** The same fault is told once. */
function tell(finding: Finding, known: Set<string>): void {
  const lines = finding.what.split("\n");
  const fault = `${lines[0]?.replaceAll(/\d+/g, "0")} ${lines[1] ?? ""}`;
  if (known.has(fault)) return;
  known.add(fault);
  const file = keep(finding);
  const text = `${finding.parser}: --seed ${finding.seed} --only ${finding.no}: ${lines.slice(0, 6).join("\n")}\n  kept as ${file}`;
  parentPort?.postMessage({ text, isBad: true });
}
