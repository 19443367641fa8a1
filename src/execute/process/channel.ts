/** Lines over a socket: everything said in one turn leaves in one write, and a peer that does not read is waited for. */
import type { Socket } from "node:net";

export interface Channel {
  send(message: object): void;
  /** Says what is still to be said, then closes. */
  close(): void;
}

/** Longer than any message; a peer that sends more without a line end is not one of ours. */
const LINE_MAX = 64 * 1024 * 1024;

export function openChannel(socket: Socket, heard: (line: string) => void, closed: () => void): Channel {
  let waiting: string[] = [];
  let blocked = false;
  let scheduled = false;
  let open = true;

  const flush = (): void => {
    scheduled = false;
    if (!open || blocked || waiting.length === 0) return;
    const text = waiting.join("");
    waiting = [];
    blocked = !socket.write(text);
  };

  socket.setEncoding("utf8");
  socket.on("drain", () => {
    blocked = false;
    flush();
  });
  socket.on(
    "data",
    splitLines(heard, () => socket.destroy()),
  );
  // A peer that died is learned from `close`, which always follows.
  socket.on("error", () => {});
  socket.on("end", () => socket.destroy());
  socket.on("close", () => {
    open = false;
    waiting = [];
    closed();
  });

  return {
    send(message) {
      if (!open) return;
      waiting.push(`${JSON.stringify(message)}\n`);
      if (scheduled || blocked) return;
      scheduled = true;
      queueMicrotask(flush);
    },
    close() {
      if (!open) return;
      socket.end(waiting.join(""));
      waiting = [];
      open = false;
    },
  };
}

function splitLines(heard: (line: string) => void, overflow: () => void): (chunk: string | Buffer) => void {
  let rest = "";
  return (chunk) => {
    const lines = (rest + chunk.toString()).split("\n");
    rest = lines.pop() ?? "";
    if (rest.length > LINE_MAX) overflow();
    for (const line of lines) if (line !== "") heard(line);
  };
}
