import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createConnection, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { eventually } from "../conformance.ts";
import { openChannel } from "./channel.ts";

let dir: string;
let here: Socket;
let there: Socket;

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), "rota-channel-"));
  const server = createServer().listen(join(dir, "s"));
  here = createConnection(join(dir, "s"));
  [there] = (await once(server, "connection")) as [Socket];
  server.close();
});
afterEach(() => {
  here.destroy();
  there.destroy();
  rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
});

test("lines arrive whole and in order, however they are cut", async () => {
  const heard: string[] = [];
  openChannel(
    there,
    (line) => heard.push(line),
    () => {},
  );
  const bytes = Buffer.from('{"a":"é"}\n\n{"b":2}\n{"c"');
  for (const byte of bytes) {
    here.write(Buffer.from([byte]));
    await new Promise(setImmediate);
  }
  here.write(":3}\n");
  await eventually(() => expect(heard).toEqual(['{"a":"é"}', '{"b":2}', '{"c":3}']));
});

test("everything said in one turn is one write", async () => {
  const write = vi.spyOn(here, "write");
  const channel = openChannel(
    here,
    () => {},
    () => {},
  );
  for (let n = 0; n < 100; n++) channel.send({ n });
  await Promise.resolve();
  expect(write).toHaveBeenCalledTimes(1);
});

test("a peer that does not read is waited for, and misses nothing", async () => {
  const channel = openChannel(
    here,
    () => {},
    () => {},
  );
  const text = "x".repeat(100_000);
  for (let n = 0; n < 200; n++) {
    channel.send({ n, text });
    await new Promise(setImmediate);
  }
  // What the socket has not taken is not handed to it: it would only keep it in memory, twice.
  expect(here.writableLength).toBeLessThan(1_000_000);
  const heard: number[] = [];
  openChannel(
    there,
    (line) => heard.push(JSON.parse(line).n),
    () => {},
  );
  await eventually(() => expect(heard).toEqual(Array.from({ length: 200 }, (_, n) => n)));
});

test("what was said before closing is still said, nothing after it", async () => {
  const heard: string[] = [];
  const closed = vi.fn();
  openChannel(there, (line) => heard.push(line), closed);
  const channel = openChannel(
    here,
    () => {},
    () => {},
  );
  channel.send({ last: true });
  channel.close();
  channel.send({ after: true });
  await eventually(() => expect(closed).toHaveBeenCalledOnce());
  expect(heard).toEqual(['{"last":true}']);
});
