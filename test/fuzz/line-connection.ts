/** A line connection that is spoken to in any way at all: whatever is answered can be read, and nothing breaks. */
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import { UserError } from "../../src/domain/errors.ts";
import { socketAuthenticator } from "../../src/http/authentication.ts";
import { LIMITS } from "../../src/http/limits.ts";
import { LineConnection } from "../../src/http/line-connection.ts";
import { Router } from "../../src/http/router.ts";
import { Waits } from "../../src/http/waits.ts";
import { ManualClock } from "../rig/clock.ts";
import { scriptedService, untilGivenUp } from "../rig/service.ts";

const router = new Router();
const authenticator = socketAuthenticator(new Set(), "/nowhere");

export async function speakLines(pieces: Iterable<Buffer>): Promise<void> {
  const faults: unknown[] = [];
  const waits = new Waits();
  const service = scriptedService({
    claim: (_, caller) => (caller.signal === undefined ? undefined : untilGivenUp(caller)),
  });
  const tokens = { issue: refused, list: refused, revoke: refused };
  const context = {
    backend: { service, tokens },
    router,
    waits,
    lineConnections: new Set<LineConnection>(),
    clock: new ManualClock(),
    limits: LIMITS,
    onFault: (error: unknown) => void faults.push(error),
  };
  let said = "";
  const socket = new Duplex({
    read() {},
    write(chunk: Buffer, _, done) {
      said += chunk.toString("utf8");
      done();
    },
  });
  const lineConnection = new LineConnection(
    context,
    authenticator,
    { headers: {} } as IncomingMessage,
    Object.assign(socket, { setTimeout() {} }) as unknown as Socket,
  );
  lineConnection.open(Buffer.alloc(0));
  for (const piece of pieces) socket.push(Buffer.from(piece));
  socket.push(null);
  await new Promise((resolve) => void socket.once("finish", resolve).resume());
  waits.endAll();
  for (const line of said.split("\n").slice(0, -1)) JSON.parse(line);
  if (faults.length > 0) throw faults[0];
}

const refused = (): never => {
  throw new UserError("FORBIDDEN", "There are no tokens here");
};
