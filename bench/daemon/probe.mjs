/**
 * Loaded into the daemon before its own code: tells its parent process, over the channel between them, what it uses. The daemon
 * itself is the same program that users run.
 */
process.on("message", (asked) => {
  if (asked === "collect") for (let times = 0; times < 4; times++) globalThis.gc?.();
  const { rss, heapUsed, external } = process.memoryUsage();
  const { user, system } = process.cpuUsage();
  process.send?.({ rss, heap: heapUsed + external, cpuMs: (user + system) / 1_000 });
});
// It must not keep the daemon from ending.
process.channel?.unref();
