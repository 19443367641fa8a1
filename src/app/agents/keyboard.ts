/** Single keys of the person at the terminal, while a question is open. At other times the terminal is as the shell left it. */
import { isForeground } from "../../effects/host.ts";

export interface Keyboard {
  /** Gives the terminal back. */
  close(): void;
}

/** Keys for which the terminal itself would have sent a signal. */
const SIGNALS: Readonly<Record<string, NodeJS.Signals>> = { "\x03": "SIGINT", "\x1c": "SIGQUIT", "\x1a": "SIGTSTP" };

/** Nothing where no person can answer: standard input is no terminal, or this is a background job, which would be stopped for reading. */
export function openKeyboard(press: (key: string) => void): Keyboard | undefined {
  const { stdin } = process;
  if (!stdin.isTTY || !isForeground()) return undefined;
  const hear = (bytes: Buffer): void => {
    // Keys typed before the question were meant for something else.
    const key = bytes.toString("latin1").slice(0, 1);
    const signal = SIGNALS[key];
    if (signal === undefined) return press(key);
    // After Ctrl-Z the shell finds its terminal as it left it.
    if (signal === "SIGTSTP") stdin.setRawMode(false);
    process.kill(process.pid, signal);
  };
  const goOn = (): void => void (isForeground() && stdin.setRawMode(true));
  stdin.setRawMode(true);
  stdin.on("data", hear).resume();
  process.on("SIGCONT", goOn);
  return {
    close() {
      process.off("SIGCONT", goOn);
      stdin.off("data", hear).pause();
      if (isForeground()) stdin.setRawMode(false);
    },
  };
}
