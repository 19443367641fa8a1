/** One attempt from its first process to its last: command, leftovers, verify, masks, and then the report. */
import type { Outcome, Usage } from "../../../domain/outcome.ts";
import type { ProcessIdentity, StopReason } from "../../../domain/task.ts";
import type { Millis } from "../../../domain/time.ts";
import { childIdentity } from "../../../effects/host.ts";
import { unreachable } from "../../../std/invariant.ts";
import { ask, endProcesses, livingGroups, signal } from "../ending.ts";
import { outsideGroup } from "../marks.ts";
import type { FromSpawner, SpawnerSettings, Start } from "../messages.ts";
import { type LaunchFailure, launch } from "./launch.ts";
import { capLog, logSize, maskLog } from "./log.ts";
import type { Reaper } from "./reaper.ts";
import type { Sampled, Sampler } from "./sampler.ts";
import { pause, type Strays } from "./strays.ts";

/** What an attempt asks of the spawner it runs in. */
export interface Surroundings {
  readonly settings: SpawnerSettings;
  readonly reaper: Reaper;
  readonly sampler: Sampler;
  readonly strays: Strays;
  report(message: FromSpawner): void;
  ended(attempt: LiveAttempt, outcome: Outcome): void;
}

/** Why we ended it: somebody asked, its memory limit, or nobody was left to run it for. */
type Cause = StopReason | { readonly kind: "memory" } | { readonly kind: "orphaned" };

/** An attempt that lived this long may have started daemons; a shorter one is looked after later, with others. */
const LASTING_MS = 1_000;

export class LiveAttempt implements Sampled {
  readonly order: Start;
  /** The process of the task's own command. */
  process: ProcessIdentity | undefined;

  group = 0;
  launchedAt = 0;
  looks = 0;
  nextLookAt = 0;
  peakBytes: number | undefined;
  seenCpuMs = 0;

  readonly #around: Surroundings;
  readonly #env: Readonly<Record<string, string>>;
  readonly #startedAt = performance.now();
  #verifying = false;
  #running = false;
  #cause: Cause | undefined;
  #killAt = Number.POSITIVE_INFINITY;
  #killTimer: NodeJS.Timeout | undefined;
  #endedAt = 0;
  #cpuMs: number | undefined;
  #logBytes = 0;
  #logMissing = 0;

  constructor(order: Start, env: Readonly<Record<string, string>>, around: Surroundings) {
    this.order = order;
    this.#env = env;
    this.#around = around;
  }

  get key(): string {
    return this.order.key;
  }

  get memoryLimit(): number | undefined {
    return this.order.memoryLimit;
  }

  begin(): void {
    this.#launch();
    if (!this.#running) return;
    this.process = childIdentity(this.group);
    this.#around.report({ kind: "started", key: this.key, ...(this.process && { process: this.process }) });
  }

  /** The first cause stands; the grace can only get shorter. */
  stop(cause: Cause, graceMs: number): void {
    const first = this.#cause === undefined;
    this.#cause ??= cause;
    const killAt = performance.now() + graceMs;
    if (killAt < this.#killAt) {
      this.#killAt = killAt;
      clearTimeout(this.#killTimer);
      if (graceMs > 0) this.#killTimer = setTimeout(() => this.#kill(), graceMs);
      else this.#kill();
    }
    if (first && this.#running && graceMs > 0) void this.#askAll();
  }

  overLimit(): void {
    this.stop({ kind: "memory" }, 0);
  }

  checkLog(): void {
    const size = logSize(this.order.log) ?? 0;
    if (size > this.#logBytes) this.#around.report({ kind: "progressed", key: this.key });
    this.#logBytes = size;
    if (size <= this.#around.settings.logMaxBytes) return;
    this.#logMissing = capLog(this.order.log, this.#around.settings.logMaxBytes, this.#logMissing);
    this.#logBytes = logSize(this.order.log) ?? 0;
  }

  #launch(): void {
    this.launchedAt = performance.now();
    const command = this.#verifying ? this.order.verify : this.order.command;
    if (command === undefined) return;
    const { cwd, log, nice } = this.order;
    const pid = launch(
      { command, cwd, log, nice, env: this.#env },
      {
        failed: (failure) => this.#couldNotStart(failure),
        exited: (code, name) => this.#exited(code, name),
      },
    );
    if (pid === undefined) return;
    this.group = pid;
    this.#running = true;
    this.seenCpuMs = 0;
    this.#around.sampler.add(this);
  }

  #couldNotStart({ kind, message }: LaunchFailure): void {
    this.#endedAt = performance.now();
    void this.#conclude({ kind, message: this.#verifying ? `verify: ${message}` : message, ...this.#spent() });
  }

  #exited(code: number | null, name: NodeJS.Signals | null): void {
    if (!this.#running) return;
    this.#running = false;
    this.#endedAt = performance.now();
    this.#around.sampler.remove(this);
    this.#around.reaper.exited({
      seenCpuMs: this.seenCpuMs,
      reaped: (cpuMs) => {
        if (cpuMs !== undefined) this.#cpuMs = (this.#cpuMs ?? 0) + cpuMs;
        const lasting = this.#cause !== undefined || this.#endedAt - this.launchedAt >= LASTING_MS;
        if (lasting || signal(-this.group, 0)) void this.#clear(lasting).then(() => this.#goOn(code, name));
        else this.#goOn(code, name);
        if (!lasting) this.#around.strays.later(this.key);
      },
    });
  }

  /** Ends what the leader left behind. */
  #clear(strays: boolean): Promise<void> {
    const asked = this.#cause === undefined ? [] : [this.group];
    const killAt = performance.now() + this.#around.settings.leftoverGraceMs;
    return endProcesses({
      find: async () => ({ groups: livingGroups([this.group]), pids: strays ? await this.#strays() : [] }),
      killAt: () => (this.#cause === undefined ? killAt : this.#killAt),
      now: () => performance.now(),
      pause,
      asked,
    });
  }

  async #strays(): Promise<readonly number[]> {
    const seen = await this.#around.strays.look();
    return outsideGroup(seen.get(this.key) ?? [], this.group);
  }

  #goOn(code: number | null, name: NodeJS.Signals | null): void {
    const outcome = this.#judge(code, name);
    if (outcome.kind === "success" && this.order.verify !== undefined && !this.#verifying) {
      this.#verifying = true;
      this.#launch();
    } else void this.#conclude(outcome);
  }

  #judge(code: number | null, name: NodeJS.Signals | null): Outcome {
    const spent = this.#spent();
    if (this.#cause !== undefined) return judgeCause(this.#cause, spent);
    if (code === 0) return { kind: "success", ...spent };
    if (this.#verifying) return { kind: "verify", code, ...spent };
    if (code !== null) return { kind: "exit", code, ...spent };
    return { kind: "signal", signal: name ?? "unknown", ...spent };
  }

  #spent(): { durationMs: Millis; usage?: Usage } {
    const durationMs = Math.round(this.#endedAt - this.#startedAt) as Millis;
    if (this.#cpuMs === undefined && this.peakBytes === undefined) return { durationMs };
    const usage = {
      ...(this.#cpuMs !== undefined && { cpuMs: this.#cpuMs as Millis }),
      ...(this.peakBytes !== undefined && { peakBytes: this.peakBytes }),
    };
    return { durationMs, usage };
  }

  async #conclude(outcome: Outcome): Promise<void> {
    clearTimeout(this.#killTimer);
    const secrets = this.order.secrets;
    if (secrets !== undefined && secrets.length > 0) await maskLog(this.order.log, secrets);
    this.#around.ended(this, outcome);
  }

  async #askAll(): Promise<void> {
    ask(-this.group);
    for (const pid of await this.#strays()) ask(pid);
  }

  #kill(): void {
    if (this.#running) signal(-this.group, "SIGKILL");
  }
}

function judgeCause(cause: Cause, spent: { durationMs: Millis; usage?: Usage }): Outcome {
  switch (cause.kind) {
    case "timeout":
      return { kind: "timeout", limit: cause.limit, ...spent };
    case "cancelled":
    case "shutdown":
      return { kind: cause.kind, ...spent };
    case "memory":
      return { kind: "signal", signal: "SIGKILL", limit: "memory", ...spent };
    case "orphaned":
      return { kind: "lost", message: "stopped because its scheduler was gone", ...spent };
    default:
      return unreachable(cause);
  }
}
