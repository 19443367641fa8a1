import { expect, onTestFinished, test } from "vitest";
import { systemTerminal } from "./terminal.ts";

/** A screen of this size, until the test is over. */
function resize(columns: number | undefined, rows: number | undefined): void {
  const { stdout } = process;
  const before = { columns: stdout.columns, rows: stdout.rows };
  onTestFinished(() => void Object.assign(stdout, before));
  Object.assign(stdout, { columns, rows });
}

test.each([
  ["is taken as it is", 72, 20, 72, 20],
  ["that is not known is a usual one", undefined, undefined, 100, 30],
  ["of nothing is not known either", 0, 0, 100, 30],
])("a size %s", (_, columns, rows, seenColumns, seenRows) => {
  resize(columns, rows);
  expect(systemTerminal({})).toMatchObject({ columns: seenColumns, rows: seenRows });
});
