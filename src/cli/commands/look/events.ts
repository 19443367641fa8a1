/** `rota events`: the ledger, one line per event; with `--follow` as it grows. */
import { findRun, isQuiet, loadRun, mustFindTask, openReader, type Reader } from "../../../app/look/reader.ts";
import { changes } from "../../../app/look/watch.ts";
import { type Event, isSystemEvent } from "../../../domain/event.ts";
import type { TaskNo } from "../../../domain/graph.ts";
import type { RunNo, Run as RunState } from "../../../domain/run.ts";
import { eventJson, eventLine } from "../../../views/events/events.ts";
import type { Run } from "../../frame/command.ts";
import { pollInterval } from "../../frame/poll.ts";
import { themeOf } from "../../frame/theme.ts";
import { sayUnrecovered } from "./unrecovered.ts";

/** Enough to be quick, few enough that a ledger of millions does not fill the memory. */
const PAGE = 2_000;

export const run: Run = async (input, context) => {
  const { terminal, env, cwd } = context;
  await using reader = openReader({ flag: input.text("state"), env, cwd });
  await sayUnrecovered(reader, input, context);
  const asked = await whatIsAsked(reader, input.text("run"), input.text("task"));
  const theme = themeOf(context);
  const runs = new RunBook(reader);
  const show = async (event: Event): Promise<void> => {
    const of = await runs.get(event.run);
    if (of !== undefined || isSystemEvent(event))
      terminal.out(`${input.flag("json") ? JSON.stringify(eventJson(event, of)) : eventLine(event, of, theme)}\n`);
  };

  let after = 0;
  const showNew = async (): Promise<void> => {
    for (let events = await page(reader, asked, after); events.length > 0; events = await page(reader, asked, after)) {
      for (const event of events) await show(event);
      after = (events.at(-1) as Event).seq;
      await terminal.flush();
      if (terminal.gone.aborted || events.length < PAGE) return;
    }
  };

  if (!input.flag("follow")) await showNew();
  else {
    const pollEvery = await pollInterval(context);
    for await (const _ of changes([reader.state.root], { signal: terminal.gone, pollEvery })) {
      // Asked before the ledger is read: what is written before the end is then read after it.
      const over = asked.run !== undefined && (await isQuiet(reader, asked.run));
      await showNew();
      if (over) break;
    }
  }
  return 0;
};

interface Asked {
  readonly run?: RunNo;
  readonly task?: TaskNo;
}

/** A task is looked for in the run that is named, else in the newest. */
async function whatIsAsked(reader: Reader, run: string | undefined, task: string | undefined): Promise<Asked> {
  if (run === undefined && task === undefined) return {};
  const row = await findRun(reader, run);
  if (task === undefined) return { run: row.no };
  return { run: row.no, task: mustFindTask(await loadRun(reader, row), task).no };
}

const page = ({ store }: Reader, asked: Asked, after: number): Promise<readonly Event[]> =>
  store.events({ ...asked, after, limit: PAGE });

/** Runs are loaded once each, for the names in their events. */
class RunBook {
  readonly #reader: Reader;
  readonly #known = new Map<RunNo, Promise<RunState | undefined>>();

  constructor(reader: Reader) {
    this.#reader = reader;
  }

  get(no: RunNo): Promise<RunState | undefined> {
    let run = this.#known.get(no);
    if (run === undefined) {
      run = this.#load(no);
      this.#known.set(no, run);
    }
    return run;
  }

  async #load(no: RunNo): Promise<RunState | undefined> {
    const [row] = await this.#reader.store.runs({ no });
    return row === undefined ? undefined : loadRun(this.#reader, row);
  }
}
