import { expect, test } from "vitest";
import { instant, millis } from "../../domain/time.ts";
import { VirtualClock } from "../clock.ts";
import { Life, OwnClock } from "./life.ts";

test("leisure comes when the pace says so, after all that is asked for at once, and not to one that has ended", async () => {
  const truth = new VirtualClock();
  const life = new Life();
  const spans = [3, 0, 5];
  const clock = new OwnClock(truth, life, { leisure: () => millis(spans.shift() ?? 0) });
  const heard: string[] = [];
  for (const name of ["first", "second", "third"]) clock.atLeisure(() => heard.push(`${name}@${truth.now()}`));
  clock.soon(() => heard.push(`soon@${truth.now()}`));
  truth.at(instant(4), () => life.end());
  await truth.run(() => false);
  expect(heard).toEqual(["soon@0", "second@0", "first@3"]);
});
