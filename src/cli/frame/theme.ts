/** What views need to know about the terminal. */
import type { Theme } from "../../views/text/line.ts";
import type { Context } from "./command.ts";

/** Only a named locale counts as not UTF-8: containers often have no locale at all and show everything. */
export function themeOf({ terminal, env }: Pick<Context, "terminal" | "env">): Theme {
  const locale = env["LC_ALL"] || env["LC_CTYPE"] || env["LANG"] || "UTF-8";
  const { color } = terminal;
  const unicode = /utf-?8/i.test(locale);
  const zone = env["TZ"];
  if (zone === undefined || zone === "") return { color, unicode };
  return {
    color,
    unicode,
    // Read only by views that show a time of day: the first read takes 10 ms.
    get timeZone() {
      return isZone(zone) ? zone : "UTC";
    },
  };
}

function isZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat("en", { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
