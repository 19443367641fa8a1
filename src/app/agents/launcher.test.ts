import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, onTestFinished, test } from "vitest";
import { launcherGone } from "./launcher.ts";

test.skipIf(process.platform !== "linux")(
  "an agent that outlives its launcher is known (where there is /proc)",
  async () => {
    const launcher = spawn("sh", ["-c", "sleep 1000 & echo $!; wait"], { stdio: ["ignore", "pipe", "ignore"] });
    const [line] = (await once(launcher.stdout, "data")) as [Buffer];
    const agent = Number(line.toString());
    onTestFinished(() => void process.kill(agent, "SIGKILL"));
    const isGone = launcherGone(agent);
    expect(isGone()).toBe(false);
    launcher.kill("SIGKILL");
    await once(launcher, "exit");
    await expect.poll(isGone).toBe(true);
  },
);
