/**
 * An agent for tests: it has no model, but prints as real programs do, and does what its prompt says in lines that begin with `@`.
 *
 *     node agent.ts claude -p --output-format stream-json …   < prompt
 *
 * `@say` `@think` words · `@run COMMAND` · `@write FILE WORDS` · `@usage IN OUT [DOLLARS]` · `@result JSON` · `@denied TOOL` ·
 * `@retry STATUS MS` · `@fail STATUS WORDS` · `@limit` · `@sleep MS` · `@hang` · `@linger` (stay after the last record) · `@crash` ·
 * `@exit CODE` · `@garbage` · `@unknown` · `@bytes` · `@long BYTES` · `@child` (leave one in a session of its own) · `@silent` (no last record)
 */
import { execFileSync, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { readFileSync, writeFileSync, writeSync } from "node:fs";
import { DIALECTS, type Dialect, type DialectName, type Used } from "./dialects.ts";
import { firstLine, type Step, stepsOf } from "./script.ts";

const OUT = 1;
const ERR = 2;

const [name = "command", ...args] = process.argv.slice(2);
const dialect: Dialect = new DIALECTS[name as DialectName]();
const state = {
  used: { input: 100, output: 20, cost: 0.001, turns: 1 } as Used,
  said: "",
  structured: undefined as unknown,
  isSilent: false,
  isLingering: false,
};

const print = (lines: readonly string[] | undefined, stream = OUT): void => {
  for (const line of lines ?? []) writeSync(stream, `${line}\n`);
};
const after = (flag: string): string | undefined => (args.includes(flag) ? args[args.indexOf(flag) + 1] : undefined);
/** Waits without a timer to forget, as a program does that computes. */
const rest = (ms: number): void => {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
};
const forever = (): Promise<never> => new Promise(() => setInterval(() => {}, 60_000));

/** From standard input, from a file that an argument names, or the argument itself. */
function promptOf(): string {
  const words = after("-p") ?? (name === "command" ? args.at(-1) : undefined);
  const file = /(\/\S+\.md)\b/.exec(words ?? "")?.[1];
  if (file !== undefined) return readFileSync(file, "utf8");
  if (words !== undefined && !words.startsWith("-")) return words;
  return readFileSync(0, "utf8");
}

async function main(): Promise<void> {
  const prompt = promptOf();
  const session = after("--resume") ?? after("resume") ?? after("-S") ?? after("--session-id") ?? randomUUID();
  const steps = stepsOf(prompt, Number(process.env["ROTA_ATTEMPT"] ?? 1));
  print(steps.some(({ verb }) => verb === "mute") ? [] : dialect.begin(session, prompt));
  for (const step of steps) await take(step);
  if (state.said === "") say(`Done: ${firstLine(prompt).slice(0, 200)}`);
  if (!state.isSilent) print(dialect.end(state.said, state.used, state.structured));
  if (state.isLingering) await forever();
}

function say(words: string): void {
  state.said = words;
  print(dialect.say(words));
}

function run(command: string): void {
  const id = randomUUID();
  print(dialect.tool(id, "Bash", command));
  try {
    print(
      dialect.result(
        id,
        true,
        execFileSync("sh", ["-c", command], { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] }),
      ),
    );
  } catch (error) {
    print(dialect.result(id, false, String(error)));
  }
}

function fail(status: number, message: string): void {
  const { out, err, code } = dialect.fail(status, message, state.used);
  print(out);
  print(err, ERR);
  process.exit(code);
}

const VERBS: Readonly<Record<string, (words: string) => unknown>> = {
  say,
  think: (words) => print(dialect.think(words)),
  run,
  write: (words) => {
    const [file = "", ...rest] = words.split(" ");
    const id = randomUUID();
    print(dialect.tool(id, "Write", file));
    writeFileSync(file, `${rest.join(" ")}\n`);
    print(dialect.result(id, true, "written"));
  },
  usage: (words) => {
    const [input = 0, output = 0, cost = 0] = words.split(" ").map(Number);
    state.used = { input, output, cost, turns: 1 };
  },
  result: (words) => {
    state.structured = JSON.parse(words);
    if (name !== "claude" && name !== "command") say(words);
  },
  denied: (words) => {
    const id = randomUUID();
    print(dialect.tool(id, words, ""));
    print(dialect.denied(id, `${words} needs approval`));
  },
  retry: (words) => {
    const [status = 429, delay = 10] = words.split(" ").map(Number);
    const { out, err } = dialect.retry(status, delay);
    print(out);
    print(err, ERR);
  },
  fail: (words) => fail(Number(words.split(" ")[0]), words.split(" ").slice(1).join(" ")),
  limit: () => fail(429, "Rate limit reached for requests."),
  sleep: (words) => rest(Number(words)),
  hang: forever,
  mute: () => undefined,
  linger: () => {
    state.isLingering = true;
  },
  silent: () => {
    state.isSilent = true;
  },
  crash: () => process.kill(process.pid, "SIGKILL"),
  exit: (words) => process.exit(Number(words)),
  garbage: () => print(['{"type":"assistant","mess']),
  unknown: () => print(['{"type":"from_the_future","role":"oracle","kind":"?"}']),
  bytes: () => writeSync(OUT, Buffer.from([0xff, 0xfe, 0x1b, 0x5b, 0x33, 0x31, 0x6d, 0x0a])),
  long: (words) => print(["x".repeat(Number(words))]),
  child: () => spawn("sleep", ["3127"], { detached: true, stdio: "ignore" }).unref(),
};

async function take({ verb, words }: Step): Promise<void> {
  const act = VERBS[verb];
  if (act === undefined) throw new Error(`the script has a step that is not known: @${verb}`);
  await act(words);
}

await main();
