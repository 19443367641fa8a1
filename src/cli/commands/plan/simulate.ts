/** `rota simulate PLAN`: how long a plan would take, and what decides that. No task is run. */
import { resolve } from "node:path";
import { simulatePlan } from "../../../app/simulate/simulate.ts";
import type { SimulationReport } from "../../../views/simulation/simulation.ts";
import type { Context, Run } from "../../frame/command.ts";
import { deliver, type Form, formOf } from "../../frame/output.ts";
import { themeOf } from "../../frame/theme.ts";

const EXIT_STALLED = 3;

export const run: Run = async (input, context) => {
  const { cwd, env } = context;
  const form = formOf(input);
  const report = await simulatePlan({
    cwd,
    env,
    file: resolve(cwd, input.arguments[0] as string),
    state: input.text("state"),
    workers: input.count("workers"),
    actual: input.text("actual"),
    whatIf: input.texts("what-if"),
    pools: input.texts("pool"),
  });
  await deliver(await draw(report, form, context), input, context);
  return report.stalled.length === 0 ? 0 : EXIT_STALLED;
};

/** Each form is loaded when it is needed. */
async function draw(report: SimulationReport, form: Form, context: Context): Promise<string> {
  switch (form) {
    case "json": {
      const { simulationJson } = await import("../../../views/simulation/simulation.ts");
      return `${JSON.stringify(simulationJson(report))}\n`;
    }
    case "svg": {
      const { timelineOfSimulation } = await import("../../../views/simulation/simulation.ts");
      const { timelineSvg } = await import("../../../views/timeline/timeline-svg.ts");
      return `${timelineSvg(timelineOfSimulation(report))}\n`;
    }
    case "html": {
      const { simulationHtml } = await import("../../../views/simulation/simulation-html.ts");
      return simulationHtml(report);
    }
    case "text": {
      const { simulationText } = await import("../../../views/simulation/simulation-text.ts");
      const lines = simulationText(report, { columns: context.terminal.columns }, themeOf(context));
      return lines.map((line) => `${line}\n`).join("");
    }
  }
}
