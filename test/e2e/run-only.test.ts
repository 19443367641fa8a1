/** A part of a plan: `--only` runs the tasks that are named with what they need, and every look and `--resume` know of it. */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { lastJson, openPlace, type Place, until } from "../rig/rota.ts";

const PLAN = `name: plan
tasks:
  fetch: { run: 'echo x >> fetched' }
  lint: { run: 'touch linted' }
  build: { run: 'until test -e go; do test -e plan.yaml || exit 1; sleep 0.02; done', needs: [fetch], after: [lint] }
  ship: { run: 'touch shipped', needs: [build] }
`;
const did = ({ dir }: Place, name: string): boolean => existsSync(join(dir, name));
const status = async (place: Place): Promise<object> => lastJson(await place.rota(["status", "--json"]));

describe("a run of a part of a plan", () => {
  test("has the tasks that are named and what they need, says so, and knows of no other", async () => {
    using place = openPlace();
    place.file("plan.yaml", PLAN);
    place.file("go", "");
    const ended = await place.rota(["run", "plan.yaml", "--only", "build", "--json"]);
    expect(lastJson(ended)).toMatchObject({ outcome: "succeeded", tasks: { total: 2, succeeded: 2 } });
    expect([did(place, "fetched"), did(place, "linted"), did(place, "shipped")]).toEqual([true, false, false]);
    expect(await status(place)).toMatchObject({ only: ["build"], tasks: { total: 2 } });
    expect((await place.rota(["status"])).out).toContain("only build, and what it needs");
    expect((await place.rota(["why", "ship"])).err).toMatch(
      /^TASK_UNKNOWN: Run plan-\w+ is only build and what is needed for that, and has no task "ship"/,
    );
    expect(lastJson(await place.rota(["status", "--all", "--json"]))).toMatchObject({ runs: [{ only: ["build"] }] });
  });

  test("several are named at once or one by one", async () => {
    using place = openPlace();
    place.file("plan.yaml", PLAN);
    const total = { tasks: { total: 2 } };
    expect(lastJson(await place.rota(["run", "plan.yaml", "--only", "fetch,lint", "--json"]))).toMatchObject(total);
    expect(
      lastJson(await place.rota(["run", "plan.yaml", "--only", "lint", "--only", "fetch", "--json"])),
    ).toMatchObject(total);
    expect((await place.rota(["status"])).out).toContain("only lint, fetch, and what they need");
  });

  test("is gone on with by --resume, which is not another part and not the whole", async () => {
    using place = openPlace();
    place.file("plan.yaml", PLAN);
    const first = place.start(["run", "plan.yaml", "--only", "build"]);
    await until("build runs", async () => did(place, "fetched") && /build started/.test(first.out()));
    first.child.kill("SIGKILL");
    await first.ended;
    const other = await place.rota(["run", "plan.yaml", "--resume", "--only", "ship"]);
    expect(other.err).toMatch(
      /^RUN_CHANGED: Run plan-\w+ was interrupted, and it is only build, not only ship .*--resume/,
    );
    expect(other.code).toBe(2);
    place.file("go", "");
    const { out } = await place.rota(["run", "plan.yaml", "--resume", "--json"]);
    expect(JSON.parse(out)).toMatchObject({ outcome: "succeeded", tasks: { total: 2 } });
    expect(place.read("fetched")).toBe("x\n");
    expect(did(place, "shipped")).toBe(false);
    // It has ended: the same part is not run again, and another one is.
    expect(lastJson(await place.rota(["run", "plan.yaml", "--resume", "--json"]))).toMatchObject({
      tasks: { total: 2 },
    });
    await place.rota(["run", "plan.yaml", "--resume", "--only", "ship"]);
    expect(did(place, "shipped")).toBe(true);
  });

  test("of a task that is not there is refused, with the task that was meant and how to see all", async () => {
    using place = openPlace();
    place.file("plan.yaml", PLAN);
    expect(await place.rota(["run", "plan.yaml", "--only", "biuld"])).toMatchObject({
      code: 2,
      err: 'TASK_UNKNOWN: plan.yaml has no task "biuld". Did you mean "build"? (`rota run plan.yaml --dry-run` lists its tasks.)\n',
    });
    expect((await place.rota(["run", "plan.yaml", "--only", "build,"])).err).toMatch(/^USAGE: --only names no task/);
    expect(did(place, ".rota")).toBe(false);
  });
});

describe("a dry run", () => {
  const WAVES = `name: plan
tasks:
  ship: { pool: writers, prompt: Go, needs: [build, lint], gate: Ship it? }
  slow: { run: 'touch slow', estimate: 9m }
  lint: { run: 'touch linted' }
  build: { run: 'touch built', needs: [slow], cwd: app }
`;

  test("says what would run in which order and where, and neither runs nor writes anything", async () => {
    using place = openPlace();
    place.file("plan.yaml", WAVES);
    const { code, out } = await place.rota(["run", "plan.yaml", "--dry-run", "--workers", "1"]);
    expect({ code, out }).toEqual({
      code: 0,
      out: `plan would run 4 tasks on 1 worker, in 3 waves  (nothing was run or written)

  wave 1  slow   local
          lint   local
  wave 2  build  local    after slow
  wave 3  ship   writers  after build, lint  asks a person: Ship it?
`,
    });
    const only = lastJson(await place.rota(["run", "plan.yaml", "--dry-run", "--only", "build", "--json"]));
    expect(only).toMatchObject({
      only: ["build"],
      resumes: null,
      tasks: [
        { task: "slow", wave: 1, pool: "local", directory: place.dir, waits_for: [] },
        { task: "build", wave: 2, directory: join(place.dir, "app"), waits_for: ["slow"] },
      ],
    });
    expect(readdirSync(place.dir)).toEqual(["plan.yaml"]);
  });

  test("with --resume says what is left of the run that would be gone on with", async () => {
    using place = openPlace();
    place.file(
      "plan.yaml",
      "name: plan\ntasks:\n  a: { run: 'true' }\n  b: { run: 'true', needs: [a], gate: Sure? }\n",
    );
    const { run } = lastJson<{ run: string }>(await place.rota(["run", "plan.yaml", "--json"]));
    const { out } = await place.rota(["run", "plan.yaml", "--resume", "--dry-run"]);
    expect(out).toContain(`goes on with ${run}: 1 task of it is over`);
    expect(lastJson(await place.rota(["run", "plan.yaml", "--resume", "--dry-run", "--json"]))).toMatchObject({
      resumes: run,
      tasks: [{ task: "b", wave: 1, waits_for: [], gate: "Sure?" }],
    });
    expect(lastJson(await place.rota(["events", "--json"]))).toMatchObject({ kind: "run_stalled" });
    await place.rota(["approve", "b"]);
    await place.rota(["run", "plan.yaml", "--resume"]);
    expect((await place.rota(["run", "plan.yaml", "--resume", "--dry-run"])).out).toMatch(
      /^plan has ended, and nothing would run/,
    );
  });
});
