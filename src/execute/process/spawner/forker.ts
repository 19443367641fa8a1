/** How the processes of attempts come to be, and how one learns of their ends: the contract of those who fork. */
import { constants } from "node:fs";
import type { Command } from "../../../domain/spec.ts";
import type { ProcessIdentity } from "../../../domain/task.ts";
import type { LaunchFailure } from "./explain.ts";

/** One process to be started, as the leader of a group and a session of its own. */
export interface LaunchOrder {
  readonly command: Command;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Opened for appending by the process itself, made where it is not there, and never written through a link. */
  readonly log: string;
  readonly nice: number;
  /** What a successor must know to go on with it. Asked for only by those who can have one. */
  keepsake(): string;
}

/** The words of a command; a line is for the shell. */
export const argvOf = ({ command }: LaunchOrder): readonly [string, ...string[]] =>
  "shell" in command ? ["/bin/sh", "-c", command.shell] : command.argv;

export const LOG_FLAGS = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW;

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** Of the process and all it waited for. Nothing where it cannot be measured. */
  readonly cpuMs?: number;
  /** The most that the largest of these held. Nothing where it cannot be told from what the forker itself holds. */
  readonly peakBytes?: number;
  /** Nobody was left of its group when it was waited for. False where that is not known. */
  readonly isGroupEmpty?: boolean;
}

export interface LaunchWatch {
  /** What it was seen to use: its share where those who fork learn only the sum of several. */
  readonly seenCpuMs: number;
  /** The program is loaded. Told once, and not where `failed` is; without an identity where it has ended already. */
  started(pid: number, process: ProcessIdentity | undefined): void;
  /** Nothing was started. */
  failed(failure: LaunchFailure): void;
  exited(exit: Exit): void;
}

/** A start that was asked for. */
export interface Launched {
  /** Has one that was only prepared become what it should. */
  go(): void;
  /** Has one that was only prepared end without having become anything. */
  drop(): void;
  /** Something that a successor must know besides the keepsake; the last one counts. */
  note(text: string): void;
}

/** What a predecessor has left. */
export interface Kept extends Pick<Launched, "note"> {
  readonly keepsake: string;
  /** Empty where there was none. */
  readonly noted: string;
  readonly pid: number;
  /** Nothing for one that was gone before anybody was told that it ran. */
  readonly process?: ProcessIdentity;
  readonly sinceMs: number;
  /** Nothing while it runs. */
  readonly exit?: Exit & { readonly atMs: number };
  /** Tells of the end of one that runs. */
  follow(watch: LaunchWatch): void;
}

export interface Forker {
  launch(order: LaunchOrder, watch: LaunchWatch): Launched;
  /** Does all that can be done before it is certain that the process may run; nothing is told before `go`. `ahead`: others run before that. */
  prepare(order: LaunchOrder, watch: LaunchWatch, ahead: boolean): Launched;
  /** Calls `then` as soon as it is certain that what is asked for can be done. */
  whenReady(then: () => void): void;
  /** Nothing more will be asked for, and nothing runs. */
  leave(): void;
}
