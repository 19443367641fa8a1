/** What a session gets with a claim beside the task itself: how the attempt before ended, and a long prompt as a file. */
import { writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { isTaskEvent, type TaskEvent } from "../../domain/event.ts";
import { describeOutcome } from "../../domain/outcome.ts";
import { makeFolders } from "../../effects/folders.ts";
import type { LeaseGrant } from "../../engine/sessions/claim.ts";
import { endOf } from "../../views/timeline/attempt-end.ts";
import type { Grant, PreviousAttempt } from "../../wire/answers.ts";
import type { Parts } from "./parts.ts";
import { isoOf } from "./reply.ts";

/** Programs of agents begin to cut an answer at about this length. */
const PROMPT_INLINE_MAX = 10 * 1024;

export async function handoverOf(parts: Parts, granted: LeaseGrant): Promise<Pick<Grant, "previous" | "prompt_file">> {
  const previous = granted.fence > 1 ? await previousOf(parts, granted) : undefined;
  const file = promptFile(parts, granted);
  return { ...(previous !== undefined && { previous }), ...(file !== undefined && { prompt_file: file }) };
}

/** Read from the ledger: a retry is rare, and another scheduler may have seen the attempt before. */
async function previousOf(
  { scheduler }: Parts,
  { run, task, fence }: Pick<LeaseGrant, "run" | "task" | "fence">,
): Promise<PreviousAttempt | undefined> {
  let previous: PreviousAttempt | undefined;
  let worker = "";
  let note: string | undefined;
  for (const event of await scheduler.store.events({ run: run.no, task: task.no })) {
    if (!isTaskEvent(event) || event.attempt !== fence - 1) continue;
    if (event.kind === "claimed") worker = event.worker;
    if (event.kind === "noted") note = event.note;
    const ended = endOf(event);
    if (ended === undefined) continue;
    const { attempt } = event;
    previous = { attempt, worker, ended, why: whyOf(event), at: isoOf(event.at), ...(note !== undefined && { note }) };
  }
  return previous;
}

function whyOf(event: TaskEvent): string {
  const outcome = "outcome" in event && event.outcome !== undefined ? describeOutcome(event.outcome) : undefined;
  switch (event.kind) {
    case "expired":
      return event.why ?? outcome ?? "it gave no sign of life until its lease ran out";
    case "released":
      return event.why;
    case "parked":
      return event.message ?? outcome ?? event.reason;
    default:
      return outcome ?? event.kind;
  }
}

/** The file with the prompt, where that is too long for an answer. If the disk has no room for it, only the answer has the prompt. */
function promptFile({ state }: Parts, { run, task, fence }: LeaseGrant): string | undefined {
  const { spec } = task;
  if (!("prompt" in spec.run) || Buffer.byteLength(spec.run.prompt) <= PROMPT_INLINE_MAX) return undefined;
  const file = `${state.log(run.manifest.id, spec.id, fence)}.prompt.md`;
  try {
    makeFolders(dirname(file));
    writeFileSync(file, spec.run.prompt, { mode: 0o600 });
    return file;
  } catch {
    return undefined;
  }
}
