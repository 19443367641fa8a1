/** The common part of a holder's commands: find the lease, send the report, keep or remove the file, say what came of it. */
import { dropLease, renewKept } from "../../../app/agents/kept-leases.ts";
import { retryWhileAway } from "../../../app/daemon-retry.ts";
import { UserError } from "../../../domain/errors.ts";
import { millis } from "../../../domain/time.ts";
import { momentOf } from "../../../views/status/workers.ts";
import { timeOfDay } from "../../../views/text/moment.ts";
import type { CommandWriter } from "../../../views/why/next.ts";
import type { LeaseReply, Settled } from "../../../wire/answers.ts";
import type { Client } from "../../../wire/client.ts";
import type { LeaseRequest } from "../../../wire/messages.ts";
import type { Context, Input, Run } from "../../frame/command.ts";
import { callDaemon, reachOf } from "../../frame/daemon.ts";
import { EXIT_NOTHING } from "../../frame/exit.ts";
import { say, sentence } from "../../frame/say.ts";
import { themeOf } from "../../frame/theme.ts";
import { type FoundLease, leaseOf } from "./lease.ts";

type Send<Reply> = (client: Client, proof: LeaseRequest, input: Input) => Promise<Reply>;

/** A report after which the work goes on: the deadline moves, and the holder may hear that it should stop. */
export const renewingWith =
  (send: Send<LeaseReply>): Run =>
  async (input, context) => {
    await using called = await callDaemon(input, context);
    const found = await leaseOf(input, context, called.root);
    const root = await called.root();
    const reply = await sending(root, found, () => send(called.client, found.proof, input), input);
    if (found.kept !== undefined) renewKept(root, { ...found.kept, deadline: reply.deadline });
    return sayRenewed(reply, input, context, root);
  };

/** A report that ends the lease. */
export const settlingWith =
  (send: Send<Settled>): Run =>
  async (input, context) => {
    await using called = await callDaemon(input, context);
    const found = await leaseOf(input, context, called.root);
    const root = await called.root();
    const settled = await sending(root, found, () => send(called.client, found.proof, input), input);
    if (found.kept !== undefined) dropLease(root, found.kept);
    say<"complete" | "fail" | "release">(input, context, settled, () => sentence(settledWords(settled)));
    return 0;
  };

/** The file of a lease that is over is removed. If the report could not be sent, the file stays for the next try. */
export async function sending<T>(
  root: string,
  { kept }: FoundLease,
  ask: () => Promise<T>,
  input: Pick<Input, "span">,
): Promise<T> {
  try {
    return await retryWhileAway(ask, input.span("wait") ?? millis(0));
  } catch (error) {
    const isOver = error instanceof UserError && (error.code === "LEASE_LOST" || error.code === "TOKEN_WRONG");
    if (isOver && kept !== undefined) dropLease(root, kept);
    throw error;
  }
}

export function sayRenewed(reply: LeaseReply, input: Input, context: Context, root: string): number {
  const { deadline, stop } = reply;
  const clock = (at: string): string => timeOfDay(momentOf(at), themeOf(context).timeZone);
  say<"start" | "heartbeat" | "progress">(input, context, reply, () =>
    sentence(renewedWords(reply, clock(stop?.by ?? deadline), context.commandsTo(reachOf(input, context, root)))),
  );
  return stop === undefined ? 0 : EXIT_NOTHING;
}

function renewedWords({ task, stop }: LeaseReply, until: string, command: CommandWriter): string {
  if (stop === undefined) return `${task} is yours until ${until}.`;
  if (stop.by !== undefined)
    return `Stop working on ${task}: its time is up. Before ${until}, report with: ${command(["complete", task])}, or ${command(["fail", task, "--kind", "timeout"])}`;
  const why = stop.why === undefined ? "" : `: ${stop.why}`;
  return `Stop working on ${task} (${stop.kind}${why}), then report with: ${command(["fail", task, "--kind", "cancelled"])}`;
}

function settledWords({ task, run, state, repeated }: Settled): string {
  const again = repeated ? " (as it was reported before)" : "";
  const next = state === "ready" ? "ready: it will be tried again" : state;
  return `${task} of ${run} is ${next}${again}.`;
}
