/** Runs attempts as processes of this machine, through spawners that outlive the scheduler. See README.md in src/execute. */
import type { ProcessIdentity } from "../../domain/task.ts";
import { millis } from "../../domain/time.ts";
import type { Clock } from "../../effects/clock.ts";
import { systemSecrets } from "../../effects/random.ts";
import { invariant } from "../../std/invariant.ts";
import type { Attempt, Executor, Handle, Watch } from "../executor.ts";
import { Bound } from "./bound.ts";
import { baseEnvironment, taskEnvironment } from "./environment.ts";
import { claimIdentity, errorsFile, forgetSpawner, prepareDirectory, type StateIdentity } from "./files.ts";
import { type Inheritance, inherit } from "./inherit.ts";
import { canFork, launchForker, launchSpawner } from "./launcher.ts";
import type { Link } from "./link.ts";
import { attemptKey, type Sighting, sight } from "./marks.ts";
import type { Hello, Start } from "./messages.ts";
import { PROCESS_DEFAULTS, type ProcessOptions } from "./options.ts";
import { isStranded, rescue, type Stranded } from "./rescue.ts";
import { maskLog } from "./spawner/log.ts";

export interface ProcessExecutorSetup {
  /** Where spawners leave word for later schedulers. One scheduler at a time. */
  readonly stateDir: string;
  readonly clock: Clock;
  /** The scheduler's own: the source of what tasks may see, and of their secrets. */
  readonly environment?: NodeJS.ProcessEnv;
  readonly options?: Partial<ProcessOptions>;
}

/** Returns at once, while the spawner starts; what is asked meanwhile waits in its socket. */
export function openProcessExecutor(setup: ProcessExecutorSetup): Executor {
  return new ProcessExecutor(setup);
}

/** Starts after which a second spawner is worth its own start. */
const BUSY_STARTS = 32;
const NOBODY: ReadonlySet<Link> = new Set();

class ProcessExecutor implements Executor {
  readonly #clock: Clock;
  readonly #environment: NodeJS.ProcessEnv;
  readonly #options: ProcessOptions;
  readonly #secrets = systemSecrets();
  readonly #directory: string;
  readonly #identity: StateIdentity;
  /** Nobody was here before, so that nothing can be left of them. */
  readonly #isNew: boolean;
  readonly #hello: Hello;
  /** Spawners started here. */
  #crew: Link[] = [];
  #forker: ProcessOptions["forker"];
  readonly #own = new Set<string>();
  readonly #logs = new Map<string, { readonly log: string; readonly secrets: readonly string[] }>();
  #starts = 0;
  #inheritance: Promise<Inheritance> | undefined;
  /** Where something ran when it was adopted: how that ends is told at any time, and saved later. They leave by themselves. */
  readonly #owed = new Set<Link>();
  #swept = false;
  #sighting: Sighting | undefined;
  readonly #rescues = new Set<Promise<void>>();
  #disposed: Promise<void> | undefined;

  constructor({ stateDir, clock, environment = process.env, options }: ProcessExecutorSetup) {
    this.#clock = clock;
    this.#environment = environment;
    this.#options = { ...PROCESS_DEFAULTS, ...options };
    this.#forker = canFork() ? this.#options.forker : "node";
    this.#directory = prepareDirectory(stateDir);
    const fresh: StateIdentity = { stateId: this.#secrets.token(), secret: this.#secrets.token() };
    this.#identity = claimIdentity(this.#directory, () => fresh, this.#secrets.suffix());
    this.#isNew = this.#identity.stateId === fresh.stateId;
    this.#hello = {
      kind: "hello",
      secret: this.#identity.secret,
      environment: baseEnvironment(environment, this.#options.passEnv),
      settings: {
        leaseMs: this.#options.lease,
        orphans: this.#options.orphans,
        graceMs: this.#options.grace,
        leftoverGraceMs: this.#options.leftoverGrace,
        logMaxBytes: this.#options.logMaxBytes,
      },
    };
    this.#launch();
  }

  start(attempt: Attempt, watch: Watch): Handle {
    const bound = new Bound(attemptKey(attempt), watch, this.#clock.now());
    if (this.#disposed !== undefined) bound.settle({ kind: "shutdown", durationMs: millis(0) });
    else this.#startAnew(attempt, bound);
    return bound;
  }

  #startAnew(attempt: Attempt, bound: Bound): void {
    const wanted = taskEnvironment(attempt.env, this.#environment);
    if (!wanted.ok) return bound.settle({ kind: "spawn", message: wanted.error, durationMs: millis(0) });
    const { env, secrets } = wanted.value;
    if (secrets.length > 0) this.#remember(bound, attempt.log, secrets);
    this.#pick().start(this.#order(bound.key, attempt, env, secrets), bound);
  }

  async adopt(attempt: Attempt, process: ProcessIdentity | undefined, watch: Watch): Promise<Handle | undefined> {
    const bound = new Bound(attemptKey(attempt), watch, this.#clock.now());
    const { links, ends } = await this.#inherit();
    for (const link of links) {
      if (!link.adopt(bound)) continue;
      if (link.bound.has(bound.key)) this.#owed.add(link);
      return bound;
    }
    const ended = ends.get(bound.key);
    if (ended !== undefined) {
      if (ended.process !== undefined) bound.started(ended.process);
      bound.settle(ended.outcome);
      return bound;
    }
    // Looked for once for all that are asked for: nobody starts anything meanwhile.
    this.#sighting ??= sight(this.#identity.stateId);
    if (!isStranded({ key: bound.key, process }, this.#sighting)) return undefined;
    bound.started(process);
    this.#rescue([bound], "its spawner was gone");
    return bound;
  }

  async sweep(): Promise<number> {
    const inheritance = await this.#inherit();
    this.#sighting = undefined;
    const left: Bound[] = [];
    for (const link of inheritance.links) {
      for (const key of [...link.unclaimed.keys()]) {
        const bound = new Bound(key, IGNORE, this.#clock.now());
        if (link.adopt(bound)) left.push(bound);
      }
    }
    for (const bound of left) bound.stop({ kind: "shutdown" }, this.#options.grace);
    const stranded = this.#strandedKeys(inheritance);
    const { stateId } = this.#identity;
    await rescue(stranded, { stateId, clock: this.#clock, grace: this.#options.grace });
    await Promise.all(left.map((bound) => bound.outcome));
    for (const link of inheritance.links) {
      link.forgetEnds();
      if (link.bound.size === 0 && !this.#owed.has(link)) link.goodbye();
    }
    inheritance.forget(this.#owed);
    this.#swept = true;
    return left.length + stranded.length;
  }

  /** Spawners that are not told goodbye go on, and remember how what they ran ended: also what was told here and perhaps not saved. */
  leave(): void {
    this.#disposed ??= Promise.resolve();
  }

  /** Stops what still runs, and ends when it has, the spawners with it. */
  [Symbol.asyncDispose](): Promise<void> {
    this.#disposed ??= this.#dispose();
    return this.#disposed;
  }

  async #dispose(): Promise<void> {
    const inherited = await this.#inheritance?.catch(() => undefined);
    const links = [...this.#crew, ...(inherited?.links ?? [])];
    const running = links.flatMap((link) => [...link.bound.values()]);
    for (const bound of running) bound.stop({ kind: "shutdown" }, this.#options.grace);
    await Promise.all([...running.map((bound) => bound.outcome), ...this.#rescues]);
    for (const link of links) if (link.unclaimed.size === 0) link.goodbye();
    await Promise.all(links.filter((link) => link.unclaimed.size === 0).map((link) => link.closed));
    if (this.#swept) inherited?.forget(NOBODY);
    for (const id of this.#own) forgetSpawner(this.#directory, id);
  }

  #order(key: string, attempt: Attempt, env: Start["env"], secrets: readonly string[]): Start {
    const { work: command, where, log, priority, memoryLimit } = attempt;
    invariant(!("prompt" in command), `${attempt.task} is a command`);
    return {
      kind: "start",
      key,
      command,
      cwd: where.directory,
      env,
      log,
      nice: this.#options.nice[priority],
      ...(memoryLimit !== undefined && { memoryLimit }),
      ...(secrets.length > 0 && { secrets }),
    };
  }

  /** The spawner with the least to do; a further one when the work is many and short. */
  #pick(): Link {
    this.#starts++;
    // A forker starts as fast as one can ask it to.
    const most = this.#forker === "perl" ? 1 : this.#options.spawners;
    const wanted = this.#starts > BUSY_STARTS ? most : 1;
    this.#crew = this.#crew.filter((link) => link.open);
    if (this.#crew.length < wanted) this.#launch();
    return this.#crew.reduce((least, link) => (link.bound.size < least.bound.size ? link : least));
  }

  #launch(): Link {
    const id = `${process.pid}-${this.#secrets.suffix()}`;
    this.#own.add(id);
    const launch = this.#forker === "perl" ? launchForker : launchSpawner;
    const link = launch({
      directory: this.#directory,
      id,
      identity: this.#identity,
      hello: this.#hello,
      perl: this.#options.perl,
      lost: (from, left, replaced) => this.#lostOwn(from, left, replaced),
    });
    this.#crew.push(link);
    return link;
  }

  /** A forker that never answered has started nothing, and does not work here: what was asked of it is asked of a spawner. */
  #lostOwn(link: Link, left: readonly Bound[], replaced: boolean): void {
    if (link.answered || this.#forker === "node" || this.#disposed !== undefined) return this.#lost(left, replaced);
    this.#forker = "node";
    const next = this.#launch();
    for (const bound of left) {
      const order = link.unanswered(bound.key);
      if (order !== undefined) next.start(order, bound);
    }
  }

  #lost(left: readonly Bound[], replaced: boolean): void {
    if (left.length === 0) return;
    if (!replaced) this.#rescue(left, `its spawner died; ${errorsFile(this.#directory)} may say why`);
    // They run on, for somebody else.
    else for (const bound of left) bound.lost("another scheduler took over", this.#clock.now());
  }

  #rescue(stranded: readonly Bound[], why: string): void {
    const { stateId } = this.#identity;
    const rescued = rescue(stranded, { stateId, clock: this.#clock, grace: this.#options.leftoverGrace })
      .then(() => Promise.all(stranded.map((bound) => this.#mask(bound.key))))
      .then(() => {
        for (const bound of stranded) bound.lost(why, this.#clock.now());
        this.#rescues.delete(rescued);
      });
    this.#rescues.add(rescued);
  }

  async #mask(key: string): Promise<void> {
    const kept = this.#logs.get(key);
    if (kept !== undefined) await maskLog(kept.log, kept.secrets);
  }

  /** Needed only where the spawner dies before it has masked the log itself. */
  #remember(bound: Bound, log: string, secrets: readonly string[]): void {
    this.#logs.set(bound.key, { log, secrets });
    void bound.outcome.then(() => this.#logs.delete(bound.key));
  }

  #inherit(): Promise<Inheritance> {
    this.#inheritance ??= inherit(this.#directory, this.#own, this.#hello, this.#clock, (_, left, replaced) =>
      this.#lost(left, replaced),
    );
    return this.#inheritance;
  }

  /** Processes that carry our mark and belong to no attempt anybody here knows of. */
  #strandedKeys(inheritance: Inheritance): Stranded[] {
    if (this.#isNew && !inheritance.traces) return [];
    const links = [...this.#crew, ...inheritance.links];
    return [...sight(this.#identity.stateId).keys()]
      .filter((key) => !links.some((link) => link.bound.has(key)))
      .map((key) => ({ key }));
  }
}

const IGNORE: Watch = { started() {}, progressed() {}, said() {} };
