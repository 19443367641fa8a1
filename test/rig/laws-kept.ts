/** Whether the history that a real program has left in a state directory breaks any law. */
import { join } from "node:path";
import { expect } from "vitest";
import { brokenLaws } from "../../src/simulate/history/offline.ts";
import { openSqliteStore } from "../../src/store/sqlite/store.ts";

export async function expectLawsKept(stateDir: string): Promise<void> {
  await using store = openSqliteStore(join(stateDir, "rota.db"), { readOnly: true });
  expect(await brokenLaws(store)).toEqual([]);
}
