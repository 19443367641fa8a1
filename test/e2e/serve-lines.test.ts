/** What `rota serve` says while it works: on standard error, in plain text where no terminal shows it, and nothing where that is asked. */
import { expect, test } from "vitest";
import { until } from "../rig/rota.ts";
import { unserved } from "../rig/served.ts";

const TASKS =
  "  build: { run: 'true' }\n  test: { run: exit 3, needs: [build] }\n  write: { pool: writers, prompt: Write it }\n";

test("runs, tasks, sessions and pauses go by as lines, without colours in a pipe", async () => {
  const place = unserved();
  const daemon = await place.serve();
  await place.says(["session", "join", "--agent", "claude", "--pool", "writers", "--id", "s1"]);
  const run = await place.submit(TASKS);
  await place.says(["claim", "write", "--wait", "10s"], { ROTA_SESSION: "s1" });
  await place.says(["complete", "write"], { ROTA_SESSION: "s1" });
  await place.says(["pause", "--pool", "writers", "--why", "lunch"]);
  await place.says(["resume", "--pool", "writers"]);
  await place.says(["session", "leave"], { ROTA_SESSION: "s1" });
  const said = (): string => daemon.said.err;
  await until("the session has left", () => /session s1 left/.test(said()) && new RegExp(`${run} failed`).test(said()));
  const lines = said()
    .split("\n")
    .slice(1)
    .map((line) => line.replace(/^[\d:]{8} /, "").replace(/\b[\d.]+m?s\b/, "T"));
  for (const line of [
    "· session s1 (claude) joined pool writers",
    `${run} submitted with 3 tasks`,
    `● build started · ${run}`,
    `✔ build T · ${run}`,
    `✖ test exit code 3 after T · ${run}`,
    `● write claimed by s1 · ${run}`,
    `✔ write T · ${run}`,
    "· pool writers paused, asked by mo: lunch",
    "· pool writers resumed, asked by mo",
    `${run} failed`,
  ])
    expect(lines).toContain(line);
  expect(said()).not.toContain("\u001b");
  expect(daemon.said.out).toBe("");
});

test.each(["--quiet", "-q", "--json"])("%s says only that it serves", async (option) => {
  const place = unserved();
  const daemon = await place.serve(option);
  const run = await place.submit("  build: { run: 'true' }\n");
  await until("the run has ended", async () => {
    const { state } = await place.json<{ state: string }>(["status", run]);
    return state === "succeeded";
  });
  expect(daemon.said.err).toMatch(/^Serving .+\n$/);
});
