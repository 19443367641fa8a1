import { PassThrough, Writable } from "node:stream";
import { expect, test } from "vitest";
import { ManualClock } from "../../test/rig/clock.ts";
import { fakeDaemon } from "../../test/rig/mcp-daemon.ts";
import { serveStdio } from "./stdio.ts";

const serve = (input: PassThrough, output: Writable, clock = new ManualClock(), signal?: AbortSignal): Promise<void> =>
  serveStdio({
    input,
    output,
    clock,
    service: fakeDaemon().service,
    version: "0",
    readPlan: () => Promise.reject(new Error("unused")),
    ...(signal !== undefined && { signal }),
  });
/** Streams hand on what they have in turns of their own. */
async function ended(served: Promise<void>, clock: ManualClock): Promise<void> {
  let over = false;
  void served.finally(() => {
    over = true;
  });
  while (!over) await clock.settle();
}
const ping = (id: number): string => `${JSON.stringify({ jsonrpc: "2.0", id, method: "ping" })}\n`;

test("a client that does not read its answers is not read from either", async () => {
  const clock = new ManualClock();
  const input = new PassThrough();
  let taken = 0;
  let go: (() => void) | undefined;
  const output = new Writable({
    highWaterMark: 100,
    write: (_, __, done) => {
      taken++;
      if (taken > 1 && go === undefined) go = done;
      else done();
    },
  });
  const served = serve(input, output, clock);
  for (let id = 0; id < 10_000; id++) input.write(ping(id));
  for (let turn = 0; turn < 20; turn++) await clock.settle();
  expect(taken).toBeLessThan(10);
  expect(output.writableLength).toBeLessThan(100_000);
  go?.();
  input.end();
  await ended(served, clock);
  expect(taken).toBe(10_000);
});

test.each<[string, (input: PassThrough, output: PassThrough, stop: AbortController) => void]>([
  ["its input ends", (input) => input.end()],
  ["its input breaks", (input) => input.destroy(Object.assign(new Error("read"), { code: "EIO" }))],
  ["its output breaks", (_, output) => output.destroy(Object.assign(new Error("write"), { code: "EPIPE" }))],
  ["it is told to", (_, __, stop) => stop.abort()],
])("the server ends when %s, and leaves no timer behind", async (_, end) => {
  const [input, output, stop, clock] = [new PassThrough(), new PassThrough(), new AbortController(), new ManualClock()];
  const served = serve(input, output, clock, stop.signal);
  input.write(ping(1));
  await clock.settle();
  end(input, output, stop);
  await ended(served, clock);
  expect(clock.waiting).toEqual([]);
});

test("requests that were sent before the input ended are answered", async () => {
  const [input, output, clock] = [new PassThrough(), new PassThrough(), new ManualClock()];
  const served = serve(input, output, clock);
  input.end(`${ping(1)}${ping(2).trimEnd()}`);
  await ended(served, clock);
  output.end();
  const said = await Array.fromAsync(output as AsyncIterable<Buffer>);
  expect(
    Buffer.concat(said)
      .toString()
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as unknown),
  ).toEqual([
    { jsonrpc: "2.0", id: 1, result: {} },
    { jsonrpc: "2.0", id: 2, result: {} },
  ]);
});
