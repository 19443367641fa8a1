/** How long people wait before anything happens: `rota --version` and `rota status`, beside a Node that does nothing. */
import { loadavg } from "node:os";
import { join } from "node:path";
import { buildIfStale } from "../processes/build.ts";
import { type CommandLine, Scratch, timeCommand } from "../processes/command.ts";
import { ROTA, write } from "../processes/contenders.ts";
import { atMost, type Bench, machine, median, round } from "../rig.ts";

const VERSION_MAX = 1.6;
const STATUS_MAX = 3;

export const bench: Bench = async ({ quick }) => {
  buildIfStale();
  using scratch = new Scratch();
  const cwd = scratch.path;
  const state = join(cwd, "state");
  const tasks = { fetch: { run: ["true"] }, build: { run: ["true"], needs: ["fetch"] } };
  write(cwd, "plan.json", JSON.stringify({ name: "small", tasks }));
  await timeCommand({ file: ROTA, args: ["run", "plan.json", "--json", "--state", state], cwd });
  const commands: Readonly<Record<string, CommandLine>> = {
    node: { file: process.execPath, args: ["-e", "0"], cwd },
    version: { file: ROTA, args: ["--version"], cwd },
    status: { file: ROTA, args: ["status", "--state", state], cwd },
  };
  const before = loadavg()[0] as number;
  const times: Record<string, number[]> = { node: [], version: [], status: [] };
  for (let no = 0; no < (quick ? 3 : 30); no++) {
    for (const [name, command] of Object.entries(commands)) times[name]?.push((await timeCommand(command)).wallMs);
  }
  const ms = Object.fromEntries(Object.entries(times).map(([name, each]) => [name, round(median(each))]));
  const [node, version, status] = [ms.node, ms.version, ms.status] as [number, number, number];
  return {
    machine: machine(),
    goals: [
      atMost("rota --version ÷ node -e 0", version / node, VERSION_MAX),
      atMost("rota status ÷ node -e 0", status / node, STATUS_MAX),
    ],
    results: { runs: times.node?.length, ms, load: { before: round(before), after: round(loadavg()[0] as number) } },
  };
};
