import { STORE_KINDS, type StoreKind } from "../../src/simulate/faults/seed/scenario.ts";

/**
 * Bugs that are planted on purpose: each is one change of the text of one file, made while that file is loaded, in a process of its own.
 * Nothing of it is in the program. A simulation that does not find one of them would not find one like it either.
 */
export interface PlantedBug {
  /** The stores with which the bug is looked for: a bug of one store is not in the other. */
  readonly stores: readonly StoreKind[];
  readonly file: string;
  /** Stands in the file exactly once. */
  readonly find: string;
  readonly put: string;
  /** Within so many seeds it must be found. */
  readonly seeds: number;
}

const SEEDS = 1_000;

const bug = (file: string, find: string, put: string, seeds: number = SEEDS): PlantedBug => ({
  stores: STORE_KINDS.filter(
    (kind) => !file.startsWith("store/") || file.startsWith(`store/${kind}/`) || file === "store/rows.ts",
  ),
  file,
  find,
  put,
  seeds,
});

export const PLANTED_BUGS: Readonly<Record<string, PlantedBug>> = {
  "a session reports under an old fence": bug(
    "engine/work/leases.ts",
    "return isWorking(status) && status.lease.fence === fence && !isExpired(",
    "return isWorking(status) && !isExpired(",
  ),
  "a session settles as a local worker does, whatever its fence": bug(
    "engine/sessions/session-reports.ts",
    "if (!leases.isLive(task, fence, turn.now)) return",
    'if (word.kind !== "complete" && !leases.isLive(task, fence, turn.now)) return',
  ),
  "a lease is renewed after it ran out": bug(
    "engine/work/leases.ts",
    "status.lease.fence === fence && !isExpired(status.lease, now)",
    "status.lease.fence === fence",
    2_000,
  ),
  "answers are given before the commit": bug(
    "engine/turn/recorder.ts",
    "const result = await next.committed;",
    "await next.tell(); const result = await next.committed;",
  ),
  "processes are started before the commit": bug(
    "engine/turn/turn-rules.ts",
    "turn.after(() => live.start());",
    "live.start();",
  ),
  "an end that was not reported yet is lost": bug(
    "engine/work/local-workers.ts",
    "take((turn) => this.#hear(turn, live, report))",
    "{ if (live.hasEnded) this.#live.delete(live.task); take((turn) => this.#hear(turn, live, report)); }",
  ),
  "resources are given back twice": bug(
    "decide/room/site.ts",
    "giveBack(shape.own);",
    "giveBack(shape.own); giveBack(shape.own);",
  ),
  "a lease ends one moment early": bug("domain/lease.ts", "now > lease.deadline", "now >= lease.deadline"),
  "a time-out goes by a clock that is set forward": bug(
    "decide/rules/timeouts.ts",
    "signs?.leaptSinceBegun ?? millis(0)",
    "millis(0)",
  ),
  "a lease goes by the wall clock": bug(
    "engine/sessions/claim-service.ts",
    "later(turn.now, session.profile.ttl), order)",
    "later(Date.now() as never, session.profile.ttl), order)",
  ),
  "a claim said twice is granted twice": bug(
    "engine/sessions/claim-service.ts",
    "const again = this.#again(session, order);",
    "const again = undefined;",
  ),
  "what a claim led to is forgotten at a restart": bug(
    "engine/engine-api.ts",
    "const recalled = key === undefined ? undefined :",
    "const recalled = true ? undefined :",
    2_000,
  ),
  "a batch is written in part": bug(
    "store/memory/store.ts",
    "for (const { row } of batch.tasks) (runs",
    "for (const { row } of batch.tasks.slice(0, 2)) (runs",
  ),
  "one need is enough": bug("domain/reduce.ts", "dependent.unmet--;", "dependent.unmet = 0;"),
  "an offer keeps nothing": bug(
    "decide/queue/withheld.ts",
    "if (offer === undefined && this.#pauses.of(run, task) === undefined) return false;",
    "if (this.#pauses.of(run, task) === undefined) return false;",
  ),
  "a pause does not hold tasks that wait already": bug("decide/pools.ts", "line.review(now, run);", ";"),
  "a pause does not reach what depends on it": bug(
    "domain/waiting/pauses.ts",
    "void todo.push(run.tasks[no] as Task)",
    "undefined",
  ),
  "what is parked as poison is lost": bug(
    "engine/requests.ts",
    'if (task.status.state === "parked") turn',
    'if (task.status.state === "parked" && task.status.reason !== "poison") turn',
  ),
  "a failure counts twice": bug(
    "domain/reduce.ts",
    "if (event.costs) task.failures++;",
    "if (event.costs) task.failures += 2;",
  ),
  "one try too many": bug("decide/rules/rule.ts", "failures >= retry.attempts", "failures > retry.attempts"),
  "back-off is forgotten at a restart": bug(
    "store/rows.ts",
    "since: row.since, notBefore: row.notBefore };",
    "since: row.since, notBefore: row.since };",
  ),
  "the epoch is not checked": bug("store/memory/store.ts", "batch.epoch !== epoch ||", ""),
  "SQLite: the epoch is not checked": bug(
    "store/sqlite/writing/write.ts",
    "if (sql.holdsEpoch.get(sheet.epoch) === undefined) return false;",
    "",
  ),
  "SQLite: a batch is written in part": bug(
    "store/sqlite/writing/target.ts",
    "begin[mode].run();",
    'begin[mode].run(); if (mode === "immediate") { commit.run(); begin.deferred.run(); }',
  ),
  "SQLite: a commit is answered before it is on the disk": bug(
    "store/sqlite/connect.ts",
    'db.exec("pragma synchronous = full")',
    'db.exec("pragma synchronous = off")',
  ),
  "SQLite: a commit that was broken off is taken for damage": bug(
    "store/sqlite/log/check.ts",
    "if (ended) lost++;",
    "lost++;",
  ),
  "SQLite: what went wrong with the disk is taken for a mistake of ours": bug(
    "store/sqlite/failure.ts",
    'return new UserError(isOfFile ? "STORE_FAILED" : otherwise,',
    "return error; new UserError(otherwise,",
  ),
  "files are let go when the work begins": bug(
    "decide/dispatcher.ts",
    'if (cause.kind === "edited") this.#owned(task);',
    'if (cause.kind === "started") this.#shared.locks.release(task);',
  ),
  "an expired lease keeps its worker": bug(
    "decide/dispatcher.ts",
    "if (isWorking(from) && !isWorking(to)) this.#yield(",
    'if (isWorking(from) && !isWorking(to) && cause.kind !== "expired") this.#yield(',
  ),
  "a rate gets back what it gave": bug(
    "decide/room/room.ts",
    "if (resource.refill !== undefined) continue;",
    "if (resource.refill !== undefined) { resource.free += amount; continue; }",
  ),
  "a rate is full again after a restart": bug(
    "decide/room/shapes.ts",
    "return amount > 0 ? [{",
    "return amount < 0 ? [{",
  ),
  "cancelling is forgotten when the holder is lost": bug(
    "decide/rules/rule.ts",
    'canceller === undefined ? { kind: "expired"',
    'true ? { kind: "expired"',
  ),
  "what was assigned and is cancelled goes back": bug(
    "decide/rules/rule.ts",
    'canceller === undefined ? { kind: "released"',
    'true ? { kind: "released"',
    2_000,
  ),
  "dependents of what failed are run": bug(
    "domain/waiting/needs.ts",
    'need === "succeeded" ||',
    'need === "failed" || need === "succeeded" ||',
  ),
  "dependents of what was skipped wait for ever": bug(
    "decide/rules/cascade.ts",
    'state === "succeeded") return [];',
    'state === "succeeded" || state === "skipped") return [];',
  ),
  "tokens are not looked at": bug(
    "engine/sessions/session-reports.ts",
    "if (this.#deps.tokens.isGenuine(",
    'if (token !== "" || this.#deps.tokens.isGenuine(',
  ),
  "the sweep takes what runs here for lost": bug(
    "engine/work/deadline-watcher.ts",
    "if (this.#deps.workers.has(task)) continue;",
    "",
    2_000,
  ),
  "runs are taken up one by one": bug(
    "simulate/faults/world/scheduler.ts",
    "await this.engine.resumeAll(unfinished.map((run) => run.no));",
    "for (const run of unfinished) await this.engine.resume(run.no);",
  ),
  "what lives on is not taken over": bug(
    "engine/work/local-workers.ts",
    "const handle = await this.#deps.executor.adopt(",
    "const handle = undefined as never; void (",
  ),
  "time-outs never come": bug(
    "decide/rules/timeouts.ts",
    "const { soft, hard } = spec.timeout;",
    "const { soft, hard } = spec.timeout; if (hard > 0) return undefined;",
  ),
  "gates stand open": bug("domain/world.ts", "needs + (spec.gate === undefined ? 0 : 1)", "needs"),
  "a session does more at once than it can": bug(
    "decide/room/nodes.ts",
    "return (this.#seats.get(worker)?.free ?? 0) > 0;",
    "return this.#workers.has(worker);",
  ),
  "what is done with a key is done again": bug(
    "engine/sessions/keys.ts",
    "for (const key of this.#due) {",
    "for (const key of [] as string[]) {",
  ),
  "what is done with a key is forgotten at a restart": bug(
    "engine/sessions/keys.ts",
    "for (const done of await this.#deps.store.doneWith(keys)) this.#learn(done);",
    "",
  ),
  "two with one key are at work at once": bug(
    "decide/queue/keys.ts",
    "return holder?.task === task ? undefined : holder;",
    "return undefined;",
  ),
  "poison is never parked": bug("decide/rules/rule.ts", "expiries >= EXPIRIES_MAX", "expiries >= 1e9"),
};
