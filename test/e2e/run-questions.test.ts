/** A gate is a question to the person at the terminal of `rota run`. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type AtTerminal, atTerminal } from "../rig/pty.ts";
import { jsonLines, openPlace, type Place, until } from "../rig/rota.ts";

const PLAN = `name: plan
tasks:
  build: { run: 'true' }
  ship: { run: 'echo x > shipped', needs: [build], gate: Ship it? }
`;

/** A key that comes before the question can have been read is not an answer, so it is pressed until it is one. */
async function answer(terminal: AtTerminal, key: string, isDone: () => boolean): Promise<void> {
  await until("it asks", () => terminal.screen().includes("ship  needs approval: Ship it?"));
  await until(`${key} is heard`, () => {
    terminal.press(key);
    return isDone();
  });
}

async function asked(place: Place, kind: string): Promise<object | undefined> {
  const events = jsonLines<{ readonly kind: string }>(await place.rota(["events", "--json"]));
  return events.find((event) => event.kind === kind);
}

describe("at a gate", () => {
  test("y opens it, is written down with the name of the person, and the run goes on", async () => {
    using place = openPlace();
    const terminal = atTerminal(place, ["run", place.file("plan.yaml", PLAN)]);
    await answer(terminal, "y", () => existsSync(join(place.dir, "shipped")));
    expect(await terminal.ended).toBe(0);
    expect(terminal.screen()).toContain("plan succeeded");
    expect(await asked(place, "approved")).toMatchObject({ task: "ship", by: "mo" });
  });

  test("n cancels its task, and nothing of it is done", async () => {
    using place = openPlace();
    const terminal = atTerminal(place, ["run", place.file("plan.yaml", PLAN)]);
    await answer(terminal, "n", () => terminal.screen().includes("was cancelled"));
    expect(await terminal.ended).toBe(1);
    expect(await asked(place, "cancelled")).toMatchObject({ by: "mo", why: "its gate was declined" });
    expect(existsSync(join(place.dir, "shipped"))).toBe(false);
  });

  test("Ctrl-C leaves it for later: exit 3, and what to do is said", async () => {
    using place = openPlace();
    const terminal = atTerminal(place, ["run", place.file("plan.yaml", PLAN)]);
    await until("it asks", () => terminal.screen().includes("opens its gate"));
    terminal.press("\x03");
    expect(await terminal.ended).toBe(3);
    expect(terminal.screen()).toMatch(/rota approve ship .*rota run .*--resume/s);
  });

  test("another key is no answer, and an approval from elsewhere is heard", async () => {
    using place = openPlace();
    const terminal = atTerminal(place, ["run", place.file("plan.yaml", PLAN)]);
    await until("it asks", () => terminal.screen().includes("opens its gate"));
    terminal.press("x");
    expect((await place.rota(["approve", "ship"])).code).toBe(0);
    expect(await terminal.ended).toBe(0);
  });

  test("in a pipe nothing is asked", async () => {
    using place = openPlace();
    const { code, out } = await place.rota(["run", place.file("plan.yaml", PLAN)]);
    expect(code).toBe(3);
    expect(out).not.toContain("opens its gate");
  });
});
