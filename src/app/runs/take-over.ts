/** Checks the tables of a scheduler that died against its ledger, before anything is done on their word. */
import { UserError } from "../../domain/errors.ts";
import { replayRuns } from "../../store/replay.ts";
import type { Store } from "../../store/store.ts";

/** Only runs that go on are checked: ended runs are only read, and `rota doctor` checks everything. */
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
