/** The limits for a repeated seed, as they were typed. */
import { UserError } from "../../domain/errors.ts";
import type { Millis } from "../../domain/time.ts";
import { FAULT_KINDS, type FaultKind } from "../../simulate/faults/seed/fault-kinds.ts";
import { type Limits, STORE_KINDS, type StoreKind } from "../../simulate/faults/seed/scenario.ts";

export interface TypedLimits {
  readonly tasks: number | undefined;
  readonly plans: number | undefined;
  readonly sessions: number | undefined;
  readonly span: Millis | undefined;
  /** Kinds of faults, with commas between them. */
  readonly without: string | undefined;
  readonly store: string | undefined;
}

export function readLimits({ without, store, ...counts }: TypedLimits): Limits {
  const limits: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(counts)) if (value !== undefined) limits[name] = value;
  if (store !== undefined) limits["store"] = readStore(store);
  return { ...limits, ...(without !== undefined && { without: without.split(",").map(readKind) }) };
}

/** A kind of store; the command line accepts no other word. In memory by default. */
export const readStore = (text: string | undefined): StoreKind => STORE_KINDS.find((kind) => kind === text) ?? "memory";

function readKind(text: string): FaultKind {
  const found = FAULT_KINDS.find((kind) => kind === text.trim());
  if (found !== undefined) return found;
  throw new UserError("USAGE", `"${text}" is no kind of fault`, { hint: `There are: ${FAULT_KINDS.join(", ")}.` });
}
