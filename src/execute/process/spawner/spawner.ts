/** Starts attempts for one scheduler at a time, outlives it, and never leaves anything running for nobody. */
import type { Outcome } from "../../../domain/outcome.ts";
import { isSecret } from "../../../effects/random.ts";
import { unreachable } from "../../../std/invariant.ts";
import type { Channel, Connect } from "../channel.ts";
import type { StateIdentity } from "../files.ts";
import { attemptMarks } from "../marks.ts";
import type { FromSpawner, Hello, SpawnerSettings, Start, ToSpawner } from "../messages.ts";
import { type Keepsake, LiveAttempt, type Surroundings } from "./attempt.ts";
import type { Ends } from "./ends.ts";
import type { Forker, Kept } from "./forker.ts";
import { Sampler } from "./sampler.ts";
import { Strays } from "./strays.ts";
import { after, type Timer } from "./timer.ts";

/** Until a scheduler has said otherwise. */
const SETTINGS: SpawnerSettings = {
  leaseMs: 30_000,
  orphans: "keep",
  graceMs: 5_000,
  leftoverGraceMs: 1_000,
  logMaxBytes: Number.POSITIVE_INFINITY,
};

export interface SpawnerDeps {
  readonly identity: StateIdentity;
  readonly ends: Ends;
  readonly forker: Forker;
  /** Called once, when nothing runs and nobody will ask for anything. */
  readonly leave: () => void;
  /** How long a start may go untold, to be told with its end. */
  readonly patienceMs: number;
  /** Goes on with what another began, and starts nothing new. */
  readonly heir?: boolean;
}

export class Spawner implements Surroundings {
  settings = SETTINGS;
  readonly forker: Forker;
  readonly sampler = new Sampler();
  readonly strays: Strays;

  readonly #identity: StateIdentity;
  readonly #ends: Ends;
  readonly #leave: () => void;
  readonly #patienceMs: number;
  readonly #live = new Map<string, LiveAttempt>();
  readonly #prepared = new Map<string, LiveAttempt>();
  #environment: Readonly<Record<string, string>> = {};
  #scheduler: Channel | undefined;
  #patient: FromSpawner[] = [];
  #patience: NodeJS.Timeout | undefined;
  #hellos: number;
  #dismissed = false;
  #resigned = false;
  #leaving = false;
  #fence: Timer | undefined;

  constructor({ identity, ends, forker, leave, patienceMs, heir = false }: SpawnerDeps) {
    this.#identity = identity;
    this.#ends = ends;
    this.forker = forker;
    this.#leave = leave;
    this.#patienceMs = patienceMs;
    this.#hellos = heir ? 1 : 0;
    this.strays = new Strays(identity.stateId, () => this.settings.leftoverGraceMs);
  }

  /**
   * Listens to whoever is at the other end: the scheduler that started us, or a stranger. Obeys once it has given the secret, which the program
   * that we are part of need not.
   */
  accept(connect: Connect<ToSpawner>, from: "self" | "parent" | "stranger"): void {
    const channel = connect(
      (message) => {
        if (message.kind === "hello") this.#hello(channel, message, from === "self");
        else if (channel === this.#scheduler) this.#obey(message);
      },
      () => {
        if (channel !== this.#scheduler && (from === "stranger" || this.#hellos > 0)) return;
        this.#scheduler = undefined;
        this.orphaned();
      },
    );
  }

  /** Gets an attempt ready that may be started or not. */
  prepare(order: Start, ahead: boolean): void {
    const attempt = this.#attempt(order);
    this.#prepared.set(order.key, attempt);
    attempt.prepare(ahead);
  }

  /** It is not going to be started. */
  forgo(key: string): void {
    this.#prepared.get(key)?.forgo();
    this.#prepared.delete(key);
  }

  /** Goes on with what another began, as it was told to that one. */
  inherit(hello: Pick<Hello, "settings" | "environment">, kept: readonly Kept[]): void {
    this.#settle(hello);
    // The last start of an attempt says where it stands: a second one is its verification.
    const last = new Map(
      kept
        .map((each) => [each, JSON.parse(each.keepsake) as Keepsake] as const)
        .map((pair) => [pair[1].order.key, pair]),
    );
    for (const [each, keepsake] of last.values()) this.#enter(keepsake.order).inherit(each, keepsake);
  }

  /**
   * Whoever commanded, here or before us, is gone; somebody else may come at any time. What there is to look after is known when the forker has
   * told it, and not before: until then nothing is over.
   */
  orphaned(): void {
    this.forker.whenReady(() => {
      if (this.#scheduler === undefined) this.#abandoned();
    });
  }

  /** Whoever forks for us is gone or obeys another: what runs is no longer ours to tell of. */
  forsake(replaced: boolean): void {
    for (const attempt of this.#live.values()) attempt.forsake();
    this.#live.clear();
    this.#fence?.cancel();
    this.#leaving = true;
    if (replaced) this.#scheduler?.send({ kind: "replaced" } satisfies FromSpawner);
    this.#scheduler?.close();
  }

  /** What is no end may wait a moment for one: most attempts are short, and every write wakes the scheduler. */
  report(message: FromSpawner): void {
    if (message.kind !== "ended") {
      this.#patient.push(message);
      if (this.#patienceMs === 0) this.#speak();
      else this.#patience ??= setTimeout(() => this.#speak(), this.#patienceMs);
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

  #hello(channel: Channel, hello: Hello, isOwn: boolean): void {
    if (!isOwn && !isSecret(hello.secret, this.#identity.secret)) {
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
    this.#fence?.cancel();
    this.#settle(hello);
    this.forker.whenReady(() => this.#welcome(channel));
  }

  #settle({ settings, environment }: Pick<Hello, "settings" | "environment">): void {
    this.settings = { ...SETTINGS, ...settings };
    this.#environment = environment;
  }

  #welcome(channel: Channel): void {
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
    if (!this.#live.has(order.key)) this.#enter(order).begin();
  }

  #enter(order: Start): LiveAttempt {
    const attempt = this.#prepared.get(order.key) ?? this.#attempt(order);
    this.#prepared.delete(order.key);
    this.#live.set(order.key, attempt);
    return attempt;
  }

  #attempt(order: Start): LiveAttempt {
    const env = { ...this.#environment, ...order.env, ...attemptMarks(order.key, this.#identity.stateId) };
    return new LiveAttempt(order, env, this);
  }

  /** The scheduler is gone without a word. Its successor has one lease to come for what runs. */
  #abandoned(): void {
    if (this.#dismissed) return;
    this.#ends.write();
    this.#fence?.cancel();
    if (this.settings.orphans === "stop") this.resign();
    else this.#fence = after(this.settings.leaseMs, () => this.resign());
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
      this.#fence?.cancel();
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
