/** A release in the middle of its run, in which tasks wait for every kind of reason: what the views are tried on. */
import { Dispatcher } from "../../src/decide/dispatcher.ts";
import { workerId } from "../../src/domain/ids.ts";
import { RETRY_DEFAULT } from "../../src/domain/spec.ts";
import { seconds } from "../../src/domain/time.ts";
import { RunFixture } from "./run-fixture.ts";

/** After 26 seconds: one task done, one failed, four running. */
export function releaseFixture(): RunFixture {
  return new RunFixture(
    {
      fetch: { estimate: seconds(12) },
      broken: {},
      "after-broken": { needs: ["broken"] },
      flaky: { retry: { ...RETRY_DEFAULT, attempts: 3 } },
      "build-api": { needs: ["fetch"], estimate: seconds(60), writes: ["dist/api/"] },
      "build-web": { needs: ["fetch"] },
      docs: { title: "Render the handbook", needs: ["fetch"], reads: ["dist/"] },
      train: { resources: { claude: 2 } },
      review: { resources: { claude: 2, cpu: 1_000 } },
      bench: { resources: { gpu: 2 }, requires: ["cuda"] },
      "test-api": { needs: ["build-api"] },
      e2e: { needs: ["test-api", "build-web"] },
      publish: { needs: ["e2e"], gate: "Ship it to production?" },
      announce: { gate: "Tell the world?" },
      日本語: { priority: "high" },
      slow: { priority: "low" },
    },
    { resources: { claude: 3 } },
  )
    .start("fetch", "local/1")
    .start("broken", "local/2")
    .start("flaky", "local/3")
    .pass(8)
    .fail("broken", 2)
    .skip("after-broken", "broken")
    .pass(4)
    .succeed("fetch")
    .start("build-api", "local/1")
    .start("build-web", "local/2")
    .pass(1)
    .retry("flaky", 20)
    .start("train", "local/3")
    .pass(9)
    .claim("日本語", "local/4")
    .pass(4);
}

/** Four workers on a machine of eight cores, with the run of the fixture as it is now. */
export function releaseDispatcher({ run }: RunFixture): Dispatcher {
  const workers = [1, 2, 3, 4].map((at) => workerId(`local/${at}`));
  const dispatcher = new Dispatcher({ workers, capacity: { cpu: 8_000, gpu: 1 }, capabilities: [] });
  dispatcher.admit(run);
  return dispatcher;
}

export const logOf = (task: string, attempt: number): string => `.rota/runs/release-7f3a2c/${task}/${attempt}/log`;
