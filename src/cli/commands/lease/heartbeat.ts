/** `rota heartbeat TASK`: renews the lease, once or again and again for as long as the task is held. */
import { isKept, renewKept } from "../../../app/agents/kept-leases.ts";
import { renewing } from "../../../app/daemon-retry.ts";
import { UserError } from "../../../domain/errors.ts";
import { millis } from "../../../domain/time.ts";
import type { LeaseReply } from "../../../wire/answers.ts";
import type { Context, Input, Run } from "../../frame/command.ts";
import { type Called, callDaemon } from "../../frame/daemon.ts";
import { type FoundLease, leaseOf } from "./lease.ts";
import { renewingWith, sayRenewed, sending } from "./report.ts";

const once = renewingWith((client, proof) => client.heartbeat(proof));

/** Often enough for any lease, and seldom enough to be no load. */
const EVERY_MIN = millis(100);

/** A shell that has claimed the task starts this beside its work. If the work was faster, there is nothing left to renew. */
async function leaseOrEnd(input: Input, context: Context, { root }: Called): Promise<FoundLease | undefined> {
  try {
    return await leaseOf(input, context, root);
  } catch (error) {
    const wasClaimed = context.env["ROTA_TASK"] === input.arguments[0];
    if (wasClaimed && error instanceof UserError && error.code === "LEASE_UNKNOWN") return undefined;
    throw error;
  }
}

export const run: Run = async (input, context) => {
  const asked = input.span("every");
  if (asked === undefined) return once(input, context);
  const every = millis(Math.max(asked, EVERY_MIN));
  await using called = await callDaemon(input, context);
  const found = await leaseOrEnd(input, context, called);
  if (found === undefined) return 0;
  const root = await called.root();
  const { proof, kept, deadline } = found;
  let last: LeaseReply | undefined;
  const renew = async (): Promise<LeaseReply> => {
    last = await called.client.heartbeat(proof);
    if (kept !== undefined) renewKept(root, { ...kept, deadline: last.deadline });
    return last;
  };
  // The report of the end removes the file.
  const isHeld = (): boolean => kept === undefined || isKept(root, kept);
  const end = await sending(root, found, () => renewing({ every, renew, isHeld, deadline }), input);
  return end === "told-to-stop" && last !== undefined ? sayRenewed(last, input, context, root) : 0;
};
