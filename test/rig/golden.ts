/** What the program says in a story, kept in files to compare with: one file for each thing it said. */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join, resolve } from "node:path";
import { type Ended, openPlace, type Place, type Started, until } from "./rota.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const FOLDER = join(ROOT, "test/golden");
const { version: VERSION } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { version: string };

/** The same words, times and settings on every machine. */
const ENV = { USER: "mo", TZ: "UTC", LANG: "C.UTF-8", ROTA_GRACE: "200ms", ROTA_WORKERS: "2" };

interface Kept {
  /** Nothing in it varies, so every number stays. */
  readonly exact?: boolean;
  /** A part of what was printed, such as the words in a picture. */
  readonly only?: (out: string) => string;
}

/** One story: a directory, the commands that are given there, and what they said. */
export class Golden implements AsyncDisposable {
  readonly place: Place = openPlace();
  readonly #story: string;
  readonly #said = new Map<string, string>();
  readonly #runs: string[] = [];
  readonly #started: Started[] = [];

  constructor(story: string) {
    this.#story = story;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { child, ended } of this.#started) {
      child.kill("SIGKILL");
      await ended;
    }
    this.place[Symbol.dispose]();
  }

  plan(text: string, name = "plan.yaml"): void {
    this.place.file(name, text);
  }

  /** Begins a command and leaves it running; what is still there when the story is over is killed. */
  start(...args: readonly string[]): Started {
    const started = this.place.start(args, ENV);
    this.#started.push(started);
    return started;
  }

  /** A scheduler for many, once it answers. */
  async serve(...args: readonly string[]): Promise<Started> {
    const daemon = this.start("serve", ...args);
    await until("the daemon answers", () => /^Serving /m.test(daemon.out() + daemon.err()));
    return daemon;
  }

  /** A command whose words are not kept. */
  ask(...args: readonly string[]): Promise<Ended> {
    return this.place.rota(args, ENV);
  }

  /** A command whose words are kept. */
  async says(args: readonly string[], how: Kept = {}): Promise<Ended> {
    const ended = await this.ask(...args);
    this.keep(`rota ${args.join(" ")}`, ended, how);
    return ended;
  }

  /** Kept once the task is in this state. */
  async waitFor(task: string, state: string): Promise<void> {
    await until(`${task} is ${state}`, async () => {
      const { code, out } = await this.ask("why", task, "--json");
      return code === 0 && (JSON.parse(out) as { state: string }).state === state;
    });
  }

  /** Every event of the story, or those of its newest run, told task by task: what happens to different tasks at once has no order. */
  async events(...of: readonly string[]): Promise<void> {
    const ended = await this.ask("events", "--json", ...of);
    this.keep(`rota events --json ${of.join(" ")}`.trimEnd(), { ...ended, out: byTask(ended.out) });
  }

  keep(what: string, { code, signal, out, err }: Ended, { exact = false, only = (text) => text }: Kept = {}): void {
    const number = String(this.#said.size + 1).padStart(2, "0");
    const slug = this.#withoutPlace(what)
      .replace(/^rota /, "")
      .replace(/[^\w.]+/g, "-");
    const name = `${number}-${slug.slice(0, 60).replace(/-$/, "")}.txt`;
    const parts = [`$ ${what}\n`, `${signal === null ? `exit ${code}` : signal}\n`];
    if (out !== "") parts.push("--- out\n", only(out));
    if (err !== "") parts.push("--- err\n", err);
    const text = this.#withoutPlace(parts.join(""));
    this.#said.set(name, exact ? text : withoutTimes(text));
  }

  /** Writes the files anew when asked to; gives what they say and what was said now. */
  compare(): { readonly kept: Readonly<Record<string, string>>; readonly now: Readonly<Record<string, string>> } {
    const folder = join(FOLDER, this.#story);
    if (process.env["UPDATE"] !== undefined) {
      rmSync(folder, { recursive: true, force: true });
      mkdirSync(folder, { recursive: true });
      for (const [name, text] of this.#said) writeFileSync(join(folder, name), text);
    }
    const names = readdirSync(folder).sort();
    const kept = Object.fromEntries(names.map((name) => [name, readFileSync(join(folder, name), "utf8")]));
    return { kept, now: Object.fromEntries(this.#said) };
  }

  #withoutPlace(text: string): string {
    return text
      .replaceAll(this.place.dir, "<dir>")
      .replaceAll(ROOT, "<rota>")
      .replaceAll(hostname(), "<host>")
      .replaceAll(VERSION, "<version>")
      .replace(/\b([a-z]+)-([0-9a-f]{6})\b/g, (_, name: string, made: string) => `${name}-<${this.#nameOf(made)}>`);
  }

  /** Runs are called by the order in which the story hears of them. */
  #nameOf(made: string): number {
    const known = this.#runs.indexOf(made);
    return known === -1 ? this.#runs.push(made) : known + 1;
  }
}

/** What varies from one telling to the next, and what stands in its place. Spans that a story sets are of a minute or more, and stay. */
const VARIES: readonly (readonly [RegExp, string])[] = [
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, "<time>"],
  [/\b\d\d:\d\d:\d\d(?:\.\d+)?\b/g, "<clock>"],
  [/,"(?:cpu_ms|peak_bytes)":\d+/g, ""],
  [/("\w*(?:_ms|Ms)":)[0-5]?\d{1,4}(?:\.\d+)?(?=[,}\]])/g, "$1<ms>"],
  [/"in_ms":\d+/g, '"in_ms":<ms>'],
  [/(?<=\b(?:in|another) )(?:\d+[hms])+\b|(?<![\w.-])\d+(?:\.\d+)?m?s(?![\w-])/g, "<span>"],
  // A start may be written down before its process is known.
  [/(?<=\bstarted) as pid \d+|(?<="kind":"started".*),"pid":\d+/g, ""],
  [/("pid":|\bpid )\d+/g, "$1<pid>"],
  [/("name":"(?:cpu|memory|gpu)","capacity":)\d+/g, "$1<of the machine>"],
  [/((?:cpu|memory) \S+ of )[\w.]+/g, "$1<the machine>"],
  [/\d+[KMGT]iB free/g, "<room> free"],
  [/(Node|SQLite) \d+\.\d+\.\d+/g, "$1 <its version>"],
  [/,"next":"[^"]*"/g, ""],
  // A picture made of letters, and its axis.
  [/ *[\u2580-\u259f][ \u2580-\u259f]*/g, " <bar> "],
  [/(?: *╵ *<span>)+/g, " <axis>"],
  [/\d+\.\d at a time/g, "<n> at a time"],
  // Told of runs that took long enough only.
  [/^ +(?:work|slowest|critical path) .*\n/gm, ""],
  // How much of a line there is room for depends on the name of the directory.
  [/^(.{24}).*…(?: +<dir>…)?$/gm, "$1…"],
  [/("level":)[\d.e-]+/g, "$1<level>"],
  // What stands in columns is as wide as the widest of them.
  [/ {2,}(?=<(?:span|clock|bar)>)|(?<=<(?:span|clock|bar)>) {2,}/g, " "],
  [/ +$/gm, ""],
];

function withoutTimes(text: string): string {
  const plain = VARIES.reduce((so, [varies, by]) => so.replace(varies, by), text);
  return /<(?:dir|span)>/.test(plain) ? plain.replace(/(?<=\S) {2,}/g, "  ") : plain;
}

/**
 * Events by run and task, those of the run itself first. That a task waits is told when it is seen to: between two attempts there may be
 * no time for that, so it is kept of the first attempt only, and the numbers that count it are not kept.
 */
function byTask(out: string): string {
  const told = new Map<string, string[]>();
  for (const line of out.split("\n").filter((each) => each !== "")) {
    const { run = "", task = "", kind, attempt } = JSON.parse(line) as Told;
    if (kind === "waiting" && attempt !== 0) continue;
    const lines = told.get(`${run} ${task}`) ?? [];
    lines.push(line.replace(/^\{"seq":\d+,/, "{").replace(/"version":\d+,/, ""));
    told.set(`${run} ${task}`, lines);
  }
  const order = (run: string): number => [...told.keys()].findIndex((each) => each.startsWith(`${run} `));
  const inOrder = [...told].sort(([a], [b]) => {
    const [[runA, taskA], [runB, taskB]] = [a.split(" "), b.split(" ")] as [[string, string], [string, string]];
    return order(runA) - order(runB) || (taskA < taskB ? -1 : 1);
  });
  return inOrder.map(([, lines]) => `${lines.join("\n")}\n`).join("");
}

interface Told {
  readonly run?: string;
  readonly task?: string;
  readonly kind: string;
  readonly attempt?: number;
}

/** The words in a picture but for those on its axis and, where there is room, on its bars. */
export const wordsOf = (svg: string): string =>
  [...svg.matchAll(/<(title|text)(?! class="(?:tick|label)")[^>]*>(.*?)<\/\1>/g)]
    .map(([, , words = ""]) => `${words.replace(/<[^>]*>/g, " ")}\n`)
    .filter((words) => !/^\d+%$/m.test(words))
    .join("");
