/** Starts attempts for one scheduler at a time, outlives it, and never leaves anything running for nobody. */
import { timingSafeEqual } from "node:crypto";
import type { Socket } from "node:net";
import type { Outcome } from "../../../domain/outcome.ts";
import { unreachable } from "../../../std/invariant.ts";
import { type Channel, openChannel } from "../channel.ts";
import { endsFile, type StateIdentity } from "../files.ts";
import { attemptMarks } from "../marks.ts";
import {
  type FromSpawner,
  type Hello,
  parseToSpawner,
  type SpawnerSettings,
  type Start,
  type ToSpawner,
} from "../messages.ts";
import { LiveAttempt, type Surroundings } from "./attempt.ts";
import { Ends } from "./ends.ts";
import { Reaper } from "./reaper.ts";
import { Sampler } from "./sampler.ts";
import { Strays } from "./strays.ts";

/** Until a scheduler has said otherwise. */
const SETTINGS: SpawnerSettings = {
  leaseMs: 30_000,
  orphans: "keep",
  graceMs: 5_000,
  leftoverGraceMs: 1_000,
  logMaxBytes: Number.POSITIVE_INFINITY,
};

/** How long a start may go untold. */
const PATIENCE_MS = 2;

export class Spawner implements Surroundings {
  settings = SETTINGS;
  readonly reaper = new Reaper();
  readonly sampler = new Sampler();
  readonly strays: Strays;

  readonly #identity: StateIdentity;
  readonly #ends: Ends;
  readonly #leave: () => void;
  readonly #live = new Map<string, LiveAttempt>();
  #environment: Readonly<Record<string, string>> = {};
  #scheduler: Channel | undefined;
  #patient: FromSpawner[] = [];
  #patience: NodeJS.Timeout | undefined;
  #hellos = 0;
  #dismissed = false;
  #resigned = false;
  #leaving = false;
  #fence: NodeJS.Timeout | undefined;

  /** `leave` is called once, when nothing runs and nobody will ask for anything. */
  constructor(directory: string, id: string, identity: StateIdentity, leave: () => void) {
    this.#identity = identity;
    this.#ends = new Ends(endsFile(directory, id));
    this.#leave = leave;
    this.strays = new Strays(identity.stateId, () => this.settings.leftoverGraceMs);
  }

  /** Listens to whoever is at the other end, the scheduler that started us or a stranger; obeys once it has given the secret. */
  accept(socket: Socket, from: "parent" | "stranger"): void {
    const channel = openChannel(
      socket,
      (line) => {
        const message = parseToSpawner(line);
        if (message === undefined) return;
        if (message.kind === "hello") this.#hello(channel, message);
        else if (channel === this.#scheduler) this.#obey(message);
      },
      () => {
        if (channel === this.#scheduler || (from === "parent" && this.#hellos === 0)) this.#abandoned();
      },
    );
  }

  /** What is no end may wait a moment for one: most attempts are short, and every write wakes the scheduler. */
  report(message: FromSpawner): void {
    if (message.kind !== "ended") {
      this.#patient.push(message);
      this.#patience ??= setTimeout(() => this.#speak(), PATIENCE_MS);
    } else {
      this.#speak();
      this.#scheduler?.send(message);
    }
  }

  #speak(): void {
    clearTimeout(this.#patience);
    this.#patience = undefined;
    for (const message of this.#patient) this.#scheduler?.send(message);
    this.#patient = [];
  }

  ended(attempt: LiveAttempt, outcome: Outcome): void {
    const { key, process } = attempt;
    this.#live.delete(key);
    const ended = { kind: "ended", key, outcome, ...(process && { process }) } as const;
    this.#ends.add(ended);
    this.report(ended);
    this.#leaveIfDone();
  }

  /** Stops everything and leaves: the lease ran out, or the machine wants us gone. */
  resign(): void {
    this.#resigned = true;
    for (const attempt of this.#live.values()) attempt.stop({ kind: "orphaned" }, this.settings.graceMs);
    this.#leaveIfDone();
  }

  #hello(channel: Channel, hello: Hello): void {
    if (!equal(hello.secret, this.#identity.secret)) {
      channel.close();
      return;
    }
    const before = this.#scheduler;
    this.#speak();
    this.#scheduler = channel;
    if (before !== channel) {
      before?.send({ kind: "replaced" } satisfies FromSpawner);
      before?.close();
    }
    this.#hellos++;
    clearTimeout(this.#fence);
    this.settings = { ...SETTINGS, ...hello.settings };
    this.#environment = hello.environment;
    const live = [...this.#live.values()].map(({ key, process }) => ({ key, ...(process && { process }) }));
    channel.send({ kind: "welcome", live, ends: this.#ends.all() } satisfies FromSpawner);
    this.#leaveIfDone();
  }

  #obey(message: Exclude<ToSpawner, Hello>): void {
    switch (message.kind) {
      case "start":
        this.#start(message);
        break;
      case "stop":
        this.#live.get(message.key)?.stop(message.reason, message.graceMs);
        break;
      case "heard":
        for (const key of message.keys) this.#ends.heard(key);
        this.#leaveIfDone();
        break;
      case "goodbye":
        this.#dismissed = true;
        this.#leaveIfDone();
        break;
      default:
        unreachable(message);
    }
  }

  #start(order: Start): void {
    if (this.#live.has(order.key)) return;
    const env = { ...this.#environment, ...order.env, ...attemptMarks(order.key, this.#identity.stateId) };
    const attempt = new LiveAttempt(order, env, this);
    this.#live.set(order.key, attempt);
    attempt.begin();
  }

  /** The scheduler is gone without a word. Its successor has one lease to come for what runs. */
  #abandoned(): void {
    this.#scheduler = undefined;
    if (this.#dismissed) return;
    this.#ends.write();
    clearTimeout(this.#fence);
    if (this.settings.orphans === "stop") this.resign();
    else this.#fence = setTimeout(() => this.resign(), this.settings.leaseMs);
    this.#leaveIfDone();
  }

  #leaveIfDone(): void {
    if (this.#leaving || this.#needed()) return;
    this.#leaving = true;
    void this.strays.sweep().then(() => {
      this.#leaving = false;
      // Somebody may have come while the last strays were swept.
      if (this.#needed()) return;
      this.#leaving = true;
      clearTimeout(this.#fence);
      if (this.#dismissed) this.#ends.forget();
      else this.#ends.write();
      this.#scheduler?.close();
      this.#leave();
    });
  }

  /** Something runs, or somebody is there to start something: not a successor, who only comes for what is left. */
  #needed(): boolean {
    if (this.#live.size > 0) return true;
    if (this.#dismissed || this.#resigned || this.#scheduler === undefined) return false;
    return this.#hellos === 1 || this.#ends.unheard > 0;
  }
}

function equal(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}
