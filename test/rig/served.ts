/** A real daemon in a directory of its own, and the commands that talk to it. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { freshDir, rota, type Said, type Started, startRota } from "./cli.ts";

export interface Served {
  readonly cwd: string;
  /** A command in this directory, in this process. */
  readonly rota: (args: readonly string[], env?: Readonly<Record<string, string>>) => Promise<Said>;
  /** The same, which must succeed; what it printed. */
  readonly says: (args: readonly string[], env?: Readonly<Record<string, string>>) => Promise<string>;
  /** The same as JSON. */
  json<T>(args: readonly string[], env?: Readonly<Record<string, string>>): Promise<T>;
  /** A command as a process of its own. */
  start(args: readonly string[], env?: Readonly<Record<string, string>>): Started;
  /** Submits a plan of these tasks, and gives its run. */
  submit(tasks: string, ...options: string[]): Promise<string>;
  /** Starts a daemon, and is kept once it answers. */
  serve(...options: string[]): Promise<Started>;
  /** Ends the daemon without a word. */
  kill(): Promise<void>;
}

/** `env` is what the daemon sees. */
export async function served(env: Readonly<Record<string, string>> = {}, ...options: string[]): Promise<Served> {
  const place = unserved(env);
  await place.serve(...options);
  return place;
}

/** The directory, with no daemon yet. */
export function unserved(daemonEnv: Readonly<Record<string, string>> = {}): Served {
  const cwd = freshDir();
  let daemon: Started | undefined;
  const run: Served["rota"] = (args, env = {}) => rota(args, { cwd, env });
  const says: Served["says"] = async (args, env) => {
    const { code, out, err } = await run(args, env);
    if (code !== 0) throw new Error(`rota ${args.join(" ")} ended with ${code}: ${err}`);
    return out;
  };
  const kill = async (): Promise<void> => {
    daemon?.child.kill("SIGKILL");
    await daemon?.ended;
    daemon = undefined;
  };
  onTestFinished(kill);
  return {
    cwd,
    rota: run,
    says,
    json: async (args, env) => JSON.parse(await says([...args, "--json"], env)) as never,
    start(args, env = {}) {
      const started = startRota(args, { cwd, env });
      onTestFinished(() => void started.child.kill("SIGKILL"));
      return started;
    },
    async submit(tasks, ...rest) {
      writeFileSync(join(cwd, "plan.yaml"), `name: plan\ntasks:\n${tasks}`);
      return (await says(["submit", "plan.yaml", ...rest])).trim();
    },
    async serve(...rest) {
      daemon = startRota(["serve", ...rest], { cwd, env: { ROTA_GRACE: "1s", ...daemonEnv } });
      await daemon.says(/^Serving /m);
      return daemon;
    },
    kill,
  };
}

/** What a file of the state directory holds. */
export const inState = ({ cwd }: Served, path: string): string => readFileSync(join(cwd, ".rota", path), "utf8");
