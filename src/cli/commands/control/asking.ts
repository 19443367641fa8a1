/** The common part of `cancel`, `approve` and `requeue`: sends the request, and says what came of it. */

import { type Answer, ask, type Wish } from "../../../app/requests/requests.ts";
import { neutralize } from "../../../views/text/text.ts";
import type { Printed } from "../../../wire/replies/output.ts";
import type { Run } from "../../frame/command.ts";
import { rootMeant } from "../../frame/printed.ts";

type Words = Readonly<Record<Answer["answer"], (subject: string) => string>>;

const WORDS: Readonly<Record<Wish["kind"], Words>> = {
  cancel: {
    done: (subject) => `Cancelled ${subject}.`,
    underway: (subject) => `Cancelling ${subject}: what runs is being stopped.`,
    waiting: (subject) => `Asked to cancel ${subject}. The scheduler has not answered yet; the request is kept.`,
    kept: (subject) => `Asked to cancel ${subject}.`,
  },
  approve: {
    done: (subject) => `Approved ${subject}.`,
    underway: (subject) => `Approved ${subject}.`,
    waiting: (subject) => `Approved ${subject}. The scheduler has not answered yet; the request is kept.`,
    kept: (subject) => `Approved ${subject}. No scheduler is running: it counts as soon as the run is resumed.`,
  },
  requeue: {
    done: (subject) => `Put ${subject} back in the queue.`,
    underway: (subject) => `Put ${subject} back in the queue.`,
    waiting: (subject) => `Asked to put ${subject} back. The scheduler has not answered yet; the request is kept.`,
    kept: (subject) =>
      `Asked to put ${subject} back. No scheduler is running: it counts as soon as the run is resumed.`,
  },
};

/** The command that sends a request of this kind. */
export const asking =
  (kind: Wish["kind"]): Run =>
  async (input, context) => {
    const { terminal, env, cwd } = context;
    const [task] = input.arguments;
    const wish = { kind, run: input.text("run"), task, why: input.text("why") };
    const { answer, run, scheduler } = await ask(wish, { flag: input.text("state"), env, cwd });
    const { id, file } = run.manifest;
    if (input.flag("json")) {
      terminal.out(
        `${JSON.stringify({ request: kind, run: id, task: task ?? null, answer, scheduler } satisfies Printed<"cancel">)}\n`,
      );
      return 0;
    }
    const subject = task === undefined ? `run ${id}` : `task ${task} of run ${id}`;
    terminal.out(`${WORDS[kind][answer](subject)}\n`);
    const command = context.commandsTo({ root: rootMeant(kind, input, context) });
    if (answer === "kept") terminal.err(`Resume it with: ${neutralize(command(["run", file, "--resume"]))}\n`);
    return 0;
  };
