/** The part of the service for people: submit, pause, resume, drain, cancel, retry, requeue, approve, edit. */
import { isAbsolute } from "node:path";
import { UserError } from "../../domain/errors.ts";
import { isTerminal } from "../../domain/task.ts";
import { millis } from "../../domain/time.ts";
import { scopeKey } from "../../domain/waiting/pause.ts";
import { digestOf } from "../../effects/digest.ts";
import { readEdit } from "../../plan/edit.ts";
import type { RequestKind } from "../../store/store.ts";
import type { Done, PauseReply, Submitted } from "../../wire/answers.ts";
import type { RetryRequest, SubmitRequest, TaskRequest } from "../../wire/messages.ts";
import type { Caller, Service } from "../../wire/service.ts";
import { findRun, mustFindTask } from "../look/reader.ts";
import { refuseInVain } from "../requests/refuse.ts";
import { requestHere } from "../requests/request-here.ts";
import { nameOf, readPlan } from "../runs/plan-file.ts";
import { manifestOf, retryRun, submitRun } from "../runs/submit.ts";
import { askedBy, liveRun, type Parts, runNamed, scopeNamed, scopeReply, scopeToHold, taskNamed } from "./parts.ts";
import { isoOf } from "./reply.ts";

type Control = Pick<
  Service,
  "submit" | "pause" | "resume" | "drain" | "cancel" | "retry" | "requeue" | "approve" | "edit"
>;

export function controlOf(parts: Parts): Control {
  const { scheduler } = parts;
  const { api, world } = scheduler.engine;
  const submits = new Map<string, Promise<Submitted>>();
  return {
    submit: (request, caller) => onceByKey(submits, request.key, () => submit(parts, request, caller)),
    pause: async (request, caller) => {
      const scope = await scopeToHold(parts, request);
      await api.hold(scope, askedBy(caller, request.why));
      return pauseReply(parts, scopeKey(scope));
    },
    resume: async (request, caller) => {
      const scope = await scopeNamed(parts, request);
      return { resumed: await api.letGo(scope, askedBy(caller, request.why)) };
    },
    drain: async (request, caller) => {
      const scope = await scopeToHold(parts, request);
      const asked = askedBy(caller, request.why);
      const remaining = await api.drain(scope, asked, millis(request.waitMs), caller.signal);
      const out = remaining.map(({ run, task, worker }) => ({ run: run.manifest.id, task: task.spec.id, worker }));
      return { drained: out.length === 0, remaining: out };
    },
    cancel: (request, caller) => ask(parts, "cancel", request, caller),
    requeue: (request, caller) => ask(parts, "requeue", request, caller),
    approve: (request, caller) => ask(parts, "approve", request, caller),
    retry: (request, caller) => retry(parts, request, caller),
    edit: async (request, caller) => {
      const { run, task } = await taskNamed(parts, request.run, request.task);
      const changes = readEdit(request.changes, task.spec);
      await api.edit(run, task, changes, askedBy(caller, request.why));
      return { run: run.manifest.id, task: task.spec.id, answer: "done" };
    },
  };

  function pauseReply(of: Parts, key: string): PauseReply {
    const pause = world.pauses.get(key);
    if (pause === undefined) throw new UserError("NOT_PAUSED", "It was let go at the same moment");
    return { ...scopeReply(of, pause.scope), ...pause.asked, at: isoOf(pause.at) } as PauseReply;
  }
}

/** Two callers with the same key at the same time get the same answer. */
async function onceByKey<T>(
  underway: Map<string, Promise<T>>,
  key: string | undefined,
  make: () => Promise<T>,
): Promise<T> {
  if (key === undefined) return make();
  const known = underway.get(key);
  if (known !== undefined) return known;
  const made = make();
  underway.set(key, made);
  try {
    return await made;
  } finally {
    underway.delete(key);
  }
}

async function submit(
  { scheduler }: Parts,
  { text, file, directory, key }: SubmitRequest,
  { by }: Caller,
): Promise<Submitted> {
  const { engine, store } = scheduler;
  if (!isAbsolute(directory)) throw new UserError("REQUEST_INVALID", `directory: "${directory}" is not absolute`);
  const kept = key === undefined ? undefined : `submit/${key}`;
  const recalled = kept === undefined ? undefined : await engine.api.recall(kept);
  if (recalled !== undefined) {
    const [row] = await store.runs({ no: recalled.run });
    if (row !== undefined) return { run: row.manifest.id, tasks: row.tasks, repeated: true };
  }
  const plan = await readPlan(text, nameOf(file), scheduler);
  const digest = digestOf(Buffer.from(text));
  const manifest = await manifestOf(scheduler, { plan, file, directory, digest, warnings: [] });
  const run = await submitRun(scheduler, manifest, plan.tasks, { key: kept, by });
  return { run: run.manifest.id, tasks: run.tasks.length, repeated: false };
}

/** The engine handles requests in the same way, wherever they come from. */
async function ask(parts: Parts, kind: RequestKind, request: TaskRequest, caller: Caller): Promise<Done> {
  const { scheduler } = parts;
  const run = kind === "cancel" ? await liveRun(parts, request.run) : await runNamed(parts, request.run);
  const task = request.task === undefined ? undefined : mustFindTask(run, request.task);
  refuseInVain(kind, run, task);
  const why = request.why === undefined ? {} : { why: request.why };
  await requestHere(scheduler, { kind, run, task, by: caller.by, ...why });
  const isOver =
    kind !== "cancel" || (task === undefined ? run.status.state === "finished" : isTerminal(task.status.state));
  return {
    run: run.manifest.id,
    ...(task !== undefined && { task: task.spec.id }),
    answer: isOver ? "done" : "underway",
  };
}

async function retry(parts: Parts, { run: name, tasks }: RetryRequest, { by }: Caller): Promise<Submitted> {
  const { scheduler } = parts;
  const row = await findRun(scheduler, name);
  const old = await runNamed(parts, name);
  const again = tasks.length === 0 ? "all" : new Set(tasks.map((id) => mustFindTask(old, id).no));
  const run = await retryRun(scheduler, row, again, { clears: false, by });
  return { run: run.manifest.id, tasks: run.tasks.length, repeated: false };
}
