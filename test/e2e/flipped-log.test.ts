/**
 * One bit of the write-ahead log is flipped after a scheduler was killed (R10): no finished task is run again, whatever `durability` says or
 * said, and every look says that what it shows is not all that was done.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { seededRandom } from "../../src/effects/random.ts";
import { DURABILITIES, type Durability } from "../../src/store/sqlite/connect.ts";
import { rota } from "../rig/cli.ts";
import { type Image, layDown, takeImage } from "../rig/images.ts";
import { openPlace, type Place, until } from "../rig/rota.ts";

const TASKS = 36;
const FLIPS = 6;
const HEADER = 32;
const FRAME = 24 + 4_096;

/** A run that was killed with -9 in its last task, when all the others were done. */
async function killed(place: Place, durability: Durability): Promise<Image> {
  const done = Object.fromEntries(
    Array.from({ length: TASKS }, (_, no) => [
      `t${no}`,
      { run: `echo t${no} >> done`, ...(no > 1 && { needs: [`t${no - 2}`] }) },
    ]),
  );
  const last = { run: "touch middle; sleep 5", needs: [`t${TASKS - 2}`, `t${TASKS - 1}`] };
  place.file("plan.json", JSON.stringify({ name: "long", tasks: { ...done, last } }));
  const args = ["run", "plan.json", "--state", "state", "--workers", "2"];
  const { child, ended } = place.start(args, { ROTA_DURABILITY: durability });
  await until("the last task runs", () => existsSync(join(place.dir, "middle")));
  child.kill("SIGKILL");
  await ended;
  return takeImage(join(place.dir, "state", "rota.db"));
}

describe.each(DURABILITIES)(
  "a log in which a bit was flipped after its scheduler was killed (durability: %s)",
  (durability) => {
    test("is gone on with by no scheduler, and every look says so", async () => {
      using place = openPlace();
      const image = await killed(place, durability);
      const before = readFileSync(join(place.dir, "done"), "utf8");
      expect(before.trim().split("\n")).toHaveLength(TASKS);
      const random = seededRandom(5);
      const frames = Math.floor((image.wal.length - HEADER) / FRAME);
      const own = Array.from({ length: frames }, (_, no) => HEADER + no * FRAME).filter((at) =>
        image.wal.subarray(at + 8, at + 16).equals(image.wal.subarray(16, 24)),
      );
      for (let no = 0; no < FLIPS; no++) {
        // Of the first two thirds, so that commits come after it.
        const frame = own[Math.floor((random.next() * own.length * 2) / 3)] as number;
        const wal = Buffer.from(image.wal);
        const at = frame + 24 + Math.floor(random.next() * 4_096);
        wal[at] = (wal[at] as number) ^ (1 << Math.floor(random.next() * 8));
        layDown(join(place.dir, "state", "rota.db"), { ...image, wal });

        for (const now of DURABILITIES) {
          const env = { ROTA_DURABILITY: now };
          const resumed = await place.rota(["run", "plan.json", "--resume", "--state", "state"], env);
          expect(resumed).toMatchObject({
            code: 2,
            err: expect.stringMatching(/^STORE_CORRUPT: .*after a damaged page/),
          });
        }
        expect(readFileSync(join(place.dir, "done"), "utf8"), `flip ${no}`).toBe(before);
        const look = (...args: readonly string[]) => rota([...args, "--state", "state"], { cwd: place.dir });
        for (const args of [
          ["status"],
          ["status", "--json"],
          ["why", "t3", "--json"],
          ["events", "--json"],
          ["timeline", "--json"],
        ]) {
          const { out, err } = await look(...args);
          expect(err, args.join(" ")).toMatch(/is damaged, and what is shown is older than what was done/);
          if (out.startsWith('{"run"'))
            expect(JSON.parse(out)).toMatchObject({ unrecovered: expect.stringMatching(/damaged/) });
        }
        expect(await look("doctor")).toMatchObject({ code: 1, out: expect.stringMatching(/damaged/) });
      }
    }, 120_000);

    test("and a whole log is gone on with, and until then every look says that it is not recovered", async () => {
      using place = openPlace();
      await killed(place, durability);
      const look = (...args: readonly string[]) => rota([...args, "--state", "state"], { cwd: place.dir });
      const status = await look("status", "--json");
      expect(status).toMatchObject({ code: 0, err: expect.stringMatching(/is not yet recovered: rota run .*goes on/) });
      expect(JSON.parse(status.out)).toMatchObject({
        tasks: { succeeded: TASKS },
        unrecovered: expect.stringMatching(/not yet recovered/),
      });
      const cancelled = await place.rota(["cancel", "--state", "state"]);
      expect(cancelled.code).toBe(0);
      const after = await look("status", "--json");
      expect([after.err, JSON.parse(after.out)]).toEqual([
        "",
        expect.not.objectContaining({ unrecovered: expect.anything() }),
      ]);
      expect(readFileSync(join(place.dir, "done"), "utf8").trim().split("\n")).toHaveLength(TASKS);
    }, 120_000);
  },
);
