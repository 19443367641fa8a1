/** Gates are questions to the person at the terminal of `rota run`: one at a time, answered with a key, and recorded as `rota approve` would. */
import { type Keyboard, openKeyboard } from "../../../app/agents/keyboard.ts";
import { type Request, requestHere } from "../../../app/requests/request-here.ts";
import { userName } from "../../../app/requests/user.ts";
import type { Task } from "../../../domain/task.ts";
import { type Instant, later, millis } from "../../../domain/time.ts";
import { awaitsApproval } from "../../../domain/waiting/needs.ts";
import { gateQuestion } from "../../../views/why/question.ts";
import type { Display, GoOn } from "./run-work.ts";

export interface Questions {
  /** Looks again for open questions: to be called after each commit. */
  look(): void;
  /** Whether a run that waits for a person goes on: resolves when a person has answered, here or elsewhere, or when `givenUp` is aborted. */
  answered(givenUp: AbortSignal): Promise<boolean>;
  close(): void;
}

/** A key that is pressed sooner was meant for the question before. */
const READING_TIME = millis(300);
type Answer = Request["kind"];
const ANSWERS: Readonly<Record<string, Answer>> = { y: "approve", n: "cancel" };

export function openQuestions({ scheduler, opened, context }: GoOn, display: Display): Questions {
  const { clock } = scheduler;
  const { run } = opened;
  const gated = run.tasks.filter(({ spec }) => spec.gate !== undefined);
  let asked: { readonly task: Task; readonly at: Instant } | undefined;
  let keyboard: Keyboard | undefined;
  let changed = (): void => {};

  const look = (): void => {
    const next = run.status.state === "finished" ? undefined : gated.find(awaitsApproval);
    if (next === asked?.task) return;
    keyboard?.close();
    keyboard = next && openKeyboard(press);
    asked = keyboard && next && { task: next, at: clock.now() };
    display.ask(asked && gateQuestion(asked.task));
    changed();
  };

  const press = (key: string): void => {
    const kind = ANSWERS[key.toLowerCase()];
    if (kind === undefined || asked === undefined || clock.now() < later(asked.at, READING_TIME)) return;
    void answer(kind, asked.task).catch((error: unknown) => display.notice(String(error)));
  };

  const answer = async (kind: Answer, task: Task): Promise<void> => {
    const why = kind === "cancel" ? { why: "its gate was declined" } : {};
    await requestHere(scheduler, { kind, run, task, by: userName(context.env), ...why });
  };

  look();
  return {
    look,
    answered: async (givenUp) => {
      while (run.status.state === "stalled" && asked !== undefined && !givenUp.aborted) {
        await new Promise<void>((resolve) => {
          changed = resolve;
          givenUp.addEventListener("abort", () => resolve(), { once: true });
        });
      }
      return run.status.state === "active" && !givenUp.aborted;
    },
    close: () => {
      keyboard?.close();
      display.ask(undefined);
    },
  };
}
