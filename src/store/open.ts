/** The one place that opens a store from what is configured. Another kind of store is another line here. */
import type { Durability } from "./sqlite/connect.ts";
import { openSqliteStore } from "./sqlite/store.ts";
import type { Store } from "./store.ts";

export interface StoreSettings {
  /** The file it is in. */
  readonly database: string;
  readonly durability?: Durability;
  /** Only for reading: nothing is changed, and nothing is created where there is no store. */
  readonly readOnly?: boolean;
}

export const openStore = ({ database, ...options }: StoreSettings): Store => openSqliteStore(database, options);
