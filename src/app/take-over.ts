/** Before anything is done on the word of a scheduler that died: whether its tables say what its ledger adds up to. */
import { UserError } from "../domain/errors.ts";
import { replayRuns } from "../store/replay.ts";
import type { Store } from "../store/store.ts";

/** Only what is to be gone on with is looked at: what has ended is read, and `rota doctor` looks at all of it. */
export async function refuseDisagreement(store: Pick<Store, "runs" | "load" | "events">, root: string): Promise<void> {
  const unfinished = await store.runs("unfinished");
  const found = await replayRuns(
    store,
    unfinished.map(({ no }) => no),
  );
  for (const { no, manifest } of unfinished) {
    const [first, ...more] = found.get(no) ?? [];
    if (first === undefined) continue;
    const rest = more.length === 0 ? "" : ` (and ${more.length} more)`;
    throw new UserError("STORE_CORRUPT", `${root}: run ${manifest.id} is not what its ledger says. ${first}${rest}`);
  }
}
