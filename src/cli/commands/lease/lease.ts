/**
 * The proof of a report. The token comes from the private file that `rota claim` wrote, from ROTA_TOKEN or from standard input,
 * and never from an argument, which every user of the machine could read.
 */
import { text as readAll } from "node:stream/consumers";
import { findLease, type KeptLease } from "../../../app/agents/kept-leases.ts";
import { UserError } from "../../../domain/errors.ts";
import type { LeaseRequest } from "../../../wire/messages.ts";
import type { Context, Input } from "../../frame/command.ts";
import { knownSession } from "../session/named.ts";

/** The proof, its deadline as far as it is known here, and its file, if it comes from one. */
export interface FoundLease {
  readonly proof: LeaseRequest;
  readonly deadline?: string | undefined;
  readonly kept?: KeptLease;
}

export async function leaseOf(input: Input, context: Context, root: () => Promise<string>): Promise<FoundLease> {
  const task = input.arguments[0] as string;
  const run = input.text("run") ?? claimedHere(task, context)?.run;
  const fence = input.count("fence") ?? claimedHere(task, context)?.fence;
  const isTyped = input.flag("token-stdin");
  const token = isTyped ? (await readAll(process.stdin)).trim() : tokenIn(context);
  if (token !== undefined && run !== undefined && fence !== undefined)
    return { proof: { run, task, fence, token }, deadline: claimedHere(task, context)?.deadline };
  if (isTyped) throw incomplete(run === undefined ? "--run" : "--fence");
  const session = knownSession(input.text("session"), context);
  const kept = findLease(await root(), { task, run, fence, session });
  return {
    proof: { run: kept.run, task: kept.task, fence: kept.fence, token: kept.token },
    deadline: kept.deadline,
    kept,
  };
}

interface ClaimedHere {
  readonly run: string;
  readonly fence: number;
  readonly deadline: string | undefined;
}

/** The claim in the environment, if it is a claim of this task: `eval "$(rota claim --env)"` sets it. */
function claimedHere(task: string, { env }: Context): ClaimedHere | undefined {
  const { ROTA_TASK, ROTA_RUN, ROTA_FENCE, ROTA_DEADLINE: deadline } = env;
  const fence = Number(ROTA_FENCE);
  return ROTA_TASK === task && ROTA_RUN !== undefined && Number.isSafeInteger(fence) && fence > 0
    ? { run: ROTA_RUN, fence, deadline }
    : undefined;
}

/** A token for TCP has the same variable, but begins with a prefix that no token of a lease has. */
const tokenIn = ({ env }: Context): string | undefined =>
  env["ROTA_TOKEN"]?.startsWith("rota_") === true ? undefined : env["ROTA_TOKEN"] || undefined;

const incomplete = (missing: string): UserError =>
  new UserError("USAGE", `A token alone says nothing: ${missing} is missing`, {
    hint: "Give --run and --fence as the claim printed them, or leave the token to the file that `rota claim` keeps.",
  });
