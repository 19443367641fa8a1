/** What people asked for while no scheduler was running: it is kept, and done as soon as the run is resumed. */

import type { Instant } from "../../domain/time.ts";
import type { KeptWish } from "../../domain/waiting/explanation.ts";
import type { WishReply } from "../../wire/replies/why.ts";
import { askedJson } from "../events/system-events.ts";
import { type Line, quiet, strong, table, toned } from "../text/line.ts";
import { age, iso } from "../text/moment.ts";

const WORDS: Readonly<Record<KeptWish["kind"], string>> = {
  approve: "approve",
  requeue: "put back",
  cancel: "cancel",
};

export function wishLines(wishes: readonly KeptWish[], now: Instant, width: number): Line[] {
  if (wishes.length === 0) return [];
  const rows = wishes.map(({ kind, task, asked, at }): Line[] => [
    [toned("busy", "→"), " ", `${WORDS[kind]} ${task ?? "the run"}`],
    [quiet(`asked by ${asked.by}`), quiet(asked.why === undefined ? "" : `: ${asked.why}`)],
    [quiet(`${age(at, now)} ago`)],
  ]);
  const title = [strong("Asked for"), quiet("  counts as soon as the run is resumed")];
  return [title, ...table(rows, { columns: [{ shrinkTo: 16 }, { shrinkTo: 16 }, {}], width })];
}

export const wishJson = ({ kind, task, asked, at }: KeptWish): WishReply => ({
  kind,
  ...(task !== undefined && { task }),
  ...askedJson(asked),
  at: iso(at),
});
