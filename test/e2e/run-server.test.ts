/** A run is a daemon for its own plan: sessions may come to it while it lasts, and another plan may not. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { connect } from "../../src/wire/client.ts";
import { answers, submitted } from "../rig/daemon.ts";
import { lastJson, openPlace, until } from "../rig/rota.ts";

test("a session does what a run has for it, and the run goes on to its end", async () => {
  using place = openPlace();
  const plan = {
    name: "mixed",
    tasks: {
      first: { run: "true" },
      asked: { prompt: "Say yes", pool: "agents", needs: ["first"] },
      last: { run: "echo done > done", needs: ["asked"] },
    },
  };
  place.file("plan.json", JSON.stringify(plan));
  const { ended } = place.start(["run", "plan.json", "--json"]);
  await using client = connect({ state: join(place.dir, ".rota") });
  await until("it answers on its socket", () => answers(client));
  await client.join({ agent: "agents", session: "s" });
  const grant = await client.claim({ session: "s", waitMs: 10_000 });
  expect(grant).toMatchObject({ task: "asked", prompt: "Say yes" });
  await expect(submitted(client, place, plan)).rejects.toMatchObject({ code: "DAEMON_MISSING" });
  if (grant !== undefined) {
    const { run, task, fence, token } = grant;
    expect(await client.complete({ run, task, fence, token })).toMatchObject({ state: "succeeded" });
  }
  const end = await ended;
  expect(lastJson(end)).toMatchObject({ outcome: "succeeded", tasks: { total: 3, succeeded: 3 } });
  expect(place.read("done")).toBe("done\n");
  expect(existsSync(join(place.dir, ".rota/rota.sock"))).toBe(false);
});
