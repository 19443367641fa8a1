/** The agent at the other end of a connection: the session it works as, and what it holds. */
import type { Authority } from "../domain/authority.ts";
import { UserError } from "../domain/errors.ts";
import { type Millis, millis, minutes } from "../domain/time.ts";
import type { Clock } from "../effects/clock.ts";
import type { SessionReply } from "../wire/answers.ts";
import type { JoinRequest } from "../wire/messages.ts";
import type { Caller, Service } from "../wire/service.ts";
import { Holds } from "./holds.ts";

/** The profile of the agent, as far as the person who started the server has given it. */
export interface AgentProfile {
  readonly session?: string;
  /** How the client calls itself, when absent. */
  readonly agent?: string;
  readonly pool?: string;
  readonly workspace?: string;
  readonly channel?: string;
  readonly capabilities?: readonly string[];
  readonly slots?: number;
  readonly ttlMs?: number;
}

/** What an agent needs of a daemon beside its tools. */
type AgentService = Pick<Service, "join" | "leave" | "heartbeat">;

export interface AgentOptions {
  readonly service: AgentService;
  readonly clock: Clock;
  readonly profile: AgentProfile;
  /** The caller's name in the ledger; the agent's own name when absent. */
  readonly by?: string;
  /** For which sessions it may act, where the service is the daemon's own; a daemon that is called finds it out by itself. */
  readonly authority?: Authority;
  /** See `Holds`. */
  readonly silence: Millis;
  /** Whether the program that started the client has gone. Its agent is not vouched for as long as others. */
  readonly isOrphan?: () => boolean;
  /** Whether the server remembers the session and its leases between calls. If not, every call names them. */
  readonly remembers: boolean;
}

const NAME_MAX = 64;
/** How long an agent may say nothing once its launcher has gone: it may still work, or a person may have given it up. */
const ORPHAN_SILENCE = minutes(5);
/** By what these clients call themselves. */
const SHOWS_BOTH = /qwen|copilot|kimi/i;

export class Agent {
  readonly holds: Holds;
  readonly remembers: boolean;
  readonly #options: AgentOptions;
  #clientName = "agent";
  #joined: Promise<SessionReply> | undefined;
  #hasClaimed = false;

  constructor(options: AgentOptions) {
    this.#options = options;
    this.remembers = options.remembers;
    this.holds = new Holds({
      clock: options.clock,
      silence: () =>
        options.isOrphan?.() === true ? millis(Math.min(ORPHAN_SILENCE, options.silence)) : options.silence,
      renew: (lease) => options.service.heartbeat(lease, this.caller()),
    });
    if (!options.remembers) this.holds.close();
  }

  /** How the client calls itself, made fit to be a name. Only what joins later goes by it. */
  introduce(clientName: string): void {
    const fit = clientName.replaceAll(/[^A-Za-z0-9._-]+/g, "-").replaceAll(/^[^A-Za-z0-9_]+|-+$/g, "");
    if (fit !== "") this.#clientName = fit.slice(0, NAME_MAX);
  }

  get name(): string {
    return this.#options.profile.agent ?? this.#clientName;
  }

  /** Whether the client shows a model the text of an answer and its data. Others show one of the two, and each has to be whole. */
  get showsBoth(): boolean {
    return SHOWS_BOTH.test(this.#clientName);
  }

  caller(signal?: AbortSignal): Caller {
    const { by = this.name, authority } = this.#options;
    return { by, ...(authority !== undefined && { authority }), ...(signal !== undefined && { signal }) };
  }

  /** The session it works as. Joins when it has not yet; a join that failed is tried anew next time. */
  session(): Promise<SessionReply> {
    this.#joined ??= this.#join();
    return this.#joined;
  }

  /** Does `work` as the agent's session, and once more as a new one if the daemon does not know it any more. */
  async inSession<T>(work: (session: SessionReply) => Promise<T>): Promise<T> {
    const session = await this.session();
    try {
      return await work(session);
    } catch (error) {
      if (!isForgotten(error)) throw error;
      this.#joined = undefined;
      return await work(await this.session());
    }
  }

  /** A task was given to the session: it must stay known, also where nothing is remembered here. */
  claimed(): void {
    this.#hasClaimed = true;
  }

  /**
   * The connection is over. A session that has nothing takes leave. A session that holds something is left to its lease: what it holds
   * would go back to the queue if it left, and that is not for us to say.
   */
  async close(): Promise<void> {
    const holding = this.remembers ? this.holds.size > 0 : this.#hasClaimed;
    this.holds.close();
    const joined = this.#joined;
    this.#joined = undefined;
    if (holding || joined === undefined) return;
    await joined.then(({ session }) => this.#options.service.leave(session, this.caller())).catch(() => undefined);
  }

  #join(): Promise<SessionReply> {
    const joined = this.#options.service.join(this.#request(), this.caller());
    joined.catch(() => {
      if (this.#joined === joined) this.#joined = undefined;
    });
    return joined;
  }

  #request(): JoinRequest {
    const { capabilities = [], slots = 1, ttlMs, agent: _, ...rest } = this.#options.profile;
    // The server renews no lease of an agent that it does not remember, so leases last as long as its silence may.
    const ttl = ttlMs ?? (this.remembers ? undefined : this.#options.silence);
    return { agent: this.name, capabilities, slots, ...rest, ...(ttl !== undefined && { ttlMs: ttl }) };
  }
}

const isForgotten = (error: unknown): boolean => error instanceof UserError && error.code === "SESSION_UNKNOWN";
