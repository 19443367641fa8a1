/** The laws of the history that a store has kept, whichever program wrote it. */
import type { RunNo } from "../../domain/run.ts";
import type { Amounts } from "../../domain/spec.ts";
import type { Store } from "../../store/store.ts";
import { HistoryChecker } from "./checker.ts";
import type { SubmittedPlan } from "./seen.ts";

/** Events read at a time. */
const PAGE = 10_000;
/** A history that breaks more laws than this is broken as a whole. */
const BROKEN_MAX = 100;

/** Every broken law, as a sentence; `capacity` is what the machine had, where that is known. */
export async function brokenLaws(
  store: Pick<Store, "runs" | "load" | "events" | "forgotten">,
  capacity: Amounts = {},
): Promise<readonly string[]> {
  const plans = new Map<RunNo, SubmittedPlan>();
  for (const { no } of await store.runs()) {
    const stored = await store.load(no);
    if (stored !== undefined) plans.set(no, { manifest: stored.row.manifest, specs: stored.specs });
  }
  const blurred = new Set<string>();
  for await (const event of eventsOf(store)) if (event.kind === "edited") blurred.add(`${event.run}/${event.task}`);
  const checker = new HistoryChecker({
    planOf: (run) => plans.get(run),
    capacity,
    blurred,
    forgotten: await store.forgotten(),
  });
  for await (const event of eventsOf(store)) {
    checker.add(event);
    if (checker.broken.length >= BROKEN_MAX) break;
  }
  return checker.broken;
}

async function* eventsOf(store: Pick<Store, "events">) {
  for (let after = 0; ; ) {
    const page = await store.events({ after, limit: PAGE });
    yield* page;
    if (page.length < PAGE) return;
    after = page.at(-1)?.seq ?? after;
  }
}
