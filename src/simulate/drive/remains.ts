/** What must hold for a store whose last answered batches a power cut may have taken. */
import { replayAll } from "../../store/replay.ts";
import type { Store } from "../../store/store.ts";

export interface Written {
  /** The last event of each batch that was written. */
  readonly ends: readonly number[];
  /** The last event that was certainly on the disk. */
  readonly atLeast: number;
}

export async function lawsOfRemains(store: Store, { ends, atLeast }: Written): Promise<readonly string[]> {
  const last = await store.lastSeq();
  const broken: string[] = [];
  if (last < atLeast) broken.push(`event ${atLeast} was synced, and only ${last} are left after the power cut`);
  if (!ends.includes(last)) broken.push(`event ${last} is the last after the power cut, and the last of no batch`);
  return [...broken, ...(await store.check()), ...(await replayAll(store))];
}
