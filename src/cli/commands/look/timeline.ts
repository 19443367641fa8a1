/** `rota timeline [RUN]`: what ran when, as text, JSON or a picture. */
import { findRun, loadRun, openReader } from "../../../app/look/reader.ts";
import { type Timeline, timelineOf } from "../../../views/timeline/timeline.ts";
import type { Context, Run } from "../../frame/command.ts";
import { deliver, type Form, formOf } from "../../frame/output.ts";
import { themeOf } from "../../frame/theme.ts";
import { sayUnrecovered } from "./unrecovered.ts";

export const run: Run = async (input, context) => {
  const { env, cwd } = context;
  const form = formOf(input);
  await using reader = openReader({ flag: input.text("state"), env, cwd });
  const notice = await sayUnrecovered(reader, input, context);
  const row = await findRun(reader, input.arguments[0]);
  const found = await loadRun(reader, row);
  const events = await reader.store.events({ run: row.no });
  const now = (await reader.scheduler()) === undefined ? undefined : reader.now();
  await deliver(await draw(timelineOf(found, events, now), form, context, notice), input, context);
  return 0;
};

/** Each form is loaded when it is needed. */
async function draw(timeline: Timeline, form: Form, context: Context, notice: object): Promise<string> {
  switch (form) {
    case "json": {
      const { timelineJson } = await import("../../../views/timeline/timeline.ts");
      return `${JSON.stringify({ ...timelineJson(timeline), ...notice })}\n`;
    }
    case "svg": {
      const { timelineSvg } = await import("../../../views/timeline/timeline-svg.ts");
      return timelineSvg(timeline);
    }
    case "html": {
      const { timelineHtml } = await import("../../../views/timeline/timeline-html.ts");
      return timelineHtml(timeline);
    }
    case "text": {
      const { timelineText } = await import("../../../views/timeline/timeline-text.ts");
      const lines = timelineText(timeline, { columns: context.terminal.columns }, themeOf(context));
      return lines.map((line) => `${line}\n`).join("");
    }
  }
}
