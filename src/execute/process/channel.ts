/** Lines over a socket: everything said in one turn leaves in one write, and a peer that does not read is waited for. */
import type { Socket } from "node:net";

export interface Channel {
  send(message: object): void;
  /** Says what is still to be said, then closes. */
  close(): void;
}

/** Takes up a talk: tells what is heard, and when it is over, and gives the way to answer. */
export type Connect<Heard> = (heard: (message: Heard) => void, closed: () => void) => Channel;

/** A talk over a socket. What is no message is ignored. */
export const overSocket =
  <Heard>(socket: Socket, parse: (line: string) => Heard | undefined): Connect<Heard> =>
  (heard, closed) =>
    openChannel(
      socket,
      (line) => {
        const message = parse(line);
        if (message !== undefined) heard(message);
      },
      closed,
    );

/** A talk within one program: what is said at one end is heard at the other at once. Both are to be taken up before anything is said. */
export function withinProgram<A extends object, B extends object>(): readonly [Connect<A>, Connect<B>] {
  let open = true;
  const ends: { heard(message: object): void; closed(): void }[] = [];
  const connect =
    <Heard extends object>(mine: number, other: number): Connect<Heard> =>
    (heard, closed) => {
      ends[mine] = { heard, closed };
      return {
        send: (message) => void (open && ends[other]?.heard(message)),
        close() {
          if (!open) return;
          open = false;
          queueMicrotask(() => ends[other]?.closed());
        },
      };
    };
  return [connect<A>(0, 1), connect<B>(1, 0)];
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
