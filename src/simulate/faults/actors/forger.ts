/** A caller that reports on tasks it does not hold: with an invented token, or with the token of another claim. */
import { UserError } from "../../../domain/errors.ts";
import { millis, seconds } from "../../../domain/time.ts";
import type { Chance } from "../seed/chance.ts";
import type { Arena } from "../world/arena.ts";
import { Life } from "../world/life.ts";

const LIFE = new Life();

export function forge(arena: Arena, chance: Chance): void {
  if (arena.agents.grants.length === 0) return;
  const grant = chance.pick(arena.agents.grants);
  const forged = chance.flip(0.5)
    ? { ...grant, token: `${grant.token.slice(1)}x` }
    : { ...grant, fence: grant.fence + 1 };
  const outcome = { kind: "success", durationMs: millis(1) } as const;
  arena.network
    .call({
      client: "forger",
      life: LIFE,
      what: "forge",
      handle: async (at) => {
        await at.engine.api.report(forged, { kind: "complete", outcome });
        arena.monitor.violate(`a forged report on ${forged.run}/${forged.task}/${forged.fence} was accepted`);
      },
      answerTimeout: seconds(10),
    })
    .catch((error: unknown) => {
      if (!(error instanceof UserError) || error.code === "TOKEN_WRONG" || error.code === "RUN_UNKNOWN") return;
      arena.monitor.violate(`a forged report was answered ${error.code}`);
    });
}
