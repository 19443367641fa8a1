/** `rota work`: a session that claims one task after the other, has a command do each under its lease, and reports how it ended. */
import { UserError } from "../../domain/errors.ts";
import { type Millis, millis, minutes } from "../../domain/time.ts";
import { type Clock, systemClock } from "../../effects/clock.ts";
import { previousText } from "../../views/claim/grant.ts";
import type { Grant, LeaseReply, SessionReply, Settled } from "../../wire/answers.ts";
import type { Client } from "../../wire/client.ts";
import type { JoinRequest, LeaseRequest } from "../../wire/messages.ts";
import { renewing, retryWhileAway, within } from "../daemon-retry.ts";
import type { AgentEnd, StartAgent } from "./agent-command.ts";

export interface WorkOptions {
  readonly client: Pick<
    Client,
    "join" | "leave" | "claim" | "assignment" | "heartbeat" | "complete" | "fail" | "release"
  >;
  readonly profile: Partial<JoinRequest>;
  readonly start: StartAgent;
  /** The environment of the command, beside the variables about the task. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** How long to wait for a task. Then the work is over. */
  readonly wait: Millis;
  /** How long the command has to end when it is asked to. */
  readonly grace: Millis;
  readonly freshKey: () => string;
  /** The mark of the state directory: programs that the command starts have the authority of the attempt. */
  readonly stateId: string | undefined;
  /** Keeps the lease where the command's own reports find it; gives the function that removes it. */
  readonly keep: (grant: Grant, session: string) => () => void;
  readonly tell: (line: string) => void;
  /** Aborted when the work is to stop: the task is handed back. */
  readonly stop: AbortSignal;
  /** Aborted when it is to stop at once. */
  readonly kill: AbortSignal;
}

type Working = WorkOptions & { readonly clock: Clock };

/** How many renewals are made during a lease: two may be lost on the way. */
const RENEWALS = 3;
/** How long a daemon may be away before a report on a task is given up. */
const REPORT_RETRY_MAX = minutes(5);
const LEAVE_RETRY_MAX = millis(2_000);

/** Ends when no task came in time, or when it is stopped. The session leaves before that. */
export async function work(asked: WorkOptions & { readonly clock?: Clock }): Promise<void> {
  const options = { ...asked, clock: asked.clock ?? systemClock() };
  const { client, profile, stop, clock } = options;
  const joined = await client.join(profile);
  try {
    while (!stop.aborted) {
      const grant = await nextTask(joined, options);
      if (grant === undefined) return;
      await doTask(grant, joined.session, options);
    }
  } finally {
    await retryWhileAway(() => client.leave(joined.session), LEAVE_RETRY_MAX, clock).catch(() => undefined);
  }
}

async function nextTask({ session, mode }: SessionReply, options: Working): Promise<Grant | undefined> {
  const { client, profile, wait, stop, clock, freshKey } = options;
  const key = freshKey();
  const ask = (waitMs: number): Promise<Grant | undefined> =>
    mode === "push"
      ? client.assignment(session, waitMs, { signal: stop })
      : client.claim({ session, key, waitMs }, { signal: stop });
  try {
    return await within(ask, wait, clock);
  } catch (error) {
    if (stop.aborted) return undefined;
    if (!(error instanceof UserError) || error.code !== "SESSION_UNKNOWN") throw error;
    await client.join({ ...profile, session });
    return await within(ask, wait, clock);
  }
}

/** Why the command was asked to end, if it was. */
type Ending = "cancelled" | "timeout" | "lost" | "stopped";

async function doTask(grant: Grant, session: string, options: Working): Promise<void> {
  const { client, clock, grace, start, stop, kill, keep, tell } = options;
  const { run, task, fence, token, attempt, ttl_ms, deadline, directory } = grant;
  const lease: LeaseRequest = { run, task, fence, token };
  const forget = keep(grant, session);
  tell(`${task}: attempt ${attempt}`);
  const agent = start({ directory, env: environmentOf(grant, session, options), prompt: promptOf(grant) });
  let isOut = true;
  let ending: Ending | undefined;
  const end = (why: Ending): void => {
    ending ??= why;
    agent.stop(grace);
  };
  const onStop = (): void => end("stopped");
  const onKill = (): void => agent.stop(millis(0));
  stop.addEventListener("abort", onStop);
  kill.addEventListener("abort", onKill);
  let last: LeaseReply | undefined;
  const renew = async (): Promise<LeaseReply> => (last = await client.heartbeat(lease));
  const every = millis(Math.max(1, Math.floor(ttl_ms / RENEWALS)));
  const renewed = renewing({ every, renew, isHeld: () => isOut, deadline, clock }).then(
    (came) => came === "told-to-stop" && end(last?.stop?.kind === "timeout" ? "timeout" : "cancelled"),
    (error: unknown) => {
      tell(`${task}: ${textOf(error)}`);
      end("lost");
    },
  );
  if (stop.aborted) onStop();
  const ended = await agent.ended;
  isOut = false;
  await renewed;
  stop.removeEventListener("abort", onStop);
  kill.removeEventListener("abort", onKill);
  await report(lease, ended, ending, options).catch((error: unknown) => tell(`${task}: ${textOf(error)}`));
  forget();
  if (ended.fault !== undefined)
    throw new UserError("USAGE", `The command cannot be started: ${ended.fault.message}`, {
      hint: "Name a program that is on the PATH: rota work --pool POOL -- PROGRAM ARGUMENTS…",
    });
}

/** A session that no longer holds the lease reports nothing about the task. */
async function report(
  lease: LeaseRequest,
  { code, signal, head, tail, fault }: AgentEnd,
  ending: Ending | undefined,
  { client, clock, tell }: Working,
): Promise<void> {
  const send = (): Promise<Settled> => {
    if (fault !== undefined)
      return client.release({ ...lease, why: `the command cannot be started: ${fault.message}` });
    if (ending === "stopped") return client.release({ ...lease, why: "its worker was stopped" });
    if (ending !== undefined) return client.fail({ ...lease, kind: ending, message: tail });
    if (signal !== null) return client.fail({ ...lease, kind: "signal", message: signal });
    if (code !== 0) return client.fail({ ...lease, kind: "exit", code: code ?? 1, message: tail });
    return client.complete({ ...lease, summary: head });
  };
  if (ending === "lost") return;
  const { task, state } = await retryWhileAway(send, REPORT_RETRY_MAX, clock);
  tell(`${task}: ${state}${ending === undefined ? "" : ` (${ending})`}`);
}

const textOf = (error: unknown): string => {
  if (!(error instanceof UserError)) return error instanceof Error ? error.message : String(error);
  return `${error.code}: ${error.message} (${error.hint})`;
};

/** An attempt that is not the first is told about the one before, after the plan's own words. */
function promptOf({ prompt, command, previous }: Grant): string {
  const asked = prompt ?? (typeof command === "string" ? command : (command ?? []).join(" "));
  return previous === undefined ? `${asked}\n` : `${asked}\n\nBefore: ${previousText(previous)}\n`;
}

function environmentOf(grant: Grant, session: string, { environment, stateId }: WorkOptions) {
  const { run, task, fence, attempt, env, previous } = grant;
  return {
    ...environment,
    ...env,
    ...(stateId !== undefined && { ROTA_STATE_ID: stateId }),
    ROTA_SESSION: session,
    ROTA_RUN: run,
    ROTA_TASK: task,
    ROTA_FENCE: String(fence),
    ROTA_ATTEMPT: String(attempt),
    ROTA_PREVIOUS: previous === undefined ? "" : previousText(previous),
  };
}
