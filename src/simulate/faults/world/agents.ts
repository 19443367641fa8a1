/** The sessions of a simulated world: those of the scenario, those that a pool's commands wake and start, and those that come to help at the end. */
import { type WorkerId, workerId } from "../../../domain/ids.ts";
import { poolOf, type TaskSpec } from "../../../domain/spec.ts";
import { millis, seconds } from "../../../domain/time.ts";
import { Agent, type AgentDeps } from "../actors/agent.ts";
import type { Chance } from "../seed/chance.ts";
import { CAPABILITIES } from "../seed/plans.ts";
import type { Scenario, SessionDraft } from "../seed/scenario.ts";
import type { SimulatedGrant } from "./grant.ts";

export interface AgentsDeps extends Pick<AgentDeps, "clock" | "network" | "front" | "fateOf" | "violate"> {
  readonly chance: Chance;
  readonly scenario: Scenario;
  readonly isWell: () => boolean;
}

export class Agents {
  readonly latencies: number[] = [];
  readonly grants: SimulatedGrant[] = [];
  readonly all: Agent[] = [];
  readonly #deps: AgentsDeps;

  constructor(deps: AgentsDeps) {
    this.#deps = deps;
  }

  /** A session comes, or comes back without its memory. */
  enlist(draft: SessionDraft): void {
    const { clock, network, front, fateOf, violate, scenario } = this.#deps;
    const chance = this.#deps.chance.fork(`agent ${draft.profile.id} ${this.all.length}`);
    const drift = scenario.faults.drift ?? 0;
    const agent = new Agent(draft, {
      clock,
      chance,
      network,
      front,
      rate: 1 + (chance.next() - 0.5) * drift,
      fateOf,
      mode: scenario.modes[draft.profile.pool] ?? "pull",
      violate,
      latency: (span) => this.latencies.push(span),
      remember: (grant) => this.grants.push(grant),
    });
    this.all.push(agent);
    agent.start();
  }

  /** Sends a session that can do the tasks that are left, for each pool and place that needs one. */
  callHelp(left: Iterable<{ readonly spec: TaskSpec }>): void {
    for (const { spec } of left) {
      const pool = poolOf(spec);
      const { workspace, session } = spec;
      if (pool === "local") continue;
      const id = workerId(session ?? `help-${pool}-${workspace ?? ""}`);
      if (this.all.some((agent) => agent.id === id && agent.life.isAlive)) continue;
      this.enlist(helper(id, pool, workspace));
    }
  }

  /** Whether the session listens for wakes now. */
  reaches(session: string): boolean {
    return this.all.some(({ id, draft, life }) => id === session && draft.listens && life.isAlive);
  }

  /** The pool's command that wakes a session. */
  wake(session: WorkerId): Error | undefined {
    const { scenario, chance, network } = this.#deps;
    const { hook } = scenario.faults;
    if (hook !== undefined && !this.#deps.isWell() && chance.flip(hook * 0.6)) return new Error("the hook failed");
    network.tell(session, "wake", () => {
      for (const agent of this.all) if (agent.id === session) agent.wake();
    });
    return undefined;
  }

  /** The pool's command that starts a session for the task. */
  spawn(spec: TaskSpec): boolean {
    const { scenario, chance } = this.#deps;
    const { hook } = scenario.faults;
    if (hook !== undefined && chance.flip(hook * 0.5)) throw new Error("no worker can be had");
    const { requires, workspace } = spec;
    if (chance.flip(0.5) || !requires.every((each) => (CAPABILITIES as readonly string[]).includes(each))) {
      return false;
    }
    const pool = poolOf(spec);
    const id = workerId(`spawned-${pool}-${workspace ?? ""}`);
    if (this.all.every((agent) => agent.id !== id)) this.enlist(helper(id, pool, workspace));
    return true;
  }
}

const helper = (id: WorkerId, pool: string, workspace: string | undefined): SessionDraft => ({
  profile: {
    id,
    agent: "helper",
    pool,
    capabilities: [...CAPABILITIES],
    slots: 2,
    ttl: seconds(20),
    ...(workspace !== undefined && { workspace }),
  },
  listens: false,
  names: true,
  isPunctual: false,
  after: millis(0),
});
