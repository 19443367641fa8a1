/** Which variables a shell script takes from its environment: reads only as much of the shell language as that needs. In doubt there is no warning. */

/** Variables that a shell sets itself. */
const OWN =
  /^(?:_|PWD|OLDPWD|IFS|PPID|OPTIND|OPTARG|OPTERR|RANDOM|SRANDOM|SECONDS|LINENO|HOSTNAME|HOSTTYPE|MACHTYPE|OSTYPE|E?UID|GROUPS|SHLVL|REPLY|FUNCNAME|DIRSTACK|PIPESTATUS|EPOCH(?:SECONDS|REALTIME)|COLUMNS|LINES|COPROC|MAPFILE|PS[0-4]|BASH(?:_\w+)?)$/;
/** Text that is run by these may set any variable. */
const RUNS_OTHER_TEXT = /(?:^|[\s;&|({])(?:\.|source|eval)\s/m;
const ASSIGNED = /(?:^|[\s;&|({`"'])([A-Za-z_]\w*)(?:\[[^\]]{0,99}\])?\+?=/gm;
const FILLED =
  /\b(?:for|select|read|mapfile|readarray|printf\s+-v|getopts\s+\S+|unset|let)\b([^\n;&|]*)|\(\(([^\n)]{0,199})\)\)/g;

/** In the order in which they are first named. A variable with a default, `${NAME:-other}`, is not among them. */
export function namesTaken(script: string): readonly string[] {
  if (!script.includes("$") || RUNS_OTHER_TEXT.test(script)) return [];
  const set = namesSet(script);
  const named = new Set<string>();
  scan(script, "plain", named, set);
  return [...named].filter((name) => !set.has(name) && !OWN.test(name));
}

function namesSet(script: string): Set<string> {
  const set = new Set<string>();
  for (const [, name] of script.matchAll(ASSIGNED)) set.add(name as string);
  for (const [, words, sum] of script.matchAll(FILLED)) {
    for (const [name] of (words ?? sum ?? "").matchAll(/(?<![$\w{])[A-Za-z_]\w*/g)) set.add(name);
  }
  return set;
}

/** Where the reader stands: what ends there, and what quotes mean there. */
type Within = "plain" | "document" | '"' | ")" | "`" | "}";
const EXPANSION = /\$(?:\{[#!]?([A-Za-z_]\w*)(?:\[[^\]]{0,99}\])?(:?[-=+])?|([A-Za-z_]\w*))/y;
const HERE_DOCUMENT = /<<-?[ \t]*(?:'([^'\n]+)'|"([^"\n]+)"|\\?([\w.-]+))/y;
const COMMENT = /#[^\n]*/y;

function scan(text: string, begin: Within, named: Set<string>, set: Set<string>): void {
  const open: Within[] = [begin];
  const documents: { readonly end: string; readonly expands: boolean }[] = [];
  for (let at = 0; at < text.length; at++) {
    const within = open.at(-1) as Within;
    const isQuoted = within === '"' || within === "document";
    const char = text[at] as string;
    if (char === within && open.length > 1) open.pop();
    else if (char === "\\") at++;
    else if (char === "$") at += expand(text, at, open, named, set);
    else if (char === "`") open.push("`");
    else if (char === '"' && within !== "document") open.push('"');
    else if (isQuoted) continue;
    else if (char === "'") at = endOfSingle(text, at);
    else if (char === "(") open.push(")");
    else if (char === "#" && /^[\s;(]?$/.test(text[at - 1] ?? ""))
      at += (matchAt(COMMENT, text, at)?.[0].length ?? 1) - 1;
    else if (char === "<" && text[at + 1] === "<") {
      const found = text[at + 2] === "<" ? null : matchAt(HERE_DOCUMENT, text, at);
      if (found !== null) documents.push({ end: found.slice(1).find(Boolean) as string, expands: isBare(found[0]) });
      at += found?.[0].length ? found[0].length - 1 : 2;
    } else if (char === "\n") {
      for (const { end, expands } of documents.splice(0)) {
        const body = bodyUntil(end, text.slice(at + 1));
        if (expands) scan(body, "document", named, set);
        at += body.length;
      }
    }
  }
}

/** Reads what a `$` begins, and gives how many characters after it were read. */
function expand(text: string, at: number, open: Within[], named: Set<string>, set: Set<string>): number {
  const next = text[at + 1];
  const isSingle = next === "'" && open.at(-1) !== '"' && open.at(-1) !== "document";
  if (isSingle) return endOfSingle(text, at + 1, true) - at;
  const found = matchAt(EXPANSION, text, at);
  if (next === "(" || next === "{") open.push(next === "(" ? ")" : "}");
  if (found === null) return next === undefined || next === '"' ? 0 : 1;
  const [all, braced, operator, plain] = found;
  const name = (braced ?? plain) as string;
  if (operator === undefined) named.add(name);
  else if (operator.endsWith("=")) set.add(name);
  return all.length - 1;
}

function endOfSingle(text: string, from: number, escapes = false): number {
  for (let at = from + 1; at < text.length; at++) {
    if (escapes && text[at] === "\\") at++;
    else if (text[at] === "'") return at;
  }
  return text.length;
}

const isBare = (written: string): boolean => !/['"\\]/.test(written);

/** The lines of a here-document, up to and with the line that ends it. */
function bodyUntil(end: string, text: string): string {
  let length = 0;
  for (const line of text.split("\n")) {
    length += line.length + 1;
    if (line.trim() === end) break;
  }
  return text.slice(0, length - 1);
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}
