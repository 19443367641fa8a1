/** `rota run --dry-run`: says what would run, and runs and writes nothing. */
import type { Config } from "../../../app/config/settings.ts";
import type { StateDir } from "../../../app/config/state.ts";
import { dryRun } from "../../../app/runs/dry-run.ts";
import type { LoadedPlan } from "../../../app/runs/plan-file.ts";
import { dryRunJson, dryRunText } from "../../../views/report/dry-run.ts";
import type { Context, Input } from "../../frame/command.ts";
import { say } from "../../frame/say.ts";
import { themeOf } from "../../frame/theme.ts";

export async function showDryRun(
  loaded: LoadedPlan,
  state: StateDir,
  config: Config,
  input: Input,
  context: Context,
): Promise<number> {
  const dry = await dryRun(loaded, state, config, input.flag("resume"));
  const { columns } = context.terminal;
  say<"run --dry-run">(input, context, dryRunJson(dry), () => dryRunText(dry, { columns }, themeOf(context)));
  return 0;
}
