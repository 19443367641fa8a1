/** `rota status --watch` shows a run again whenever something has changed, until nothing more will come. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { atTerminal } from "../rig/pty.ts";
import { openPlace, type Place, until } from "../rig/rota.ts";

const PLAN = `name: plan
tasks:
  first: { run: 'until test -e go; do test -e plan.yaml || exit 1; sleep 0.02; done' }
  second: { run: 'true', needs: [first] }
  third: { run: 'true', needs: [second], gate: Go on? }
`;
const go = ({ dir }: Place): void => writeFileSync(join(dir, "go"), "");

async function serving(place: Place): Promise<string> {
  const { child, err } = place.start(["serve", "--state", ".rota"]);
  onTestFinished(() => void child.kill("SIGKILL"));
  await until("it serves", () => err().includes("Serving"));
  place.file("plan.yaml", PLAN);
  return (await place.rota(["submit", "plan.yaml"])).out.trim();
}

/** What a terminal of 100 columns shows after the last time the picture was begun. */
const lastPicture = (screen: string): string => screen.slice(screen.lastIndexOf("\u001b[H"));

describe("on a terminal", () => {
  test("it is drawn again when something has changed, in the size that the terminal has by then, and ends with the run", async () => {
    using place = openPlace();
    const run = await serving(place);
    const watching = atTerminal(place, ["status", run, "--watch"]);
    await until("the first task runs", () => lastPicture(watching.screen()).includes("● first"));
    watching.resize(40, 5);
    await until("it is drawn smaller", () => lastPicture(watching.screen()).includes("more lines"));
    expect(lastPicture(watching.screen()).split("\n")).toHaveLength(5);
    watching.resize(100, 30);
    go(place);
    await until("the gate is shown", () => lastPicture(watching.screen()).includes("Go on?"));
    await place.rota(["approve", "third"]);
    expect(await watching.ended).toBe(0);
    const left = watching.screen().split("\u001b[?1049l").at(-1) ?? "";
    expect(left).toContain("plan  succeeded after");
    expect(left).not.toContain("\u001b[H");
  });

  test("Ctrl-C ends the watching and leaves the screen as it was; the run goes on", async () => {
    using place = openPlace();
    const run = await serving(place);
    const watching = atTerminal(place, ["status", "--watch"]);
    await until("the first task runs", () => watching.screen().includes("● first"));
    watching.press("\x03");
    expect(await watching.ended).toBe(130);
    expect(watching.screen()).toContain("\u001b[?25h\u001b[?1049l");
    expect(JSON.parse((await place.rota(["status", run, "--json"])).out)).toMatchObject({ state: "running" });
    go(place);
  });
});

test("for programs it is a line of JSON for each change, and none twice", async () => {
  using place = openPlace();
  await serving(place);
  const { ended, out } = place.start(["status", "--watch", "--json"]);
  const states = (): { tasks: { succeeded: number } }[] =>
    out()
      .trim()
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line) as never);
  await until("the first line", () => states().length > 0);
  go(place);
  await until("two tasks are done", () => states().at(-1)?.tasks.succeeded === 2);
  await place.rota(["approve", "third"]);
  expect((await ended).code).toBe(0);
  expect(states().at(-1)).toMatchObject({ state: "succeeded", tasks: { succeeded: 3 } });
  expect(new Set(states().map((state) => JSON.stringify({ ...state, at: 0, running: 0 }))).size).toBeGreaterThan(2);
});

test("where no scheduler works it is shown once; where no terminal is, it is refused with what to do", async () => {
  using place = openPlace();
  place.file("plan.yaml", "tasks:\n  a: { run: 'true', gate: Really? }\n");
  await place.rota(["run", "plan.yaml"]);
  const { code, out } = await place.rota(["status", "--watch", "--json"]);
  expect(code).toBe(0);
  expect(out.trim().split("\n")).toHaveLength(1);
  expect(await place.rota(["status", "--watch"])).toMatchObject({
    code: 2,
    err: "USAGE: --watch draws on a terminal, and standard output is none (With --json it prints a line for each change; `rota events --follow` prints each event.)\n",
  });
});
