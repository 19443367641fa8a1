/**
 * The other screen that terminals have, for pictures that are drawn again and again: it has no lines above it that a resized window could bring
 * back, and when it is left the terminal shows what it showed before.
 */
import type { Terminal } from "./terminal.ts";

const ENTER = "\x1b[?1049h\x1b[?25l";
const LEAVE = "\x1b[?25h\x1b[?1049l";
const TOP_LEFT = "\x1b[H";
const CLEAR_LINE = "\x1b[K";
const CLEAR_BELOW = "\x1b[0J";

export interface Screen {
  /** Draws over what is there. */
  draw(lines: readonly string[]): void;
  /** Leaves the terminal as it was found. */
  close(): void;
}

/** `redraw` is called when the window has another size, and when the program goes on after Ctrl-Z. */
export function openScreen(terminal: Pick<Terminal, "out">, redraw: () => void): Screen {
  let isLeft = false;
  const leave = (): void => {
    isLeft = true;
    terminal.out(LEAVE);
  };
  const suspend = (): void => {
    leave();
    process.kill(process.pid, "SIGSTOP");
  };
  const goOn = (): void => {
    isLeft = false;
    terminal.out(ENTER);
    redraw();
  };
  terminal.out(ENTER);
  process.once("exit", leave).on("SIGWINCH", redraw).on("SIGTSTP", suspend).on("SIGCONT", goOn);
  return {
    draw(lines) {
      // The shell has the terminal. A timer may be heard before it is said that the program goes on.
      if (isLeft) return;
      // No line break after the last one: it would move the whole screen.
      terminal.out(`${TOP_LEFT}${lines.map((line) => `${line}${CLEAR_LINE}`).join("\n")}${CLEAR_BELOW}`);
    },
    close() {
      process.off("exit", leave).off("SIGWINCH", redraw).off("SIGTSTP", suspend).off("SIGCONT", goOn);
      leave();
    },
  };
}
