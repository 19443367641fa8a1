/** F7: a party that had nothing to do for a while gets its share again, no more and no less, and no party pays for its absence. */
import { contest, type Party } from "./contest.ts";
import { serviceByCell, targetsOf, windowShares } from "./measures.ts";
import { WEIGHTS } from "./scenarios.ts";

export interface ReturnFigures {
  /** The party that returns: how far it is from its share in the third window after, as a part of all. */
  readonly error: number;
  /** Of all parties, in the first two windows after: the least service, over what is due. */
  readonly least: number;
}

const WORKERS = 16;
const WINDOW_MS = 50_000;
const AWAY = 1;

/** The second party has work for one window, is away for five, and comes back with work for many. */
export async function measureReturn(): Promise<ReturnFigures> {
  const perWindow = (WORKERS * WINDOW_MS) / 1_000;
  const parties = WEIGHTS.map((weight, at): Party => {
    const count = Math.ceil((weight / 100) * perWindow * 20);
    const first = at === AWAY ? Math.ceil((weight / 100) * perWindow) : count;
    return {
      weight,
      tasks: Array.from({ length: count }, (_, no) => ({
        ms: 800 + ((no * 37) % 401),
        ...(no >= first && { later: true as const }),
      })),
    };
  });
  const back = 6 * WINDOW_MS;
  const setup = { workers: WORKERS, parties, until: back + 4 * WINDOW_MS, opensAt: back };
  const stays = await contest(setup);
  const after = stays.map((stay) => ({ ...stay, start: stay.start - back, end: stay.end - back }));
  const service = serviceByCell(setup, after.filter(({ end }) => end > 0).map(fromZero), WINDOW_MS, 4 * WINDOW_MS);
  const targets = targetsOf(parties);
  const due = (at: number): number => (targets[at] as number) * WINDOW_MS;
  const third = windowShares(service, 1)[2] as number[];
  return {
    error: Math.abs((third[AWAY] as number) - (targets[AWAY] as number)),
    least: Math.min(...service.flatMap((mine, at) => [(mine[0] as number) / due(at), (mine[1] as number) / due(at)])),
  };
}

const fromZero = <T extends { readonly start: number }>(stay: T): T => ({ ...stay, start: Math.max(0, stay.start) });
