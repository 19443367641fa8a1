/** Errors that no caller catches, such as one thrown by a timer. Without a listener the platform ends the process. */

/** Says whether everything is being ended in order because of it; `endsInOrder` is what a newer listener has said. */
export type HearFault = (error: unknown, endsInOrder: boolean) => boolean;

const listeners: HearFault[] = [];

/** The newest listener hears first. */
function tell(error: unknown): void {
  listeners.reduceRight((endsInOrder, hear) => hear(error, endsInOrder), false);
}

export function hearFaults(hear: HearFault): Disposable {
  if (listeners.length === 0) process.on("uncaughtException", tell);
  listeners.push(hear);
  return {
    [Symbol.dispose]() {
      const index = listeners.indexOf(hear);
      if (index < 0) return;
      listeners.splice(index, 1);
      if (listeners.length === 0) process.off("uncaughtException", tell);
    },
  };
}
