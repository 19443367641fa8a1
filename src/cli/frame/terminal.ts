/** Where the output of a command goes. All text for a person passes here once, so that no text of a task can move the cursor. */
import { fstatSync } from "node:fs";

export interface Terminal {
  /** For results: what a script would read. */
  out(text: string | Uint8Array): void;
  /** For everything else: errors, hints, progress. */
  err(text: string): void;
  /** Whether a person watches, on a screen that can be redrawn. */
  readonly interactive: boolean;
  readonly color: boolean;
  /** Whether colours reach a person who reads `err`. */
  readonly errColor: boolean;
  readonly columns: number;
  readonly rows: number;
  /** Resolves when everything written so far was taken. */
  flush(): Promise<void>;
  /** Aborted when the reader of the results is gone: `rota events | head -3`. */
  readonly gone: AbortSignal;
}

type Stream = NodeJS.WriteStream & { fd: number };

export function systemTerminal(env: Readonly<Record<string, string | undefined>>): Terminal {
  const gone = new AbortController();
  // Each stream takes a millisecond or two to set up, and most commands use only one of them.
  const used = new Set<Stream>();
  const open = (stream: Stream): Stream => {
    if (used.has(stream)) return stream;
    used.add(stream);
    // The reader has closed its end. That is allowed, and a scheduler must not end because of it.
    return stream.on("error", () => gone.abort());
  };
  const isTerminal = isDevice(STDOUT) && process.stdout.isTTY === true;
  return {
    out: (text) => void open(process.stdout).write(text),
    err: (text) => void open(process.stderr).write(text),
    interactive: isTerminal && env["TERM"] !== "dumb",
    color: wantsColor(env, isTerminal),
    get errColor() {
      return wantsColor(env, isDevice(STDERR) && process.stderr.isTTY === true);
    },
    get columns() {
      return sizeOr(process.stdout.columns, 100);
    },
    get rows() {
      return sizeOr(process.stdout.rows, 30);
    },
    flush: async () => {
      await Promise.all([...used].map((stream) => new Promise<void>((done) => stream.write("", () => done()))));
    },
    gone: gone.signal,
  };
}

const STDOUT = 1;
const STDERR = 2;

/** A file that is no device is no terminal, and needs no stream to find that out. */
function isDevice(file: number): boolean {
  try {
    return fstatSync(file).isCharacterDevice();
  } catch {
    return false;
  }
}

/** A terminal that does not know its size may report nothing, or 0. */
const sizeOr = (size: number | undefined, usual: number): number => (size === undefined || size === 0 ? usual : size);

/** NO_COLOR and FORCE_COLOR as their sites define them. */
function wantsColor(env: Readonly<Record<string, string | undefined>>, isTerminal: boolean): boolean {
  if (env["NO_COLOR"] !== undefined && env["NO_COLOR"] !== "") return false;
  if (env["FORCE_COLOR"] !== undefined && env["FORCE_COLOR"] !== "0") return true;
  return isTerminal && env["TERM"] !== "dumb";
}
