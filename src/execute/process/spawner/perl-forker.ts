/** Has processes started by `forker.pl`, a program so small that a fork costs it next to nothing, and that outlives this one. */
import type { Socket } from "node:net";
import { constants } from "node:os";
import { getSystemErrorName } from "node:util";
import type { ProcessIdentity } from "../../../domain/task.ts";
import { bootId } from "../../../effects/host.ts";
import { explainLog, explainStart, type LaunchFailure } from "./explain.ts";
import {
  argvOf,
  type Exit,
  type Forker,
  type Kept,
  type Launched,
  type LaunchOrder,
  type LaunchWatch,
} from "./forker.ts";

/** What the forker tells besides what becomes of single processes. */
export interface ForkerNews {
  /** It was asked to go, by a signal. */
  resign(): void;
  /** Another commands it now. */
  replaced(): void;
  /** It is gone, or does not speak to us any more. */
  gone(): void;
  /** Whoever commanded it is gone. Told to a keeper. */
  orphaned(): void;
  /** It obeys from now on; this is what it was told at first, and what is left. Told to a keeper that asked. */
  taken(hello: string, kept: readonly Kept[]): void;
}

/** Before a child becomes another program it holds what the forker held, and the kernel counts that too. */
const FORKER_BYTES = 16 * 1024 * 1024;

/** What comes before an order: its length. */
const FRAME_BYTES = 4;

interface Started {
  readonly watch: LaunchWatch;
  /** For the words of a failure; one that was taken over has started. */
  readonly order?: LaunchOrder;
}

export class PerlForker implements Forker {
  readonly #socket: Socket;
  readonly #news: ForkerNews;
  readonly #starts = new Map<string, Started>();
  #ids = 0;
  /** How it comes to be ready: the scheduler's own by itself, another's once it was taken over. */
  #readiness: "starting" | "standing by" | "taking" | "ready";
  #waiting: (() => void)[] = [];
  #orders: string[] = [];
  #rest = "";
  #hello = "{}";
  #kept: Kept[] = [];

  constructor(socket: Socket, news: ForkerNews, whose: "own" | "another's") {
    this.#socket = socket;
    this.#news = news;
    this.#readiness = whose === "own" ? "starting" : "standing by";
    socket.setEncoding("utf8");
    socket.on("data", (chunk: string) => this.#hear(chunk));
    // A forker that died is learned from `close`, which always follows.
    socket.on("error", () => {});
    socket.on("close", () => news.gone());
  }

  /** Whether it obeys us, or is about to. */
  get isClaimed(): boolean {
    return this.#readiness !== "standing by";
  }

  launch(order: LaunchOrder, watch: LaunchWatch): Launched {
    return this.#sayAtOnce(() => this.#start("run", order, watch));
  }

  prepare(order: LaunchOrder, watch: LaunchWatch, ahead: boolean): Launched {
    return this.#sayAtOnce(() => this.#start(ahead ? "ahead" : "ready", order, watch));
  }

  /** What follows may keep this program busy, and the forker should not wait for that. */
  #sayAtOnce<T>(say: () => T): T {
    const said = say();
    this.#flush();
    return said;
  }

  #start(verb: "run" | "ready" | "ahead", order: LaunchOrder, watch: LaunchWatch): Launched {
    const id = String(++this.#ids);
    const argv = argvOf(order);
    const { cwd, log, nice, env } = order;
    const fields = [order.keepsake(), String(nice), cwd, log, String(argv.length), ...argv];
    for (const name in env) fields.push(`${name}=${env[name]}`);
    if (fields.join("").includes("\0")) {
      const message = `cannot run ${argv[0].replaceAll("\0", "")}: its words and variables must be without NUL`;
      const fail = (): void => queueMicrotask(() => watch.failed({ kind: "spawn", message }));
      if (verb === "run") fail();
      return { note() {}, drop() {}, go: fail };
    }
    this.#starts.set(id, { watch, order });
    this.#order(`${verb}\0${id}\0${fields.join("\0")}`);
    const go = (): void => this.#sayAtOnce(() => this.#order(`go\0${id}`));
    return { note: (text) => this.#note(id, text), go, drop: () => this.#drop(id) };
  }

  #drop(id: string): void {
    this.#take(id);
    this.#order(`drop\0${id}`);
  }

  whenReady(then: () => void): void {
    if (this.#readiness === "ready") return then();
    this.#waiting.push(then);
    if (this.#readiness !== "standing by") return;
    this.#readiness = "taking";
    this.#order("take");
  }

  /** What a keeper is to be told when nobody else can tell it any more. */
  hello(text: string): void {
    this.#order(`hello\0\0${text}`);
  }

  leave(): void {
    this.#order("leave");
    this.#flush();
    this.#socket.end();
  }

  #note(id: string, text: string): void {
    this.#order(`note\0${id}\0${text}`);
  }

  /** Everything asked for in one turn is one write. */
  #order(order: string): void {
    if (this.#orders.push(order) === 1) queueMicrotask(() => this.#flush());
  }

  #flush(): void {
    const orders = this.#orders;
    this.#orders = [];
    if (orders.length === 0 || this.#socket.destroyed) return;
    this.#socket.write(framed(orders));
  }

  #hear(chunk: string): void {
    const lines = (this.#rest + chunk).split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) this.#obey(line);
  }

  #obey(line: string): void {
    const fields = line.split("\t");
    const [verb = "", id = ""] = fields;
    const field = (index: number): string => fields[index] ?? "";
    switch (verb) {
      case "ready":
        return this.#becomeReady();
      case "up":
        return this.#up(id, field(2), field(3));
      case "down":
        return this.#take(id)?.watch.exited(exitOf(field(2), field(3), field(4), field(5)));
      case "failed":
        return this.#failed(id, field(2), field(3));
      case "hello":
        this.#hello = id;
        return;
      case "kept":
        this.#kept.push(this.#keptOf(id, fields.slice(2)));
        return;
      case "taken":
        this.#news.taken(this.#hello, this.#kept);
        return this.#becomeReady();
      case "resign":
      case "replaced":
      case "orphaned":
        return this.#news[verb]();
    }
  }

  #becomeReady(): void {
    this.#readiness = "ready";
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const then of waiting) then();
  }

  #up(id: string, pid: string, startTime: string): void {
    const process = startTime === "" ? undefined : identityOf(pid, startTime);
    this.#starts.get(id)?.watch.started(Number(pid), process);
  }

  #failed(id: string, stage: string, errno: string): void {
    const start = this.#take(id);
    if (start !== undefined) start.watch.failed(start.order ? failureOf(start.order, stage, errno) : UNSEEN);
  }

  #take(id: string): Started | undefined {
    const start = this.#starts.get(id);
    this.#starts.delete(id);
    return start;
  }

  #keptOf(id: string, fields: readonly string[]): Kept {
    const [pid, startTime, since, status, cpu, most, endedAt, noted, keepsake] = fields as string[];
    this.#ids = Math.max(this.#ids, Number(id));
    return {
      note: (text) => this.#note(id, text),
      keepsake: keepsake ?? "",
      noted: noted ?? "",
      pid: Number(pid),
      ...(startTime !== "" && { process: identityOf(pid ?? "", startTime ?? "") }),
      sinceMs: Number(since),
      ...(status !== "" && { exit: { ...exitOf(status ?? "", cpu ?? "", most ?? ""), atMs: Number(endedAt) } }),
      follow: (watch) => void this.#starts.set(id, { watch }),
    };
  }
}

/** Whoever ordered it is gone, and with it what it was. */
const UNSEEN: LaunchFailure = { kind: "lost", message: "could not be started, and its scheduler was gone" };

/** Each with its length before it, all in one piece. */
function framed(orders: readonly string[]): Buffer {
  let length = 0;
  for (const order of orders) length += FRAME_BYTES + Buffer.byteLength(order);
  const frames = Buffer.allocUnsafe(length);
  let at = 0;
  for (const order of orders) {
    const bytes = frames.write(order, at + FRAME_BYTES);
    frames.writeUInt32BE(bytes, at);
    at += FRAME_BYTES + bytes;
  }
  return frames;
}

const identityOf = (pid: string, startTime: string): ProcessIdentity => ({
  pid: Number(pid),
  startTime,
  bootId: bootId(),
});

const SIGNALS = new Map(Object.entries(constants.signals).map(([name, no]) => [no, name as NodeJS.Signals]));

/** What the kernel says of a process that was waited for, in its own numbers. */
function exitOf(status: string, cpuMicros: string, mostKilobytes: string, isEmpty = ""): Exit {
  const number = Number(status);
  const killedBy = number & 0x7f;
  const most = Number(mostKilobytes) * 1024;
  return {
    code: killedBy === 0 ? number >> 8 : null,
    signal: killedBy === 0 ? null : (SIGNALS.get(killedBy) ?? null),
    cpuMs: Math.round(Number(cpuMicros) / 1_000),
    ...(most > FORKER_BYTES && { peakBytes: most }),
    isGroupEmpty: isEmpty === "1",
  };
}

function failureOf(order: LaunchOrder, stage: string, errno: string): LaunchFailure {
  const code = getSystemErrorName(-Number(errno));
  return stage === "log" ? explainLog(order.log, code) : explainStart(argvOf(order)[0], order.cwd, code);
}
