/** A daemon's service around a scheduler that the test controls. */
import { loadConfig } from "../../src/app/config/config.ts";
import { stateDir } from "../../src/app/config/state.ts";
import { daemonOf } from "../../src/app/daemon/daemon.ts";
import { RunNames } from "../../src/app/runs/run-names.ts";
import { engineOptions } from "../../src/app/scheduler.ts";
import { OWNER } from "../../src/domain/authority.ts";
import type { Caller, Service } from "../../src/wire/service.ts";
import { freshDir } from "./cli.ts";
import { openRig, type Rig } from "./rig.ts";

/** The owner of the state directory. */
export const CALLER: Caller = { by: "mo", authority: OWNER };

export interface ServerContext {
  readonly rig: Rig;
  readonly service: Service;
  /** Commands that were called, with what they were told. */
  readonly calls: readonly string[];
  readonly says: () => readonly string[];
  readonly answer: <T>(promise: Promise<T>) => Promise<T>;
}

/** `env`: the settings, as variables. */
export async function openServerContext(env: Readonly<Record<string, string>> = {}): Promise<ServerContext> {
  const cwd = freshDir();
  const { values: config } = await loadConfig({ cwd, env, flags: {} });
  const rig = await openRig({ ...engineOptions(config), workers: 1 });
  const secrets = { token: () => "token", seed: () => 1, suffix: () => "abc" };
  const scheduler = {
    engine: rig.engine,
    store: rig.store,
    executor: rig.machine.executor(),
    clock: rig.clock,
    secrets,
    names: new RunNames({ secrets, store: rig.store }),
    capabilities: [],
    pools: Object.keys(config.pools),
    [Symbol.asyncDispose]: async () => {},
  };
  const calls: string[] = [];
  const { service } = daemonOf(scheduler, {
    state: stateDir(cwd),
    config,
    command: "test",
    environment: {},
    version: "0",
    call: async (command, told) => void calls.push(`${command.join(" ")} ${told["ROTA_TASK"]}`),
  });
  return {
    rig,
    service,
    calls,
    says: () => rig.told.map(({ kind }) => kind),
    answer: (promise) => rig.promised(promise),
  };
}
