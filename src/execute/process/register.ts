/**
 * What the executors of a state directory leave in `STATE/processes`, so that a later scheduler finds what still runs: a directory for each
 * scheduler, and in it a file for each of its wrappers, which says what that runs. Who takes the directory away has taken over.
 */
import { chmodSync, linkSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ProcessIdentity } from "../../domain/task.ts";
import { unusable } from "../../domain/told.ts";
import { makeFolders } from "../../effects/folders.ts";
import { parseIdentity, parseTimes, textOf } from "./directory.ts";

/** What a wrapper says about itself. */
export interface Slot {
  readonly file: string;
  readonly wrapper: ProcessIdentity;
  /** Of the attempt that it runs or ran last; empty where it never ran one. */
  readonly directory: string;
  /** What the attempts before that one had used. */
  readonly cpuMs?: number;
}

export class Register {
  /** The mark that processes of this state directory carry. */
  readonly stateId: string;
  /** Nothing was here before, so that nothing can be left. */
  readonly isNew: boolean;
  readonly home: string;
  readonly #root: string;
  #slots = 0;

  /** `name` and `fresh` have never been used before. */
  constructor(stateDir: string, name: string, fresh: string) {
    this.#root = processesOf(stateDir);
    this.home = join(this.#root, name);
    this.stateId = orUnusable(this.#root, () => {
      makeFolders(this.#root);
      chmodSync(this.#root, 0o700);
      const stateId = claimIdentity(this.#root, fresh);
      mkdirSync(this.home, { mode: 0o700 });
      return stateId;
    });
    this.isNew = this.stateId === fresh;
  }

  nextSlot(): string {
    return join(this.home, `slot-${++this.#slots}`);
  }

  /** Takes over from all earlier schedulers: from now on neither their watchdogs nor their wrappers begin anything. */
  takeOver(): readonly Slot[] {
    for (const { name } of readdirSync(this.#root, { withFileTypes: true }).filter((entry) => entry.isDirectory())) {
      if (join(this.#root, name) !== this.home) this.#take(join(this.#root, name), join(this.home, name));
    }
    const taken: Slot[] = [];
    for (const path of slotFiles(this.home, true)) {
      const file = this.nextSlot();
      renameSync(path, file);
      const slot = readSlot(file);
      if (slot === undefined) rmSync(file, { force: true });
      else taken.push(slot);
    }
    for (const entry of readdirSync(this.home, { withFileTypes: true })) {
      if (entry.isDirectory()) rmSync(join(this.home, entry.name), { recursive: true, force: true });
    }
    return taken;
  }

  forget(): void {
    rmSync(this.home, { recursive: true, force: true });
  }

  #take(from: string, to: string): void {
    try {
      renameSync(from, to);
    } catch (error) {
      // That scheduler has taken it away itself, because it ended.
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    }
  }
}

const processesOf = (stateDir: string): string => join(stateDir, "processes");
const identityFile = (root: string): string => join(root, "identity.json");

/** Also the files of schedulers whose successor died in the middle of taking over. `below`: only these. */
function slotFiles(directory: string, below = false): string[] {
  return readdirSync(directory, { withFileTypes: true }).flatMap((entry) => {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) return slotFiles(path);
    return !below && entry.name.startsWith("slot-") ? [path] : [];
  });
}

/** Nothing while it is being written. */
export function readSlot(file: string): Slot | undefined {
  const text = textOf(file);
  return text === undefined ? undefined : parseSlot(file, text);
}

export function parseSlot(file: string, text: string): Slot | undefined {
  const wrapper = parseIdentity(text);
  const [, directory, ...times] = text.split("\n");
  if (wrapper === undefined || directory === undefined) return undefined;
  const cpuMs = parseTimes(times.join("\n"));
  return { file, wrapper, directory, ...(cpuMs !== undefined && { cpuMs }) };
}

/** All that schedulers have left and none has taken over. For a look at what is there. */
export function slotsLeft(stateDir: string): readonly Slot[] {
  return slotFiles(processesOf(stateDir)).flatMap((file) => readSlot(file) ?? []);
}

export function readStateId(stateDir: string): string | undefined {
  return parseStateId(textOf(identityFile(processesOf(stateDir))) ?? "");
}

function parseStateId(text: string): string | undefined {
  try {
    const raw = JSON.parse(text) as { readonly stateId?: unknown } | null;
    return typeof raw?.stateId === "string" ? raw.stateId : undefined;
  } catch {
    return undefined;
  }
}

/** Made at first use. Written aside and linked, so that no reader sees half of it. */
function claimIdentity(root: string, fresh: string): string {
  const known = parseStateId(textOf(identityFile(root)) ?? "");
  if (known !== undefined) return known;
  const aside = `${identityFile(root)}.${process.pid}`;
  try {
    writeFileSync(aside, JSON.stringify({ stateId: fresh }), { mode: 0o600 });
    linkSync(aside, identityFile(root));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    rmSync(aside, { force: true });
  }
  return parseStateId(readFileSync(identityFile(root), "utf8")) ?? fresh;
}

/** What the system refuses here, the user can put right. */
function orUnusable<T>(path: string, use: () => T): T {
  try {
    return use();
  } catch (error) {
    throw unusable(path, error);
  }
}
