/** What the engine knows, in the words of the API. */
import { directoryOf } from "../../domain/run.ts";
import type { Work } from "../../domain/spec.ts";
import { type Held, isWorking } from "../../domain/task.ts";
import { type Instant, later } from "../../domain/time.ts";
import type { LeaseGrant } from "../../engine/sessions/claim.ts";
import type { LeaseReportResult } from "../../engine/sessions/session-reports.ts";
import { invariant } from "../../std/invariant.ts";
import type { Grant, LeaseReply, Settled } from "../../wire/answers.ts";

export const isoOf = (at: Instant): string => new Date(at).toISOString();

/** Values that come from the scheduler's own environment are secrets: a session elsewhere has to have its own. */
function plainEnv(env: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> {
  const plain: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) if (typeof value === "string") plain[name] = value;
  return plain;
}

/** A session never gets a function to call: the function is in the scheduler's program. */
function workReply(work: Work): Pick<Grant, "prompt" | "command"> {
  invariant(!("call" in work), "what a session is given is a command or a prompt");
  if ("prompt" in work) return work;
  return { command: "shell" in work ? work.shell : work.argv };
}

export function grantReply({ run, task, fence, token, deadline, ttl }: LeaseGrant): Grant {
  const { spec } = task;
  const work = workReply(spec.run);
  return {
    run: run.manifest.id,
    task: spec.id,
    attempt: fence,
    fence,
    token,
    deadline: isoOf(deadline),
    ttl_ms: ttl,
    priority: spec.priority,
    ...(spec.title !== undefined && { title: spec.title }),
    ...work,
    directory: directoryOf(run.manifest, spec),
    env: plainEnv(spec.env),
    reads: spec.reads,
    writes: spec.writes,
    labels: spec.labels,
  };
}

export function leaseReply({ run, task, held }: LeaseReportResult): LeaseReply {
  const { lease, stopping, since } = held as Held;
  const why = stopping?.kind === "cancelled" && stopping.asked.why !== undefined ? { why: stopping.asked.why } : {};
  // After the soft limit comes the hard one.
  const by = stopping?.kind === "timeout" ? { by: isoOf(later(since, task.spec.timeout.hard)) } : {};
  return {
    run: run.manifest.id,
    task: task.spec.id,
    fence: lease.fence,
    deadline: isoOf(lease.deadline),
    ...(stopping && { stop: { kind: stopping.kind, ...why, ...by } }),
  };
}

export const settledReply = ({ run, task, repeated }: LeaseReportResult, fence: number): Settled => ({
  run: run.manifest.id,
  task: task.spec.id,
  fence,
  state: isWorking(task.status) ? "claimed" : task.status.state,
  repeated,
});
