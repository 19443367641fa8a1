/** A run as one document: written by `rota run --manifest`, answered by a daemon, and taken in again by `simulate` and `doctor`. */
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import type { ManifestReply } from "../../src/wire/answers.ts";
import { connect } from "../../src/wire/client.ts";
import { answers, submitted } from "../rig/daemon.ts";
import { lastJson, openPlace, type Place, until } from "../rig/rota.ts";

const PLAN = `name: plan
resources: { slots: 2, tokens: 100/s }
tasks:
  a: { run: 'sleep 0.3', resources: { slots: 1, tokens: 2 }, labels: { team: web } }
  flaky: { run: 'test $ROTA_ATTEMPT = 2', needs: [a], retry: { attempts: 3, backoff: 10ms } }
  bad: { run: exit 3, after: [flaky] }
  never: { run: 'true', needs: [bad] }
`;

const read = (place: Place): ManifestReply => JSON.parse(place.read("run.json")) as ManifestReply;
interface Health {
  readonly ok: boolean;
  readonly findings: readonly { readonly check: string; readonly health: string; readonly message: string }[];
}
const examined = async (place: Place): Promise<Health> =>
  lastJson<Health>(await place.rota(["doctor", "--manifest", "run.json", "--json"]));

async function ran(place: Place, plan = PLAN, ...options: string[]): Promise<ManifestReply> {
  place.file("plan.yaml", plan);
  await place.rota(["run", "plan.yaml", "--manifest", "run.json", ...options]);
  return read(place);
}

describe("a run that was written down", () => {
  test("has the plan, how each task stands and what happened, one line for each", async () => {
    using place = openPlace();
    const manifest = await ran(place);
    expect(manifest).toMatchObject({
      manifest: 1,
      run: { state: "finished", outcome: "failed", directory: place.dir },
      plan: {
        name: "plan",
        resources: { slots: 2, tokens: "100/s" },
        tasks: [
          { id: "a", run: "sleep 0.3", labels: { team: "web" } },
          { id: "flaky" },
          { id: "bad", after: ["flaky"] },
          {},
        ],
      },
      tasks: [
        { task: "a", state: "succeeded", attempts: 1, outcome: { kind: "success" } },
        { task: "flaky", state: "succeeded", attempts: 2, failures: 1 },
        { task: "bad", state: "failed", outcome: { kind: "exit", code: 3 } },
        { task: "never", state: "skipped", attempts: 0 },
      ],
    });
    expect(manifest.events.at(0)).toMatchObject({ kind: "run_submitted" });
    expect(manifest.events.at(-1)).toMatchObject({ kind: "run_finished", outcome: "failed" });
    expect(place.read("run.json").split("\n").length).toBeGreaterThan(manifest.events.length + manifest.tasks.length);
    expect(place.read("run.json")).not.toContain("tokenHash");
    expect(readdirSync(place.dir).sort()).toEqual([".rota", "plan.yaml", "run.json"]);
  });

  test("is found whole by doctor, wherever it is; and not whole when it says another thing than its events", async () => {
    using place = openPlace();
    const manifest = await ran(place);
    using elsewhere = openPlace();
    elsewhere.file("run.json", place.read("run.json"));
    expect(await examined(elsewhere)).toMatchObject({
      ok: true,
      findings: [
        { check: "manifest", health: "ok", message: expect.stringContaining("4 tasks") },
        { check: "ledger", health: "ok" },
        { check: "history", health: "ok" },
      ],
    });

    const broken = async (change: (manifest: ManifestReply) => object): Promise<string[]> => {
      elsewhere.file("run.json", JSON.stringify(change(structuredClone(manifest))));
      const { findings } = await examined(elsewhere);
      return findings.flatMap(({ check, health }) => (health === "problem" ? [check] : []));
    };
    const { tasks, events } = manifest;
    expect(await broken((all) => ({ ...all, tasks: tasks.map((task) => ({ ...task, failures: 9 })) }))).toContain(
      "ledger",
    );
    expect(await broken((all) => ({ ...all, run: { ...all.run, outcome: "succeeded" } }))).toEqual(["ledger"]);
    const withoutEnd = events.filter(({ kind, task }) => !(kind === "succeeded" && task === "a"));
    expect(await broken((all) => ({ ...all, events: withoutEnd }))).toEqual(
      expect.arrayContaining(["ledger", "history"]),
    );
    // It began before what it needs had ended: each task agrees with its own events, and a law is broken all the same.
    const early = events.map((event) =>
      event.kind === "claimed" && event.task === "flaky" ? { ...event, attempt: 7 } : event,
    );
    expect(await broken((all) => ({ ...all, events: early }))).not.toEqual([]);
  });

  test("is simulated with what its tasks took", async () => {
    using place = openPlace();
    await ran(place, "name: plan\ntasks:\n  a: { run: 'sleep 0.3' }\n  b: { run: 'sleep 0.3' }\n");
    const said = lastJson<{ makespan_ms: number }>(
      await place.rota(["simulate", "run.json", "--workers", "1", "--what-if", "workers=2", "--json"]),
    );
    expect(said).toMatchObject({ durations: { actual: 2 }, variants: [{ what_if: "workers=2" }] });
    expect(said.makespan_ms).toBeGreaterThanOrEqual(600);
  });

  test("may have stopped at a gate, and --resume writes it again", async () => {
    using place = openPlace();
    const plan = "name: plan\ntasks:\n  a: { run: 'true' }\n  b: { run: 'true', needs: [a], gate: Sure? }\n";
    expect(await ran(place, plan)).toMatchObject({ run: { state: "stalled", outcome: "waiting" } });
    expect((await examined(place)).ok).toBe(true);
    await place.rota(["approve", "b"]);
    expect(await ran(place, plan, "--resume")).toMatchObject({ run: { state: "finished", outcome: "succeeded" } });
    expect((await examined(place)).ok).toBe(true);
  });

  test("and of another kind it is refused in one sentence", async () => {
    using place = openPlace();
    const manifest = await ran(place, "tasks: { a: { run: 'true' } }\n");
    const said = async (text: string): Promise<string> => {
      place.file("run.json", text);
      const { code, err } = await place.rota(["doctor", "--manifest", "run.json"]);
      expect(code).toBe(2);
      return err;
    };
    expect(await said("nonsense")).toMatch(/^MANIFEST_INVALID: run.json is no run that was written down: /);
    expect(await said(JSON.stringify({ ...manifest, manifest: 9 }))).toContain("it was written by a newer Rota");
    expect(await said(JSON.stringify({ ...manifest, plan: { tasks: [] } }))).toContain(
      "its plan: The plan has no tasks.",
    );
    expect(await said(JSON.stringify({ ...manifest, events: [{ seq: 1 }] }))).toContain("event 1 of its list is none");
    expect((await place.rota(["run", "run.json"])).err).toContain("rota doctor --manifest FILE");
    const dry = await place.rota(["run", "plan.yaml", "--dry-run", "--manifest", "run.json"]);
    expect(dry.err).toMatch(/^USAGE: --dry-run runs nothing that --manifest could write down/);
    expect((await place.rota(["run", "plan.yaml", "--manifest", "no/where.json"])).err).toMatch(
      /^USAGE: .*no\/where.json cannot be written/,
    );
    expect(lastJson<{ runs: unknown[] }>(await place.rota(["status", "--all", "--json"])).runs).toHaveLength(1);
  });
});

test("a daemon answers the run of its sessions as the same document", async () => {
  using place = openPlace();
  const { child } = place.start(["serve", "--json", "--state", "state"]);
  onTestFinished(() => void child.kill("SIGKILL"));
  await using client = connect({ state: join(place.dir, "state") });
  await until("it serves", () => answers(client));
  // A session that is no part of the run, and another run before it, stand between its events in the ledger.
  await client.join({ agent: "idle", session: "idle" });
  await submitted(client, place, { name: "other", tasks: { x: { run: "true" } } });
  await client.join({ agent: "writers", session: "s" });
  const { run } = await submitted(client, place, {
    name: "plan",
    tasks: { w: { pool: "writers", prompt: "Go" }, l: { run: "true" } },
  });
  const grant = await client.claim({ session: "s", waitMs: 10_000 });
  await client.pause({ pool: "writers" });
  if (grant !== undefined) {
    const { task, fence, token } = grant;
    await client.complete({ run, task, fence, token });
  }
  await client.await(run, 10_000);
  const manifest = await client.manifest(run);
  expect(manifest).toMatchObject({
    run: { id: run, outcome: "succeeded" },
    plan: { tasks: [{ id: "w", prompt: "Go" }, { id: "l" }] },
  });
  expect(manifest.events.filter(({ kind }) => kind === "session_joined")).toMatchObject([{ profile: { id: "s" } }]);
  writeFileSync(join(place.dir, "run.json"), JSON.stringify(manifest));
  expect((await place.rota(["doctor", "--manifest", "run.json"])).err).toBe("");
  expect(await examined(place)).toMatchObject({ ok: true });
});
