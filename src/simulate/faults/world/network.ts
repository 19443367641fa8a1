/** The network between callers and the scheduler: messages and answers are late, overtake each other, arrive twice or never. */
import { UserError } from "../../../domain/errors.ts";
import { later, type Millis, millis } from "../../../domain/time.ts";
import type { VirtualClock } from "../../clock.ts";
import type { Chance } from "../seed/chance.ts";
import type { Faults } from "../seed/fault-kinds.ts";
import type { Life } from "./life.ts";

/** No answer came, so the caller does not know whether the call was carried out. */
export class Unreachable extends Error {
  override readonly name = "Unreachable";
}

/** A process that answers calls. */
export interface Server {
  readonly name: string;
  readonly life: Life;
}

export interface NetworkDeps<S extends Server> {
  readonly clock: VirtualClock;
  readonly chance: Chance;
  readonly faults: Faults;
  /** The scheduler that answers now, if there is one. */
  readonly server: () => S | undefined;
  readonly trace: (line: string) => void;
}

export interface Call<S, T> {
  readonly client: string;
  readonly life: Life;
  readonly what: string;
  readonly handle: (server: S) => Promise<T>;
  /** How long the caller waits for an answer. */
  readonly answerTimeout: Millis;
}

/** The direction in which messages are lost. */
export const CUTS = ["there", "back", "both"] as const;
type Cut = (typeof CUTS)[number];

const LATE_MAX = 90_000;

export class Network<S extends Server> {
  readonly #deps: NetworkDeps<S>;
  readonly #cuts = new Map<string, Cut>();
  #isWell = false;

  constructor(deps: NetworkDeps<S>) {
    this.#deps = deps;
  }

  cut(client: string, how: Cut): void {
    if (!this.#isWell) this.#cuts.set(client, how);
  }

  mend(client: string): void {
    this.#cuts.delete(client);
  }

  heal(): void {
    this.#isWell = true;
    this.#cuts.clear();
  }

  /** Rejects with `Unreachable` when no answer comes in time, and with a `UserError` when that is the answer. */
  call<T>(call: Call<S, T>): Promise<T> {
    const { clock } = this.#deps;
    const answered = Promise.withResolvers<T>();
    const answer = (act: () => void): void => call.life.enter(act);
    const timer = clock.at(later(clock.now(), call.answerTimeout), () =>
      answer(() => answered.reject(new Unreachable(call.what))),
    );
    const close = (act: () => void) => (): void => {
      timer.cancel();
      answer(act);
    };
    this.#send(call.client, "there", `${call.client} ${call.what}`, () => this.#deliver(call, answered, close));
    return answered.promise;
  }

  /** One way: the sender does not hear whether it arrived. */
  tell(client: string, what: string, deliver: () => void): void {
    this.#send(client, "back", `${client} ${what}`, deliver);
  }

  #deliver<T>(call: Call<S, T>, answered: PromiseWithResolvers<T>, close: (act: () => void) => () => void): void {
    const server = this.#deps.server();
    const reply = (act: () => void): void =>
      this.#send(call.client, "back", `${call.client} < ${call.what}`, close(act));
    if (server === undefined) return reply(() => answered.reject(new Unreachable("no scheduler listens")));
    server.life.enter(() => {
      call.handle(server).then(
        (value) => {
          if (server.life.isAlive) reply(() => answered.resolve(value));
        },
        (error: unknown) => {
          if (server.life.isAlive) reply(() => answered.reject(asAnswer(error)));
        },
      );
    });
  }

  #send(client: string, way: "there" | "back", what: string, deliver: () => void): void {
    const { clock, chance, faults, trace } = this.#deps;
    const copies = this.#happens("duplicate", 0.2) ? 2 : 1;
    for (let copy = 0; copy < copies; copy++) {
      const cut = this.#cuts.get(client);
      if (cut === way || cut === "both" || this.#happens("drop", 0.3)) {
        trace(`lost: ${what}`);
        continue;
      }
      const isLate = this.#happens("delay", 0.3);
      const delay = isLate ? chance.span(5, LATE_MAX * (faults.delay ?? 1)) : millis(chance.whole(0, 2));
      clock.at(later(clock.now(), delay), deliver);
    }
  }

  #happens(kind: "duplicate" | "drop" | "delay", most: number): boolean {
    const amount = this.#deps.faults[kind];
    return amount !== undefined && !this.#isWell && this.#deps.chance.flip(amount * most);
  }
}

/** Errors that the program means for its callers; every other error is a scheduler that is going down. */
function asAnswer(error: unknown): Error {
  const isMeant = error instanceof UserError && error.code !== "STATE_BUSY";
  return isMeant ? error : new Unreachable(String(error));
}
