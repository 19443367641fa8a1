/** The program of the thread that writes large batches: one after the other, each answered when it is durable. */
import { parentPort, workerData } from "node:worker_threads";
import { UserError } from "../../domain/errors.ts";
import { Turns } from "../turns.ts";
import { connectBeside } from "./connect.ts";
import { asUserError, isOfDisk } from "./failure.ts";
import { unpack } from "./ledger/packing.ts";
import { folding } from "./log/fold.ts";
import type { FromWriter, PackedSheet, ToWriter, WriterData, WriterFailure } from "./writer.ts";
import type { Sheet } from "./writing/sheet.ts";
import { targetOn, transactions } from "./writing/target.ts";
import { writeSheet } from "./writing/write.ts";

const { file, durability, foldAfter } = workerData as WriterData;
const db = connectBeside(file, durability);
const target = targetOn(db);
const inTransaction = transactions(db);
const fold = folding(db, foldAfter);
let failure: WriterFailure | undefined;
const turns = new Turns();

parentPort?.on("message", (asked: ToWriter) => {
  if (asked !== null) return write(unpacked(asked));
  db.close();
  parentPort?.close();
});

const unpacked = (asked: PackedSheet): Sheet => ({
  ...asked,
  rows: unpack(asked.rows),
  durationSamples: JSON.parse(asked.durationSamples) as Sheet["durationSamples"],
});

function write(sheet: Sheet): void {
  answer(attempt(sheet));
  // While the main thread makes the next batch.
  try {
    fold();
  } catch (error) {
    failure = describe(error);
    answer({ broken: failure });
  }
}

/** After the disk has failed once nothing more is written. */
function attempt(sheet: Sheet): FromWriter {
  if (failure !== undefined) return { failed: failure };
  try {
    return { written: turns.next(sheet.epoch, () => writeWhole(sheet)) };
  } catch (error) {
    const failed = describe(error);
    if (failed.ofDisk) failure = failed;
    return { failed };
  }
}

const writeWhole = (sheet: Sheet): boolean =>
  inTransaction(
    () => writeSheet(target, sheet),
    "immediate",
    (written) => written,
  );

const answer = (word: FromWriter): void => parentPort?.postMessage(word);

function describe(error: unknown): WriterFailure {
  const told = asUserError(error, file, "STORE_FAILED");
  const message = told instanceof Error ? told.message : String(told);
  return { ...(told instanceof UserError && { code: told.code }), message, ofDisk: isOfDisk(error) };
}
