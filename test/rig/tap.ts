/** Stands between callers and a daemon, lets everything through, and knows what goes on: how many connections, and how many line connections. */
import { mkdtempSync, rmSync } from "node:fs";
import { createConnection, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

export interface Tap extends AsyncDisposable {
  /** Where to call. */
  readonly socket: string;
  /** Connections that were opened so far, and how many of them became line connections. */
  readonly opened: number;
  readonly lineConnections: number;
  /** Breaks every connection there is, as a crash would. */
  drop(): void;
}

export async function openTap(target: string): Promise<Tap> {
  const socket = join(mkdtempSync(join(tmpdir(), "rota-tap-")), "tap.sock");
  const open = new Set<Socket>();
  const seen = { opened: 0, lineConnections: 0 };
  const server = createServer((near) => {
    const far = createConnection(target);
    seen.opened++;
    far.once("data", (chunk: Buffer) => {
      if (chunk.toString("latin1", 0, 12) === "HTTP/1.1 101") seen.lineConnections++;
    });
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(one);
      one.pipe(other);
      one
        .on("error", () => undefined)
        .once("close", () => {
          open.delete(one);
          other.destroy();
        });
    }
  });
  await new Promise<void>((resolve) => void server.listen(socket, resolve));
  const drop = (): void => {
    for (const each of open) each.destroy();
  };
  return {
    socket,
    get opened() {
      return seen.opened;
    },
    get lineConnections() {
      return seen.lineConnections;
    },
    drop,
    async [Symbol.asyncDispose]() {
      drop();
      server.close();
      rmSync(dirname(socket), { recursive: true, force: true });
    },
  };
}
