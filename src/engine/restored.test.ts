import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join as joined } from "node:path";
import { afterAll, expect, test } from "vitest";
import { find, openRig } from "../../test/rig/rig.ts";
import { agentTask, claimed, DONE, join, report } from "../../test/rig/sessions.ts";
import { runNo } from "../domain/run.ts";
import { systemSecrets } from "../effects/random.ts";
import { openSqliteStore } from "../store/sqlite/store.ts";

const root = mkdtempSync(joined(tmpdir(), "rota-restored-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** A scheduler on the file, for as long as `life` takes. */
async function live<T>(file: string, life: (rig: Awaited<ReturnType<typeof openRig>>) => Promise<T>): Promise<T> {
  await using store = openSqliteStore(file);
  const rig = await openRig({ store, secrets: systemSecrets() });
  const result = await life(rig);
  rig.crash();
  return result;
}

test("R17: what was given out before a backup was put back is not taken for what is given out after it", async () => {
  const [file, backup] = [joined(root, "rota.db"), joined(root, "backup.db")];
  await live(file, async (rig) => {
    await join(rig, "s");
    await rig.submit([agentTask("a")]);
  });
  copyFileSync(file, backup);
  const before = await live(file, async (rig) => {
    await rig.promised(rig.engine.resume(runNo(1)));
    return claimed(rig, "s");
  });
  await live(backup, async (rig) => {
    const run = await rig.promised(rig.engine.resume(runNo(1)));
    const after = await claimed(rig, "s");
    expect(after.fence).toBe(before.fence);
    await expect(report(rig, before, DONE)).rejects.toMatchObject({ code: "TOKEN_WRONG" });
    expect(find(run, "a").status.state).toBe("claimed");
    await report(rig, after, DONE);
    expect(find(run, "a").status.state).toBe("succeeded");
  });
});
