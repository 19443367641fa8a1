/** A store that keeps nothing: for virtual time, where nothing is ever read back. */
import type { History } from "../../domain/durations/history.ts";
import { ok } from "../../std/result.ts";
import type { WorkingStore } from "../store.ts";

/** What earlier runs have shown is all it knows. */
export const forgetfulStore = (history: History): WorkingStore => ({
  commit: async () => ok(undefined),
  maintain: () => {},
  load: async () => undefined,
  runs: async () => [],
  events: async () => [],
  lastSeq: async () => 0,
  requests: async () => [],
  history: async () => history,
  sessions: async () => [],
  pauses: async () => [],
  recall: async () => undefined,
  doneWith: async () => [],
  secret: async (fresh) => fresh,
});
