import { execFileSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { instant } from "../../domain/time.ts";
import type { Theme } from "../text/line.ts";
import { type GrantView, grantEnv, grantText } from "./grant.ts";

const PLAIN: Theme = { color: false, unicode: true, timeZone: "UTC" };
const now = instant(Date.parse("2026-03-14T12:10:00Z"));
const show = (lines: readonly string[]): string => `\n${lines.join("\n")}\n`;

const grant: GrantView = {
  run: "agents-7f3a2c",
  task: "review",
  attempt: 2,
  fence: 2,
  deadline: "2026-03-14T12:15:00Z",
  priority: "high",
  prompt: "Read src/ and say what is wrong with it.\n\nBe kind.\n",
  directory: "/home/ada/project",
  env: {},
  reads: ["src/"],
  writes: ["review.md"],
};

describe("for a person", () => {
  test("it says what to do, until when, and how to report", () => {
    const lines = grantText({ ...grant, title: "Look at the code" }, { columns: 80, now }, PLAIN);
    expect(show(lines)).toMatchInlineSnapshot(`
      "
      ● review  attempt 2 · high · agents-7f3a2c
        Look at the code

        Read src/ and say what is wrong with it.

        Be kind.

        directory  /home/ada/project
        reads      src/
        writes     review.md
        lease      until 12:15:00, in 5m

      Next
        rota heartbeat review                keep it for longer
        rota complete review --summary TEXT  say that it is done
        rota fail review --message TEXT      say that it failed
        rota release review                  hand it back undone
      "
    `);
  });

  test("it says how the attempt before ended", () => {
    const previous = { attempt: 1, worker: "s1", ended: "lost", why: "it went silent", note: "half\u0007way", at: "" };
    expect(grantText({ ...grant, previous }, { columns: 80, now }, PLAIN)).toContain(
      "  before     attempt 1 by s1 was lost: it went silent; its last word: half\\x07way",
    );
    expect(grantEnv({ ...grant, previous: { ...previous, ended: "retried" } }, "s2")).toContain(
      "ROTA_PREVIOUS='attempt 1 by s1 failed: it went silent",
    );
  });

  test("a command is shown as one would type it, and never cut", () => {
    const { prompt: _, ...rest } = grant;
    const command = ["make", "it so", "x".repeat(100)];
    const lines = grantText({ ...rest, command, env: { CI: "1", NAME: "it's" } }, { columns: 60, now }, PLAIN);
    expect(lines).toContain(`  make 'it so' ${"x".repeat(100)}`);
    expect(lines).toContain("  env        CI=1 NAME='it'\\''s'");
  });
});

describe("for a shell", () => {
  /** The variables in a shell that evals the script. */
  const seen = (view: GrantView, script: string): string =>
    execFileSync("/bin/sh", ["-c", `eval "$LINES_TO_EVAL"\n${script}`], {
      encoding: "utf8",
      env: { PATH: process.env["PATH"], LINES_TO_EVAL: grantEnv(view, "s'1") },
    });

  test("whatever is in it arrives as it is, and nothing of it is run", () => {
    const prompt = 'it\'s $(touch /tmp/never) `id` "quoted" \\n\n; exit 9\n';
    expect(
      seen(
        { ...grant, prompt, title: "'; exit 8; '" },
        'printf "%s|%s|%s" "$ROTA_PROMPT" "$ROTA_TITLE" "$ROTA_SESSION"',
      ),
    ).toBe(`${prompt}|'; exit 8; '|s'1`);
  });

  test("the command can be run as the plan means it", () => {
    const { prompt: _, ...rest } = grant;
    const command = ["printf", "%s-%s", "it's", "$HOME"];
    const env = { GREETING: "good 'day'", "NOT A NAME": "x" };
    expect(seen({ ...rest, command, env }, 'sh -c "$ROTA_COMMAND"')).toBe("it's-$HOME");
    expect(seen({ ...rest, command: 'echo "$GREETING"', env }, 'sh -c "$ROTA_COMMAND"')).toBe("good 'day'\n");
  });

  test("nothing of an earlier task is left, and there is no token", () => {
    const script =
      'ROTA_COMMAND=old; eval "$LINES_TO_EVAL"; printf "%s" "[$ROTA_COMMAND] $ROTA_TASK $ROTA_RUN $ROTA_FENCE"';
    expect(seen(grant, script)).toBe("[] review agents-7f3a2c 2");
    expect(grantEnv({ ...grant, token: "secret" } as GrantView, "s1")).not.toContain("secret");
  });
});
