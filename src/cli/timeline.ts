/** `rota timeline [RUN]`: what ran when, as text, JSON or a picture. */
import { writeFile } from "node:fs/promises";
import { relative, resolve } from "node:path";
import { findRun, loadRun, openReader } from "../app/reader.ts";
import { UserError } from "../domain/errors.ts";
import { neutralize } from "../views/text.ts";
import { type Timeline, timelineOf } from "../views/timeline.ts";
import type { Context, Input, Run } from "./command.ts";
import { themeOf } from "./theme.ts";

export const run: Run = async (input, context) => {
  const { terminal, env, cwd } = context;
  refuseSeveral(input);
  await using reader = openReader({ flag: input.text("state"), env, cwd });
  const row = await findRun(reader, input.arguments[0]);
  const found = await loadRun(reader, row);
  const events = await reader.store.events({ run: row.no });
  const text = await draw(timelineOf(found, events, reader.now()), input, context);
  const output = input.text("output");
  if (output === undefined) terminal.out(text);
  else {
    await write(resolve(cwd, output), text);
    terminal.err(`Wrote ${neutralize(relative(cwd, resolve(cwd, output)))}.\n`);
  }
  return 0;
};

const FORMS = ["json", "svg", "html"] as const;

function refuseSeveral(input: Input): void {
  const asked = FORMS.filter((form) => input.flag(form)).map((form) => `--${form}`);
  if (asked.length > 1) throw new UserError("USAGE", `${asked.join(" and ")} cannot be asked for at once`);
}

/** Each form is loaded when it is asked for. */
async function draw(timeline: Timeline, input: Input, context: Context): Promise<string> {
  if (input.flag("json")) {
    const { timelineJson } = await import("../views/timeline.ts");
    return `${JSON.stringify(timelineJson(timeline))}\n`;
  }
  if (input.flag("svg")) {
    const { timelineSvg } = await import("../views/timeline-svg.ts");
    return timelineSvg(timeline);
  }
  if (input.flag("html")) {
    const { timelineHtml } = await import("../views/timeline-html.ts");
    return timelineHtml(timeline);
  }
  const { timelineText } = await import("../views/timeline-text.ts");
  const lines = timelineText(timeline, { columns: context.terminal.columns }, themeOf(context));
  return lines.map((line) => `${line}\n`).join("");
}

async function write(file: string, text: string): Promise<void> {
  try {
    await writeFile(file, text);
  } catch (error) {
    throw new UserError("USAGE", `${file} cannot be written: ${(error as Error).message}`, {
      hint: "Choose another place.",
      cause: error,
    });
  }
}
