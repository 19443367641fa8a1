/**
 * Folds the write-ahead log back into the database between two commits, when it has become long. This takes many times as long as a commit,
 * and SQLite would do it within one, while a caller waits.
 */
import { isOfDisk } from "../failure.ts";
import type { Database } from "../platform.ts";

/** To be called after one commit or several: folds a log of `foldAfter` pages, or leaves it for the next time while another connection reads it. */
export function folding(db: Database, foldAfter: number): () => void {
  const position = db.prepare("pragma wal_checkpoint(noop)");
  const fold = db.prepare("pragma wal_checkpoint(passive)");
  return () => {
    try {
      const { log, checkpointed } = position.get() as { readonly log: number; readonly checkpointed: number };
      if (log !== checkpointed && log >= foldAfter) fold.get();
    } catch (error) {
      // A full disk only leaves the log long. Whether a disk that failed can still be trusted is for the store to say.
      if (isOfDisk(error)) throw error;
    }
  };
}
