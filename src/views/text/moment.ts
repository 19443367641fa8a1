/** Moments and spans, as each kind of reader needs them. */
import { formatDuration, type Instant, type Millis, millis, seconds } from "../../domain/time.ts";

const FACES = new Map<string, Intl.DateTimeFormat>();

/** `12:03:11`, in the reader's time zone. `Intl` is used only for another zone: its first use takes 30 ms. */
export function timeOfDay(at: Instant, timeZone: string | undefined): string {
  if (timeZone === undefined) return clockFace(new Date(at));
  let face = FACES.get(timeZone);
  if (face === undefined) {
    face = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit", timeZone });
    FACES.set(timeZone, face);
  }
  return face.format(at);
}

const clockFace = (date: Date): string =>
  [date.getHours(), date.getMinutes(), date.getSeconds()].map((part) => String(part).padStart(2, "0")).join(":");

/** For programs. */
export const iso = (at: Instant): string => new Date(at).toISOString();

/** How long something has gone on. Whole seconds: a tenth that flickers helps no reader. */
export const age = (from: Instant, now: Instant): string => wholeDuration(millis(now - from));

export const wholeDuration = (span: Millis): string => formatDuration(seconds(Math.max(0, Math.floor(span / 1_000))));

/** `2 tasks`, `1 task`. */
export const plural = (count: number, noun: string): string => `${grouped(count)} ${noun}${count === 1 ? "" : "s"}`;

/** `12,345`. */
export const grouped = (count: number): string => String(count).replace(/\B(?=(?:\d{3})+$)/g, ",");

/** `43%`; only the whole is 100 %, and only zero is 0 %. */
export function percent(part: number, whole: number): string {
  if (whole === 0 || part === whole) return "100%";
  const rounded = Math.round((100 * part) / whole);
  return `${part === 0 ? 0 : Math.min(99, Math.max(1, rounded))}%`;
}
