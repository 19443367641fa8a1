/** A scheduler in a process of its own, which starts attempts and can be killed. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { ProcessIdentity } from "../../src/domain/task.ts";
import type { Attempt } from "../../src/execute/executor.ts";
import type { ProcessOptions } from "../../src/execute/process/options.ts";

export interface LoneSetup {
  readonly stateDir: string;
  readonly options: Partial<ProcessOptions>;
  readonly attempts: readonly Attempt[];
  /** Taken over from an earlier scheduler. */
  readonly adopted: readonly Attempt[];
}

const SOURCE = join(import.meta.dirname, "../../src");
const PROGRAM = `
  import { openProcessExecutor } from ${JSON.stringify(join(SOURCE, "execute/process/executor.ts"))};
  import { systemClock } from ${JSON.stringify(join(SOURCE, "effects/clock.ts"))};
  const { stateDir, options, attempts, adopted } = JSON.parse(process.argv[1]);
  const executor = openProcessExecutor({ stateDir, clock: systemClock(), options });
  const teller = ({ fence }) => {
    const say = (what) => console.log(JSON.stringify({ fence, ...what }));
    return { say, watch: { started: (process) => say({ process }), progressed() {}, said() {} } };
  };
  for (const attempt of attempts) {
    const { say, watch } = teller(attempt);
    executor.start(attempt, watch).outcome.then((outcome) => say({ outcome }));
  }
  for (const attempt of adopted) {
    const { say, watch } = teller(attempt);
    executor.adopt(attempt, undefined, watch).then((handle) => handle.outcome).then((outcome) => say({ outcome }));
  }
`;

export class LoneScheduler {
  readonly #child: ChildProcess;
  /** The process of each attempt that started, and the outcomes. */
  readonly said: { fence: number; process?: ProcessIdentity; outcome?: object }[] = [];

  constructor(setup: LoneSetup) {
    const argv = ["--disable-warning=ExperimentalWarning", "--input-type=module", "-e", PROGRAM];
    this.#child = spawn(process.execPath, [...argv, JSON.stringify(setup)], { stdio: ["ignore", "pipe", "inherit"] });
    createInterface({ input: this.#child.stdout as NodeJS.ReadableStream }).on("line", (line) => {
      this.said.push(JSON.parse(line));
    });
  }

  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    this.#child.kill("SIGKILL");
    await once(this.#child, "exit");
  }
}
