import { expect, test } from "vitest";
import { type History, NO_HISTORY } from "../domain/history.ts";
import { Histories } from "./histories.ts";

const known = (count: number): History => ({
  durations: new Map(Array.from({ length: count }, (_, no) => [`t${no}`, { count: 1, meanLog: 5 }])),
  error: NO_HISTORY.error,
});

function asking(answer: (plan: string) => Promise<History>) {
  const asked: string[] = [];
  const histories = new Histories({
    history(plan) {
      asked.push(plan);
      return answer(plan);
    },
  });
  return { asked, histories };
}

test("a plan is looked up once, and what its runs teach is added", async () => {
  const { asked, histories } = asking(async () => known(1));
  expect(await histories.of("a")).toEqual(known(1));
  histories.learn("a", [{ task: "t0", logMs: 7, errorSquared: 4 }]);
  expect(histories.of("a")).toEqual({
    durations: new Map([["t0", { count: 2, meanLog: 6 }]]),
    error: { count: 1, sumOfSquares: 4 },
  });
  expect(asked).toEqual(["a"]);
});

test("what was read before something was learned is not kept", async () => {
  const reading = Promise.withResolvers<History>();
  const { asked, histories } = asking(() => reading.promise);
  const first = histories.of("a");
  histories.learn("a", [{ task: "t0", logMs: 7 }]);
  reading.resolve(known(1));
  await first;
  await histories.of("a");
  expect(asked).toEqual(["a", "a"]);
});

test("only some plans are kept, the latest, and none that is very large", async () => {
  const { asked, histories } = asking(async (plan) => known(plan === "large" ? 5_001 : 1));
  for (let no = 0; no < 17; no++) await histories.of(`p${no}`);
  await histories.of("p16");
  await histories.of("p0");
  expect(asked.slice(17)).toEqual(["p0"]);
  await histories.of("large");
  await histories.of("large");
  expect(asked.slice(18)).toEqual(["large", "large"]);
});
