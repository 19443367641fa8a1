/**
 * Whether a task may be given to a worker now, and if not, every reason against it, with the numbers. The dispatcher asks the same
 * questions of the same parts when it chooses, so that explanation and choice cannot differ.
 */

import type { WorkerId } from "../../domain/ids.ts";
import type { Outcome } from "../../domain/outcome.ts";
import { type Run, taskOf } from "../../domain/run.ts";
import type { DispatchMode } from "../../domain/sessions/pool.ts";
import type { Session } from "../../domain/sessions/session.ts";
import { poolOf } from "../../domain/spec.ts";
import { type Asked, laneOf, type Task, type TaskState } from "../../domain/task.ts";
import { type Instant, millis } from "../../domain/time.ts";
import type { Excess, RateShortage, Shortage, Wait } from "../../domain/waiting/explanation.ts";
import { isGateClosed } from "../../domain/waiting/needs.ts";
import type { Dispatcher } from "../dispatcher.ts";
import { inTheWay, type Shadow } from "../queue/reservation.ts";
import type { Node, Placement } from "../room/nodes.ts";
import { type Demand, fits, freeAt, type Resource, refilledAt } from "../room/room.ts";
import { type Shape, wholeDemand } from "../room/shapes.ts";
import { glimpse, some } from "./glimpse.ts";
import { isHeldBackByNeeds, unmetNeeds } from "./needs.ts";

/** Something that must change before the task may go. The first of several is shown. */
export type Reason = Wait | { readonly reason: "state"; readonly state: TaskState };

export type Eligibility =
  | { readonly ok: true }
  | { readonly ok: false; readonly reasons: readonly [Reason, ...Reason[]] };

/** What neither the World nor the dispatcher has. */
export interface ExplainContext {
  /** The person who asked that nothing more be started. */
  readonly paused?: Asked;
  /** How the task's last attempt ended, from the ledger. */
  readonly lastOutcome?: Outcome;
  /** Sessions whose claim waits for its answer. */
  readonly claiming?: ReadonlySet<WorkerId>;
  /** The mode of the task's pool: who begins a claim. */
  readonly modeOf?: (pool: string) => DispatchMode;
}

/** The dispatcher of a task's pool. A single dispatcher answers for all pools. */
export interface Lines {
  of(task: Task): Dispatcher;
}

/** For one worker, or for any when none is named. First the reasons that only a person can end, last those that end by themselves. */
export function eligible(
  lines: Lines,
  run: Run,
  task: Task,
  worker: WorkerId | undefined,
  now: Instant,
  context: ExplainContext = {},
): Eligibility {
  return judge(lines, now, context)(run, task, worker);
}

/** As `eligible`, for many tasks at one moment: what they share is looked up once. */
export function judge(
  lines: Lines,
  now: Instant,
  context: ExplainContext = {},
): (run: Run, task: Task, worker?: WorkerId) => Eligibility {
  const moments = new Map<Dispatcher, Moment>();
  const momentOf = (dispatcher: Dispatcher): Moment => {
    const known = moments.get(dispatcher) ?? {
      dispatcher,
      now,
      shadow: dispatcher.reservation.shadow(now),
      reserved: dispatcher.reservation.current(now)?.task,
      suits: new Map(),
      shortages: new Map(),
      idles: new Map(),
    };
    moments.set(dispatcher, known);
    return known;
  };
  return (run, task, worker) => {
    const question = { ...momentOf(lines.of(task)), run, task, worker };
    const [first, ...others] = [
      ...stateReasons(question, context),
      ...(task.status.state === "ready" ? dispatchReasons(question) : []),
    ];
    return first === undefined ? { ok: true } : { ok: false, reasons: [first, ...others] };
  };
}

interface Moment {
  readonly dispatcher: Dispatcher;
  readonly now: Instant;
  readonly shadow: Shadow | undefined;
  readonly reserved: Task | undefined;
  /** The sessions that may take tasks of one shape. */
  readonly suits: Map<Shape, readonly Session[]>;
  /** What tasks of one shape are short of on any node. */
  readonly shortages: Map<Shape, readonly Shortage[]>;
  /** How many of the sessions that may take tasks of one shape are idle. */
  readonly idles: Map<Shape, number>;
}
interface Question extends Moment {
  readonly run: Run;
  readonly task: Task;
  readonly worker: WorkerId | undefined;
}

/** What the task's own state says. */
function stateReasons(question: Question, { paused, lastOutcome }: ExplainContext): readonly Reason[] {
  const { dispatcher, run, task, worker, now } = question;
  const { status, spec, offer } = task;
  switch (status.state) {
    case "blocked": {
      const closed: readonly Reason[] =
        spec.gate === undefined || !isGateClosed(task) ? [] : [{ reason: "gate", prompt: spec.gate }];
      if (!isHeldBackByNeeds(task)) return closed;
      return [{ reason: "needs", blockers: some(unmetNeeds(run, task), (no) => glimpse(taskOf(run, no))) }, ...closed];
    }
    case "parked":
      return [{ reason: "parked", why: status.reason, since: status.at }];
    case "ready":
      return [
        ...pausedReason(paused ?? dispatcher.ready.pauseOf(run, task)?.asked),
        ...(offer === undefined || offer.until < now || offer.session === worker
          ? []
          : [{ reason: "offered", ...offer } as const]),
        ...(status.notBefore <= now
          ? []
          : [{ reason: "backing-off", until: status.notBefore, after: lastOutcome } as const]),
      ];
    default:
      return [{ reason: "state", state: status.state }];
  }
}

const pausedReason = (asked: Asked | undefined): readonly Reason[] =>
  asked === undefined ? [] : [{ reason: "paused", asked }];

/** What the dispatcher looks at. A missing worker comes last, since every waiting task has that reason. */
function dispatchReasons(question: Question): readonly Wait[] {
  const { dispatcher, run, task } = question;
  const shape = dispatcher.runs.shapeOf(run, task);
  const impossible = noMatch(question, shape);
  if (impossible !== undefined) return [impossible];
  return [
    ...backpressure(question),
    ...machineShort(question),
    ...breakerOpen(question, shape),
    ...sameKey(question),
    ...hazard(question),
    ...rateLimited(question, shape),
    ...shortOf(question, shape),
  ];
}

function noMatch(question: Question, shape: Shape): Wait | undefined {
  const { dispatcher, run, worker } = question;
  const { requires, placements, tooMuch } = shape;
  if (dispatcher.roster !== undefined && placements.length > 0) return noSession(question, shape);
  const at = worker === undefined ? undefined : dispatcher.nodes.find(({ workers }) => workers.has(worker));
  const missing =
    at === undefined ? dispatcher.missing(requires) : requires.filter((each) => !at.capabilities.has(each));
  const isTooSmall = tooMuch.length > 0 || (at !== undefined && placements.every(({ node }) => node !== at));
  if (missing.length === 0 && !isTooSmall) return undefined;
  return { reason: "no-match", missing, tooMuch: tooMuch.map((demand) => excessOf(run, demand)) };
}

/** No session of this pool could ever take the task, as things are. */
function noSession(question: Question, shape: Shape): Wait | undefined {
  const { dispatcher, task } = question;
  const { roster } = dispatcher;
  if (roster === undefined || suited(question, shape).length > 0) return undefined;
  const pool = poolOf(task.spec);
  return { reason: "no-match", missing: roster.missing(shape.requires), tooMuch: [], pool, sessions: roster.size };
}

function suited({ dispatcher, worker, suits }: Question, shape: Shape): readonly Session[] {
  const all = suits.get(shape) ?? [...(dispatcher.roster?.suited(shape) ?? [])];
  suits.set(shape, all);
  return worker === undefined ? all : all.filter(({ profile }) => profile.id === worker);
}

const excessOf = (run: Run, { resource, amount }: Demand): Excess => ({
  ...named(run, resource.name),
  asked: amount,
  capacity: resource.capacity,
});

function backpressure({ dispatcher, task, now }: Question): readonly Wait[] {
  const { pressure, allowed, out } = dispatcher;
  const deferred = dispatcher.defers(laneOf(task), now);
  // When no worker is idle, workers are missing, and the pressure is not the reason.
  if (!deferred && (out < allowed || dispatcher.idle === 0)) return [];
  return [{ reason: "backpressure", ...pressure, allowed, out, deferred }];
}

function machineShort({ dispatcher, now }: Question): readonly Wait[] {
  if (dispatcher.idle === 0 || !dispatcher.isShort(now)) return [];
  const { allowed, until, why } = dispatcher.shortness;
  return [{ reason: "shortage", why, allowed, out: dispatcher.out, ...(until > now && { until }) }];
}

function breakerOpen({ dispatcher, now }: Question, { provider }: Shape): readonly Wait[] {
  if (provider === undefined || dispatcher.breakers.admits(provider, now)) return [];
  const breaker = dispatcher.breakers.of(provider);
  const until = breaker.state === "open" ? { until: breaker.until } : {};
  return [{ reason: "breaker-open", provider, failures: breaker.failures, ...until }];
}

function sameKey({ dispatcher, task }: Question): readonly Wait[] {
  const key = task.spec.idempotencyKey;
  const found = dispatcher.keys.holder(task);
  if (key === undefined || found === undefined) return [];
  return [{ reason: "same-key", key, run: found.run.manifest.id, holder: glimpse(found.task) }];
}

function hazard({ dispatcher, run, task, now }: Question): readonly Wait[] {
  const found = dispatcher.hazard(run, task, now);
  if (found === undefined) return [];
  return [{ reason: "hazard", kind: found.kind, path: withinPlan(run, found.path), holder: glimpse(found.holder) }];
}

const withinPlan = ({ manifest }: Run, path: string): string =>
  path.startsWith(`${manifest.directory}/`) ? path.slice(manifest.directory.length + 1) : path;

function rateLimited({ run, now }: Question, { own }: Shape): readonly Wait[] {
  const rates = own.flatMap((demand) => rateShortage(run, demand, now) ?? []);
  const [first, ...others] = rates;
  if (first === undefined) return [];
  return [{ reason: "rate-limited", rates, until: others.reduce((last, { at }) => (at > last ? at : last), first.at) }];
}

function rateShortage(run: Run, demand: Demand, now: Instant): RateShortage | undefined {
  const { resource, amount } = demand;
  const at = resource.refill === undefined ? undefined : refilledAt([demand], now);
  if (at === undefined || resource.refill === undefined) return undefined;
  const per = millis(resource.capacity / resource.refill);
  return {
    name: named(run, resource.name).name,
    asked: amount,
    level: freeAt(resource, now),
    capacity: resource.capacity,
    per,
    at,
  };
}

/** Room on the nodes that could ever take the task: resources first, then reservations, then workers. */
function shortOf(question: Question, shape: Shape): readonly Wait[] {
  const { run, task, worker, now, shadow, reserved } = question;
  const lasting = shape.own.filter(({ resource }) => resource.refill === undefined);
  const placements = shape.placements.filter(({ node }) => worker === undefined || node.workers.has(worker));
  const roomy = fits(lasting, now) ? placements.filter(({ demands }) => fits(demands, now)) : [];
  if (roomy.length === 0 && placements.length > 0) {
    return [{ reason: "resources", short: shortagesOf(question, shape, leastShort(placements, lasting, now)) }];
  }
  const open =
    shadow === undefined || reserved === task || !question.dispatcher.reservation.binds(laneOf(task), now)
      ? roomy
      : roomy.filter((placement) => delayed(question, shape, placement, shadow).length === 0);
  const sessions = question.dispatcher.roster && suited(question, shape);
  const nodes = open.map(({ node }) => node);
  const idle = sessions === undefined ? idleAt(nodes, worker) : idleAmong(question, shape, sessions, nodes);
  if (idle > 0) return [];
  // A reservation is named only where a worker is idle; elsewhere the task waits for a worker like every other.
  const kept = roomy.find((placement) => !open.includes(placement) && idleAt([placement.node], worker) > 0);
  if (kept !== undefined && shadow !== undefined && reserved !== undefined) {
    const short = delayed(question, shape, kept, shadow).map(({ resource, amount }) => ({
      ...named(run, resource.name),
      asked: amount,
      free: shadow.spare.get(resource) ?? 0,
      capacity: resource.capacity,
      holders: { first: [], total: 0 },
    }));
    return [{ reason: "resources", short, reservedFor: glimpse(reserved) }];
  }
  if (sessions !== undefined) {
    return [{ reason: "capacity", workers: sessions.length, idle, pool: poolOf(question.task.spec) }];
  }
  const workers = worker === undefined ? placements.reduce((sum, { node }) => sum + node.workers.size, 0) : 1;
  return [{ reason: "capacity", workers, idle }];
}

function idleAmong(
  { worker, idles }: Question,
  shape: Shape,
  sessions: readonly Session[],
  nodes: readonly Node[],
): number {
  if (nodes.length === 0) return 0;
  const known = worker === undefined ? idles.get(shape) : undefined;
  if (known !== undefined) return known;
  const idle = sessions.filter(({ profile, state }) => state === "idle" && idleAt(nodes, profile.id) > 0).length;
  if (worker === undefined) idles.set(shape, idle);
  return idle;
}

function idleAt(nodes: readonly Node[], worker: WorkerId | undefined): number {
  if (worker !== undefined) return nodes.some((node) => node.isIdle(worker)) ? 1 : 0;
  return nodes.reduce((sum, node) => sum + node.idle, 0);
}

/** The part of its request that would make the reserved task wait. */
const delayed = (
  { dispatcher, run, task, now }: Question,
  shape: Shape,
  placement: Placement,
  shadow: Shadow,
): readonly Demand[] => inTheWay(wholeDemand(shape, placement), dispatcher.runs.until(run, task, now), shadow);

/** What is missing on the node that lacks the least. */
function leastShort(placements: readonly Placement[], own: readonly Demand[], now: Instant): readonly Demand[] {
  const short = placements.map(({ demands }) => [...demands, ...own].filter((demand) => !fits([demand], now)));
  return short.reduce((least, each) => (each.length < least.length ? each : least));
}

function shortagesOf(question: Question, shape: Shape, short: readonly Demand[]): readonly Shortage[] {
  const { dispatcher, run, worker, shortages } = question;
  const known = worker === undefined ? shortages.get(shape) : undefined;
  if (known !== undefined) return known;
  const found = short.map(({ resource, amount }) => ({
    ...named(run, resource.name),
    asked: amount,
    free: resource.free,
    capacity: resource.capacity,
    holders: some(holdersOf(dispatcher, resource), (holder) => ({ ...glimpse(holder.task), amount: holder.amount })),
  }));
  if (worker === undefined) shortages.set(shape, found);
  return found;
}

/** Which tasks have taken of a resource, and how much. */
function holdersOf(dispatcher: Dispatcher, resource: Resource): { readonly task: Task; readonly amount: number }[] {
  return [...dispatcher.held()].flatMap(({ task, shape, placement }) =>
    [...shape.own, ...placement.demands]
      .filter((demand) => demand.resource === resource)
      .map(({ amount }) => ({ task, amount })),
  );
}

/** What a plan declares for itself is kept under the run's number. */
export function named({ no }: Run, resource: string): { readonly name: string; readonly scope: "plan" | "machine" } {
  const own = `${no}:`;
  return resource.startsWith(own)
    ? { name: resource.slice(own.length), scope: "plan" }
    : { name: resource, scope: "machine" };
}
