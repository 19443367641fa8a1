/** The one place that opens a store from what is configured. Another kind of store is another line here. */
import { openMemoryStore } from "./memory/store.ts";
import type { Durability } from "./sqlite/connect.ts";
import { openSqliteStore } from "./sqlite/store.ts";
import type { Store } from "./store.ts";

export interface StoreSettings {
  /** The file it is in; nothing for a store in memory, which ends with its program. */
  readonly database: string | undefined;
  readonly durability?: Durability;
  /** It is only looked at: nothing is changed, nothing made where there is none. */
  readonly readOnly?: boolean;
}

export const openStore = ({ database, ...options }: StoreSettings): Store =>
  database === undefined ? openMemoryStore() : openSqliteStore(database, options);
