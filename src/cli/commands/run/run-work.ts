/** What the parts of `rota run` share: the run, and the way it is shown. */
import type { Config } from "../../../app/config/settings.ts";
import type { StateDir } from "../../../app/config/state.ts";
import type { Opened } from "../../../app/runs/submit.ts";
import type { Scheduler } from "../../../app/scheduler.ts";
import type { Event } from "../../../domain/event.ts";
import type { Instant } from "../../../domain/time.ts";
import type { Line } from "../../../views/text/line.ts";
import type { Context } from "../../frame/command.ts";

export interface GoOn {
  readonly scheduler: Scheduler;
  readonly state: StateDir;
  readonly opened: Opened;
  readonly context: Context;
  readonly json: boolean;
  readonly config: Config;
  /** When this command took the run up. */
  readonly since: Instant;
}

export interface Display {
  /** Events that have just become durable. */
  events(events: readonly Event[]): void;
  /** Something that the person at the terminal should know at once. */
  notice(text: string): void;
  /** The question that is open now, below everything else; nothing when there is none. */
  ask(question: readonly Line[] | undefined): void;
  /** Nothing more happens: leaves the terminal as it was. */
  close(): void;
}
