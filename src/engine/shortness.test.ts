/** A machine that has no room for another process is asked for fewer at once, and no task is charged for it. */
import { expect, test } from "vitest";
import { task } from "../../test/rig/builders.ts";
import { find, openRig } from "../../test/rig/rig.ts";
import { blockers } from "../decide/explain/explain.ts";
import { millis, seconds } from "../domain/time.ts";

const NO_ROOM = { kind: "shortage", message: "cannot start a process now: EAGAIN", durationMs: millis(1) } as const;

test("what the machine refused is begun again when there is room, and until then fewer run at once", async () => {
  const rig = await openRig({ workers: 4 });
  const run = await rig.submit(["a", "b", "c", "d", "e", "f"].map((id) => task(id)));
  expect(rig.machine.started).toEqual(["a", "b", "c", "d"]);
  for (const id of ["a", "b"]) rig.machine.at(id).starts();
  for (const id of ["c", "d"]) rig.machine.at(id).ends(NO_ROOM);
  await rig.clock.advance(seconds(10));
  expect(rig.machine.started).toHaveLength(4);
  expect(JSON.stringify(blockers(rig.engine.dispatcher, run, rig.clock.now()))).toContain("cannot start a process now");
  rig.machine.at("a").succeeds();
  await rig.clock.advance(seconds(1));
  expect(rig.machine.started).toHaveLength(6);
  for (const id of ["c", "d"]) expect(find(run, id)).toMatchObject({ failures: 0, expiries: 0 });
});
