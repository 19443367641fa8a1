import { expect, test } from "vitest";
import { task } from "../../../test/rig/builders.ts";
import { FIRST, LedgerFixture } from "../../../test/rig/ledger-fixture.ts";
import type { Graph } from "../../domain/graph.ts";
import { runId } from "../../domain/ids.ts";
import { systemClock } from "../../effects/clock.ts";
import { systemSecrets } from "../../effects/random.ts";
import { acquired } from "../../store/conformance.ts";
import { openMemoryStore } from "../../store/memory/store.ts";
import { RunNames } from "./run-names.ts";
import { manifestOf } from "./submit.ts";

test("a run is never called what another one is called already", async () => {
  await using store = openMemoryStore();
  const fixture = new LedgerFixture();
  fixture.submit([task("a")], { id: runId("Night-shift-aaaaaa") });
  await store.commit(fixture.pending.take(await acquired(store)));
  const suffixes = ["aaaaaa", "aaaaaa", "bbbbbb"];
  const secrets = { ...systemSecrets(), suffix: () => suffixes.shift() as string };
  const plan = {
    name: "Night shift",
    tasks: [],
    resources: {},
    rates: {},
    graph: fixture.world.run(FIRST)?.graph as Graph,
  };
  const loaded = { plan, file: "plan.yaml", directory: "/", digest: "none", warnings: [] };
  const clock = systemClock();
  const scheduler = { secrets, clock, names: new RunNames({ secrets, store }) };
  expect((await manifestOf(scheduler, loaded)).id).toBe("Night-shift-bbbbbb");
});
