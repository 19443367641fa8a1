import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createConnection } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { LoneScheduler } from "../../../test/rig/lone-scheduler.ts";
import { systemClock } from "../../effects/clock.ts";
import { eventually, shell, told } from "../conformance.ts";
import { openProcessExecutor } from "./executor.ts";
import { readIdentity, readRecords } from "./files.ts";

// Real processes on a machine that may be busy.
vi.setConfig({ testTimeout: 30_000 });

/** Says hello to a spawner, and is killed, or waits for what comes of it. */
async function knock(path: string, secret: string, then: "and is killed" | "and is sent away"): Promise<void> {
  const socket = createConnection(path);
  await once(socket, "connect");
  const hello = JSON.stringify({ kind: "hello", secret, settings: {}, environment: {} });
  await new Promise((resolve) => socket.write(`${hello}\n`, resolve));
  if (then === "and is killed") socket.destroy();
  else await once(socket.resume(), "close");
}

/** What the children of a process run. */
const childrenOf = (pid: number): string[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8")
    .trim()
    .split(" ")
    .map((child) => readFileSync(`/proc/${child}/cmdline`, "utf8"));

test("a scheduler that is killed before a keeper could answer it has the next one lose nothing", async () => {
  const dir = mkdtempSync(join(tmpdir(), "rota-knocking-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true, maxRetries: 5 }));
  const processes = join(dir, "state", "processes");
  const attempt = shell(dir, "while [ ! -e go ]; do sleep 0.02; done; exit 5");
  const scheduler = new LoneScheduler({ stateDir: join(dir, "state"), options: {}, attempts: [attempt] });
  await eventually(() => expect(scheduler.said).toHaveLength(1));
  const [record] = readRecords(processes);
  if (record === undefined) throw new Error("nobody says where it is");
  await scheduler.kill();
  const { pid } = record.process;
  await eventually(() => expect(childrenOf(pid)).toContainEqual(expect.stringContaining("keeper")));
  // What the keeper asks of it now is answered later.
  process.kill(pid, "SIGSTOP");
  await knock(record.socket, readIdentity(processes)?.secret ?? "", "and is killed");
  await knock(record.socket, "wrong", "and is sent away");
  process.kill(pid, "SIGCONT");

  await using next = openProcessExecutor({ stateDir: join(dir, "state"), clock: systemClock() });
  const handle = await next.adopt(attempt, record.process, told());
  writeFileSync(join(dir, "go"), "");
  expect(await handle?.outcome).toMatchObject({ kind: "exit", code: 5 });
});
