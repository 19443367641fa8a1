/** The reference pages, made from the tables that the program itself uses: what they say cannot be out of date. */
import { variableOf } from "../src/app/config/config.ts";
import { POOL, SETTING_NAMES, SETTINGS } from "../src/app/config/settings.ts";
import { type CommandSpec, GROUPS } from "../src/cli/frame/command.ts";
import { COMMANDS } from "../src/cli/frame/commands.ts";
import { describeOption, optionName, usageOf } from "../src/cli/frame/help.ts";
import { USER_ERRORS } from "../src/domain/errors.ts";
import type { EventKind } from "../src/domain/event.ts";
import { PASSED } from "../src/execute/process/environment.ts";
import { DIAGNOSTICS } from "../src/plan/check/diagnostics.ts";
import { planShape, taskShape } from "../src/plan/shape.ts";
import type { JsonSchema, Schema } from "../src/std/schema.ts";
import { LINES_PATH, LINES_PROTOCOL } from "../src/wire/frames.ts";
import { EVENT_KINDS } from "../src/wire/replies/event.ts";
import { OUTPUTS } from "../src/wire/replies/output.ts";
import { ROUTES } from "../src/wire/routes.ts";
import { SCOPES } from "../src/wire/scope.ts";
import { EVENT_FIELDS, EVENTS } from "./event-words.ts";
import { packageExports } from "./exports.ts";

/** Path from the root → text. */
export function referencePages(): ReadonlyMap<string, string> {
  const pages = { cli, plan, config, errors, events, api, json: outputs, library };
  return new Map(Object.entries(pages).map(([name, page]) => [`docs/reference/${name}.md`, `${page().trim()}\n`]));
}

const MADE = (from: string): string => `<!-- Made by \`npm run docs\` from ${from}. Change it there. -->`;

function cli(): string {
  const groups = GROUPS.map((group) => {
    const members = COMMANDS.filter((command) => command.group === group);
    return [`## ${group}`, ...members.map(commandSection)].join("\n\n");
  });
  return `# Commands

${MADE("src/cli/frame/commands.ts")}

\`rota help\` lists these, and \`rota help COMMAND\` shows one. Options that take a value are written \`--name VALUE\` or
\`--name=VALUE\`; everything after \`--\` is an argument. \`--state DIR\` and \`--json\` may stand before the command too.

Exit codes: 0 all succeeded · 1 some task failed, or a check found something · 2 bad usage or plan · 3 work remains that
nothing can move, or nothing came · 70 a fault of Rota itself · 130 interrupted. Errors are one line on standard error,
\`CODE: message (hint)\`; [errors](errors.md) lists the codes. \`NO_COLOR\` turns colours off, \`FORCE_COLOR=1\` on, and
\`ROTA_DEBUG=1\` adds the place of a fault.

${groups.join("\n\n")}`;
}

function commandSection(command: CommandSpec): string {
  const options = Object.entries(command.options).map(([name, spec]) => [
    code(optionName(name, spec).trim()),
    describeOption(spec),
  ]);
  const given = command.arguments.map(({ name, describe, choices }) => [
    code(name),
    choices === undefined ? `${describe}.` : `${describe} (${choices.join(" | ")}).`,
  ]);
  return [
    `### rota ${command.name}`,
    `${command.summary}.`,
    fence(usageOf(command)),
    ...(command.details === undefined ? [] : [command.details]),
    ...(given.length + options.length === 0 ? [] : [table(["", ""], [...given, ...options])]),
    fence(command.examples.join("\n")),
  ].join("\n\n");
}

type Fields = Readonly<Record<string, Schema<unknown, "required" | "optional" | "defaulted">>>;

function plan(): string {
  const nested = nestedObjects(taskShape.json);
  return `# Plan

${MADE("src/plan/shape.ts")}

A plan is a YAML or JSON file. \`rota check\` says everything that is wrong with one, \`rota schema\` prints the same as
JSON Schema for editors. Unknown keys are errors; keys that begin with \`x-\` are yours, at the top of the file.

Durations are written \`250ms\`, \`90s\`, \`5m\`, \`1h30m\`. Sizes are written \`512MiB\`, \`4GiB\`. Paths are relative to the
plan's directory; a path covers everything below it, and \`*\`, \`**\`, \`?\`, \`[ab]\` and \`{a,b}\` are globs.

## The file

${fieldTable(planShape.fields)}

## A task

${fieldTable(taskShape.fields)}

${nested.map(({ name, schema }) => `### \`${name}\`\n\n${propertyTable(schema)}`).join("\n\n")}

Every process a task starts sees \`ROTA_RUN\`, \`ROTA_TASK\`, \`ROTA_ATTEMPT\` and \`ROTA_FENCE\`, and of Rota's own
environment only ${PASSED.map(code).join(", ")}, and what the setting \`pass\` names. A task that needs another variable takes it with
\`env: { TOKEN: { from: TOKEN } }\`; \`rota check\` warns of those that a command names and does not get.

## Not in this version

These are known, and refused with a clear message: ${refusedNames().map(code).join(", ")}.`;
}

const isRefused = (json: JsonSchema): boolean => "not" in json;
const refusedNames = (): readonly string[] => [
  ...new Set(
    Object.entries({ ...taskShape.fields, ...planShape.fields } as Fields)
      .filter(([, field]) => isRefused(field.json))
      .map(([name]) => name),
  ),
];

function fieldTable(fields: Fields): string {
  const rows = Object.entries(fields)
    .filter(([, field]) => !isRefused(field.json))
    .map(([name, field]) => [
      field.presence === "required" ? `${code(name)} (required)` : code(name),
      // An object is called by its own name, which says nothing here.
      field.expects.replace(new RegExp(`\\b${RegExp.escape(name)}$`), "a map"),
      descriptionOf(field.json),
    ]);
  return table(["field", "holds", "meaning"], rows);
}

/** Fields of a task that are maps with fields of their own, wherever a union hides them. */
function nestedObjects(json: JsonSchema): { readonly name: string; readonly schema: JsonSchema }[] {
  return Object.entries(propertiesOf(json)).flatMap(([name, property]) => {
    const options = [property, ...((property["anyOf"] as JsonSchema[] | undefined) ?? [])];
    const schema = options.find((option) => option["type"] === "object" && option["properties"] !== undefined);
    return schema === undefined ? [] : [{ name, schema }];
  });
}

const propertiesOf = (json: JsonSchema): Readonly<Record<string, JsonSchema>> =>
  (json["properties"] ?? {}) as Readonly<Record<string, JsonSchema>>;

function propertyTable(json: JsonSchema): string {
  const rows = Object.entries(propertiesOf(json)).map(([name, property]) => [code(name), descriptionOf(property)]);
  return table(["field", "meaning"], rows);
}

function config(): string {
  const rows = SETTING_NAMES.map((name) => {
    const setting: Schema<unknown, "optional" | "defaulted"> = SETTINGS[name];
    const fallback =
      name === "workers" ? "one per core" : code(JSON.stringify(setting.json["default"]).replaceAll('"', ""));
    return [code(name), code(variableOf(name)), setting.expects, fallback, descriptionOf(setting.json)];
  });
  return `# Settings

${MADE("src/app/config/settings.ts")}

A setting comes from the first of these that has it: a flag, a \`ROTA_*\` variable, \`rota.config.yaml\` or
\`rota.config.json\` beside the plan (else in the current directory or the nearest above it), the default. \`rota config\`
prints every value with where it comes from, and \`rota config schema\` the JSON Schema of the file.

${table(["setting", "variable", "holds", "default", "meaning"], rows)}

In a variable, lists are written with commas or spaces between the words.

A pool of sessions, in \`pools\`, has these fields. Its commands are lists of words; they see what is named, \`ROTA_STATE\` and \`ROTA_SOCKET\`.

${table(["field", "holds", "meaning"], poolRows())}

${fence("# rota.config.yaml\nworkers: 4\ngrace: 10s\npass: [SSH_AUTH_SOCK, AWS_*]", "yaml")}

## Other variables

${table(
  ["variable", "meaning"],
  [
    [code("ROTA_STATE"), "The state directory, as `--state` gives it."],
    [code("ROTA_SOCKET"), "Where the daemon listens, when not in the state directory."],
    [code("ROTA_SESSION"), "The session that `rota claim` and the like speak for."],
    [code("ROTA_DEBUG"), "`1` adds the stack to a fault of Rota itself."],
    [code("NO_COLOR"), "Anything but nothing turns colours off."],
    [code("FORCE_COLOR"), "Anything but `0` turns colours on, even where the output is no terminal."],
  ],
)}`;
}

const poolRows = (): string[][] =>
  Object.entries(POOL.fields).map(([name, field]) => [code(name), field.expects, descriptionOf(field.json)]);

function errors(): string {
  const user = Object.entries(USER_ERRORS).map(([name, { exitCode, hint }]) => [code(name), String(exitCode), hint]);
  const diagnostics = Object.entries(DIAGNOSTICS).map(([name, { severity, hint }]) => [code(name), severity, hint]);
  return `# Errors

${MADE("src/domain/errors.ts and src/plan/check/diagnostics.ts")}

Whatever you can put right is said as \`CODE: message (hint)\` on standard error. The codes are stable: scripts may rely
on them.

## Of commands

${table(["code", "exit code", "what to do"], user)}

## Of plans

\`rota check\` lists all of them at once, each with its place in the file. A warning stops nothing, unless \`--strict\` is
given.

${table(["code", "severity", "what to do"], diagnostics)}`;
}

function events(): string {
  const rows = Object.entries(EVENTS).map(([kind, meaning]) => [
    code(kind),
    meaning,
    ownFields(EVENT_KINDS[kind as EventKind])
      .map(code)
      .join(", "),
  ]);
  return `# Events

${MADE("src/wire/replies/event.ts and scripts/event-words.ts")}

The ledger records every transition, in order, and is only ever added to. \`rota events --json\` prints it, one object a
line. Every event has the first four of these fields; those of a task have the others too.

${table(
  ["field", "meaning"],
  Object.entries(EVENT_FIELDS).map(([name, meaning]) => [code(name), meaning]),
)}

${table(["kind", "what happened", "its own fields"], rows)}`;
}

/** What an event has beyond the fields that all events share, or all events of tasks. */
function ownFields(fields: Fields): readonly string[] {
  const shared = Object.keys(EVENT_FIELDS).slice(0, "version" in fields ? undefined : EVENT_FIELDS_ANYWHERE);
  return Object.keys(fields).filter((name) => !shared.includes(name));
}
const EVENT_FIELDS_ANYWHERE = 4;

function outputs(): string {
  const sections = Object.entries(OUTPUTS).map(([command, shape]) => {
    const fields = "fields" in shape ? Object.entries(shape.fields as Fields) : [];
    const rows = fields.map(([name, field]) => [
      field.presence === "optional" ? `${code(name)} (not always)` : code(name),
      field.expects,
      descriptionOf(field.json),
    ]);
    const text = rows.length === 0 ? OTHER_OUTPUTS[command] : table(["field", "holds", "meaning"], rows);
    return `## rota ${command}\n\n${text}`;
  });
  return `# JSON

${MADE("src/wire/replies")}

What commands print with \`--json\`: one line with one object, and of \`rota events\` one line for each event. Times are ISO 8601. \`rota schema
output\` prints the schemas from which this page is made. There may be more fields one day; those that are here stay.

${sections.join("\n\n")}`;
}

/** What the API answers is described there, field by field. */
const REPLIES = "src/wire/answers.ts";

function library(): string {
  const all = packageExports();
  const own = all.filter(({ file }) => file !== REPLIES);
  const rows = (isType: boolean) =>
    own.filter((each) => each.isType === isType).map(({ name, sentence }) => [code(name), sentence]);
  const replies = all.filter(({ file }) => file === REPLIES).map(({ name }) => code(name));
  return `# Library

${MADE("src/index.ts")}

What a program can import from \`rota\`. [Within a program](../guides/library.md) shows how it goes together.

## Functions and values

${table(["name", "what"], rows(false))}

## Types

${table(["name", "what"], rows(true))}

And what the daemon answers, as [the API](api.md) describes it: ${replies.join(", ")}.`;
}

/** What is no object of known fields. */
const OTHER_OUTPUTS: Readonly<Record<string, string>> = {
  "session wait": "The wake, as `POST /v1/sessions/{session}/wake` answers it; `null` when nothing came.",
  claim: "The grant, as `POST /v1/claims` answers it; `null` when there is nothing to claim.",
  events: "Events, each on a line of its own: [Events](events.md) says what each kind has.",
  config: "An object of settings, each with its `value` and the `origin` of that.",
};

function api(): string {
  return `# API

${MADE("src/wire/routes.ts and src/wire/messages.ts")}

What a daemon (\`rota serve\`) answers over HTTP. By default it listens on a Unix socket in its state directory, which only the
owner may open, and no token is needed there. \`rota serve --listen 127.0.0.1:7777\` listens on TCP as well, on this machine
alone; then every request needs a token. \`rota schema openapi\` prints all of this as an OpenAPI 3.1 document.

${fence("curl --unix-socket .rota/rota.sock http://localhost/v1/daemon")}

In TypeScript:

${fence(
  `import { connect } from "rota";

await using rota = connect({ state: ".rota" });
const grant = await rota.claim({ session: "s1", waitMs: 60_000 });`,
  "ts",
)}

## How to ask

- What a \`GET\` takes stands in the query, what a \`POST\` takes is a JSON object with \`content-type: application/json\`. Unknown
  fields are refused. A plan may have 64 MiB, anything else 1 MiB.
- An answer is JSON with status 200, or nothing with status 204. Whatever is answered is durable.
- A refusal is \`{"error":{"code","message","hint"}}\` with a fitting status; [errors](errors.md) lists the codes, which are stable.
  For a plan that is not valid, \`diagnostics\` lists what is wrong with it.
- A call that waits ends early when the daemon stops: ask again.
- Over the socket, the header \`rota-by: NAME\` says who asks; over TCP the token says it, as \`NAME (ID)\`. Both are
  written into the ledger (\`by\`).
- Web pages may not call: a request with a foreign \`Origin\`, from another site, or for another host is refused.

## Tokens

The owner's token is in the file \`token\` of the state directory, readable by the owner alone, and may do everything. Others
are issued with \`POST /v1/tokens\`; only their hashes are kept. Send one as \`authorization: Bearer TOKEN\`. Each scope includes
those before it: ${SCOPES.map(code).join(", ")}. Ten wrong tokens in a minute lock out new callers until the minute is over.

A session belongs to the token that joined it, by the id of the token: not to its name, which may be given again after a token was
revoked. Its keys and its leases go with it. Another \`work\` token cannot act for it on any path, on a channel or over MCP: that is
refused with \`FORBIDDEN\`, and a report with another token's lease with \`TOKEN_WRONG\`, as a made-up one is. An \`admin\` token and the
owner act for every session; a session that an \`admin\` joins again stays its token's. What a revoked token has joined is left to them,
until its leases run out. No token may be called \`owner\`, \`admin\`, \`local\` or \`scheduler\`.

## Streams

\`GET /v1/events\` with \`accept: text/event-stream\` or \`follow=true\`, and \`GET /v1/sessions/{session}/wakes\`, answer with
server-sent events. The \`id\` of an event is its position in the ledger: with \`Last-Event-ID\` or \`after\` the stream goes on behind it,
and nothing is missed. A comment every 15 seconds says that the stream lives. A listener that falls too far behind is let go,
and goes on where it was when it comes back.

## Channel

A program that calls often can do so over one connection: \`GET ${LINES_PATH}\` with \`connection: Upgrade\` and
\`upgrade: ${LINES_PROTOCOL}\` is answered with status 101, and from then on every line is a call or an answer. A call is
\`{"id":1,"method":"POST","path":"${ROUTES.claim.path}","body":{…}}\`, with a number of the caller's own that no other call underway has, and on the
socket optionally \`by\`; its answer is \`{"id":1,"status":200,"body":…}\` and comes when it is ready, whatever else is waited for.
\`{"id":1,"cancel":true}\` gives up a call that waits. A line may have 1 MiB. Everything else is as for a request, except that streams need
one of their own. \`connect\` does this by itself from its second call on; each call then takes about a third of the time.

## Calls

${table(
  ["call", "scope", "what it does"],
  Object.values(ROUTES).map(({ method, path, scope, summary }) => [code(`${method} ${path}`), scope, `${summary}.`]),
)}

${Object.values(ROUTES).map(callSection).join("\n\n")}`;
}

function callSection({ method, path, summary, answers, request }: (typeof ROUTES)[keyof typeof ROUTES]): string {
  const fields = Object.entries(request.fields as Fields).map(([name, field]) => [
    field.presence === "required" ? `${code(name)} (required)` : code(name),
    field.expects,
    field.json["default"] === undefined ? "" : code(JSON.stringify(field.json["default"])),
    descriptionOf(field.json),
  ]);
  return [
    `### ${method} ${path}`,
    `${summary}. ${answers}`,
    ...(fields.length === 0 ? [] : [table(["field", "holds", "default", "meaning"], fields)]),
  ].join("\n\n");
}

const descriptionOf = (json: JsonSchema): string => (json["description"] as string | undefined) ?? "";
const code = (text: string): string => `\`${text}\``;
const fence = (text: string, language = "sh"): string => `\`\`\`${language}\n${text}\n\`\`\``;

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(head), `|${"---|".repeat(head.length)}`, ...rows.map(line)].join("\n");
}
