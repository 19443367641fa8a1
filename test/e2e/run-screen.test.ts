/** The live view of `rota run` stays one picture, whatever becomes of the window. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { openScreen } from "../../src/cli/frame/screen.ts";
import { atTerminal } from "../rig/pty.ts";
import { openPlace, until } from "../rig/rota.ts";

const PLAN = `name: plan
tasks:
  first: { run: 'until test -e go; do sleep 0.02; done' }
  second: { run: 'true', needs: [first] }
`;
const ENTER = "\u001b[?1049h";
const LEAVE = "\u001b[?1049l";
const lastPicture = (screen: string): string => screen.slice(screen.lastIndexOf("\u001b[H"));

test("a window that is made smaller and larger again keeps no line of an earlier picture, and the report stands alone", async () => {
  using place = openPlace();
  const terminal = atTerminal(place, ["run", place.file("plan.yaml", PLAN)]);
  await until("the first task runs", () => lastPicture(terminal.screen()).includes("● first"));
  terminal.resize(40, 4);
  await until("it is drawn smaller", () => lastPicture(terminal.screen()).split("\n").length <= 3);
  terminal.resize(100, 30);
  await until("it is drawn larger", () => lastPicture(terminal.screen()).includes("second"));
  writeFileSync(join(place.dir, "go"), "");
  expect(await terminal.ended).toBe(0);
  const [before = "", ...rest] = terminal.screen().split(ENTER);
  const [pictures = "", report = ""] = rest.join("").split(LEAVE);
  expect(before).not.toContain("first");
  // What moves the cursor up could meet lines that the terminal has moved meanwhile.
  expect(pictures.split("\u001b").filter((part) => /^\[\d+A/.test(part))).toEqual([]);
  expect(report).toContain("✔ plan succeeded in");
  expect(report).not.toContain("\u001b[H");
});

test("Ctrl-Z leaves the screen to the shell, and nothing is drawn on it until the run goes on", () => {
  const stops: string[] = [];
  const outs: string[] = [];
  const kill = vi.spyOn(process, "kill").mockImplementation((_, signal) => {
    stops.push(String(signal));
    return true;
  });
  onTestFinished(() => kill.mockRestore());
  const screen = openScreen({ out: (text) => void outs.push(String(text)) }, () => screen.draw(["again"]));
  screen.draw(["first"]);
  process.emit("SIGTSTP", "SIGTSTP");
  screen.draw(["by a timer"]);
  expect(stops).toEqual(["SIGSTOP"]);
  expect(outs.join("")).toMatch(/first.*\[\?1049l$/s);
  process.emit("SIGCONT", "SIGCONT");
  screen.close();
  expect(outs.join("")).toMatch(/\[\?1049h\S*\[Hagain.*\[\?1049l$/s);
  expect(outs.join("")).not.toContain("timer");
});
