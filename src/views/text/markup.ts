/** Text inside SVG and HTML: whatever it holds, it stays text. */
import { neutralize } from "./text.ts";

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** For content and for quoted attributes alike. Control characters, which XML forbids even as entities, are spelled out. */
export const escapeMarkup = (text: string): string =>
  neutralize(text).replace(/[&<>"']/g, (char) => ENTITIES[char] as string);

/** A number for a coordinate: short, and never in exponents. */
export const px = (value: number): string => String(Math.round(value * 100) / 100);
