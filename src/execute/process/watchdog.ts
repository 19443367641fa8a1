/** The watchdog of one scheduler: ends what that leaves running, unless another scheduler comes for it in time (watchdog.sh). */
import type { ChildProcess } from "node:child_process";
import { signal } from "./ending.ts";
import type { ProcessOptions } from "./options.ts";
import { quote } from "./order.ts";
import { shellScripts, startShell } from "./shell.ts";

export interface Watchdog {
  /** Nothing is left to be watched. */
  dismiss(): void;
  /** As if this program had died. */
  forsake(): void;
}

/** Looks are this many seconds apart, or so many that there are a hundred of them in a lease. */
const STEP_MIN = 0.05;
const STEP_MAX = 1;
const LOOKS = 100;

/** `home` is the scheduler's directory, `mark` what its processes carry in their environment. */
export function startWatchdog(
  home: string,
  mark: string,
  { lease, orphans, grace }: Pick<ProcessOptions, "lease" | "orphans" | "grace">,
): Watchdog {
  const waits = orphans === "stop" ? 0 : lease;
  const step = Math.min(STEP_MAX, Math.max(STEP_MIN, Math.min(lease, grace) / 1_000 / LOOKS));
  const looks = (ms: number): number => Math.ceil(ms / 1_000 / step);
  const given = `rota_home=${quote(home)} rota_mark=${quote(mark)} rota_lease=${looks(waits)} rota_grace=${looks(grace)} rota_step=${step}`;
  // Where no process can be started no attempt can either.
  const shell: ChildProcess = startShell(
    ["rota-watchdog", home],
    `${given}\n${shellScripts().watchdog}`,
    "ignore",
    () => {},
  );
  return {
    dismiss() {
      if (shell.pid !== undefined) signal(-shell.pid, "SIGKILL");
    },
    forsake: () => void shell.stdin?.destroy(),
  };
}
