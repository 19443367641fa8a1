import { describe, expect, test } from "vitest";
import { parsePlan } from "../plan.ts";
import { namesTaken } from "./shell-names.ts";

describe("a script takes from its environment", () => {
  const TAKEN: readonly (readonly [string, readonly string[]])[] = [
    ["echo $TOKEN", ["TOKEN"]],
    // biome-ignore-start lint/suspicious/noTemplateCurlyInString: this is what users write.
    ["echo ${TOKEN}${OTHER%/}${#LIST}", ["TOKEN", "OTHER", "LIST"]],
    ['curl -H "Authorization: $TOKEN" "$(cat "$FILE")"', ["TOKEN", "FILE"]],
    ["test -n `echo $INNER`", ["INNER"]],
    ["echo ${TOKEN:?is missing}", ["TOKEN"]],
    ["echo ${A:-$B}", ["B"]],
    ["echo $((PAGES + $EXTRA))", ["EXTRA"]],
    ['cat <<END\nit\'s "$TOKEN"\nEND\necho $AFTER', ["TOKEN", "AFTER"]],
    ["if [ -n \"$CI\" ]; then echo 'on CI'; fi", ["CI"]],
    ["$TOOL --version # with $COMMENT", ["TOOL"]],
    // Variables that the script sets itself, variables of the shell, and texts without any.
    ["NAME=x; echo $NAME", []],
    ["export NAME=x && echo $NAME", []],
    ["NAME=x make && echo $NAME", []],
    ["for file in *.ts; do echo $file; done", []],
    ["while read -r first second; do echo $first$second; done", []],
    ['while getopts "ab:" option; do echo $option $OPTARG; done', []],
    ["printf -v padded '%03d' 7; echo $padded", []],
    ["((count = 1)); echo $count", []],
    ["echo ${A:-x}${B-x}${C:+x}${D+x}", []],
    [": ${DIR:=/tmp}; cd $DIR", []],
    ["echo $1 $@ $# $? $$ $! $- $* ${1} ${@:2} $PWD $RANDOM $BASH_VERSION", []],
    ["awk '{ print $NF, $TOTAL }' file", []],
    ["echo $'it\\'s $NOT'", []],
    ['echo \\$NOT "\\$NOT"', []],
    ["cat <<'END'\n$NOT\nEND", []],
    ["cat <<-\\END\n\t$NOT\n\tEND\necho done", []],
    ["cat <<< $WORD", ["WORD"]],
    [". ./env.sh; echo $NAME", []],
    ['eval "$(ssh-agent)"; echo $SSH_AGENT_PID', []],
    ["echo costs 5$ and $", []],
    // biome-ignore-end lint/suspicious/noTemplateCurlyInString: this is what users write.
  ];
  test.each(TAKEN)("%j", (script, names) => {
    expect(namesTaken(script)).toEqual(names);
  });
});

describe("a plan is warned of", () => {
  const warnings = async (tasks: string, passed: readonly string[] = ["PATH", "LC_*"], strict = false) => {
    const parsed = await parsePlan(new TextEncoder().encode(`tasks:\n${tasks}`), "plan.yaml", { passed, strict });
    return (parsed.ok ? parsed.value.warnings : parsed.error).map(
      ({ code, severity, line, column, message, hint }) =>
        `${line}:${column} ${severity} ${code} ${message} ${hint.split(",")[0]}`,
    );
  };
  const FIX = "Pass it with `env: { TOKEN: { from: TOKEN } }`";

  test("a variable that no task gets, at the task that names it first", async () => {
    expect(await warnings("  a: { run: echo $TOKEN }\n")).toEqual([
      `2:13 warning PLAN_VARIABLE a names $TOKEN, which is not passed to tasks: it is empty there. ${FIX}`,
    ]);
    expect(
      await warnings("  a: { run: 'true' }\n  b: { run: ok, verify: test $TOKEN }\n  c: { run: echo $TOKEN }\n"),
    ).toEqual([
      `3:25 warning PLAN_VARIABLE b and 1 more name $TOKEN, which is not passed to tasks: it is empty there. ${FIX}`,
    ]);
    expect(await warnings('  a: { run: [bash, -euc, "echo $TOKEN"] }\n')).toHaveLength(1);
  });

  test("and with --strict refused", async () => {
    expect(await warnings("  a: { run: echo $TOKEN }\n", [], true)).toEqual([
      `2:13 error PLAN_VARIABLE a names $TOKEN, which is not passed to tasks: it is empty there. ${FIX}`,
    ]);
  });

  test("nothing that a task is given, that all tasks get, or that no shell here reads", async () => {
    expect(await warnings("  a: { run: echo $TOKEN, env: { TOKEN: { from: TOKEN } } }\n")).toEqual([]);
    expect(await warnings("  a: { run: echo $PATH $LC_ALL }\n")).toEqual([]);
    expect(await warnings("  a: { run: echo $TOKEN }\n", ["TOK*"])).toEqual([]);
    expect(await warnings("  a: { run: [echo, $TOKEN] }\n")).toEqual([]);
    expect(await warnings("  a: { run: [bash, -lc, echo $TOKEN] }\n")).toEqual([]);
    expect(
      await warnings("  a: { pool: writers, run: echo $TOKEN }\n  b: { pool: writers, prompt: Keep $TOKEN }\n"),
    ).toEqual([]);
  });
});
