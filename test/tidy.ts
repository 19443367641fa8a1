/**
 * The laws of this tree, as tables and small functions over text. `tidy.test.ts` applies them to the real files.
 *
 * Imports are found by pattern, not by a parser: the compiler ships no programmatic API, and every import here is a
 * relative path that ends in `.ts`.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { posix } from "node:path";

/** Path from the root of the tree → text. */
export type Tree = ReadonlyMap<string, string>;

/** Each law looks at the whole tree and says what is wrong, one sentence per place; an orderly tree gives none. */
export const LAWS: Readonly<Record<string, (tree: Tree) => readonly string[]>> = {
  "a folder imports only what its layer allows": checkLayers,
  "files do not import each other in a circle": checkCycles,
  "what a browser folds with needs no Node": checkBrowserParts,
  "banned words are not used": checkWords,
  "a law has one home": checkCopies,
  "a sentence names its actor": checkActors,
  "files and folders are named for what they do": checkNames,
  "a file is about one thing": checkLengths,
  "no module knows too many others": checkImportCounts,
  "a page has one title": checkTitles,
  "a test is never left out without a reason": checkSkippedTests,
};

const CONTRACTS = [
  "store/store.ts",
  "store/rows.ts",
  "execute/executor.ts",
  "workspace/workspace.ts",
  "cache/cache.ts",
];
const EFFECTFUL = ["std", "domain", "effects"];
const BELOW_APP = [
  "std",
  "domain",
  "plan",
  "decide",
  "views",
  "effects",
  "store",
  "execute",
  "agents",
  "workspace",
  "cache",
];
/** `std` stands for what the language lacks, so it is open to the surfaces as the language is. */
const SURFACE = ["std", "domain", "views", "wire", "app"];

/** What each folder of `src` may import beside itself: a folder, a folder within one, or a single file. */
const LAYERS: Readonly<Record<string, readonly string[]>> = {
  std: [],
  domain: ["std"],
  plan: ["std", "domain"],
  decide: ["std", "domain"],
  // What they give to programs is typed by the shapes of replies.
  views: ["std", "domain", "wire/replies"],
  effects: ["std", "domain"],
  store: EFFECTFUL,
  execute: EFFECTFUL,
  workspace: EFFECTFUL,
  cache: EFFECTFUL,
  agents: EFFECTFUL,
  engine: [...EFFECTFUL, "decide", ...CONTRACTS],
  wire: [...EFFECTFUL, ...CONTRACTS],
  simulate: [...EFFECTFUL, "decide", "engine", "store", ...CONTRACTS],
  app: [...BELOW_APP, "engine", "wire", "simulate"],
  cli: [...SURFACE, "http", "mcp"],
  library: [...SURFACE, "plan", "effects", "execute/inline", "http", "cli/version.ts"],
  http: [...SURFACE, "effects"],
  mcp: [...SURFACE, "effects/clock.ts"],
};

/** Laws of which a copy can be known by its words, where each is at home, and what is called elsewhere. */
const LAWS_AT_HOME: readonly { readonly copy: RegExp; readonly home: string; readonly instead: string }[] = [
  { copy: /onFailure === "(?:continue|skip)"/, home: "src/domain/waiting/needs.ts", instead: "`isMet`" },
  {
    copy: /\bgate !== undefined && !(?:\w+\.)?approved/,
    home: "src/domain/waiting/needs.ts",
    instead: "`isGateClosed`",
  },
  {
    copy: /stopping\?\.kind [!=]== "cancelled"(?! && stopping\.asked\.why)/,
    home: "src/domain/task.ts",
    instead: "`cancellerOf`",
  },
  { copy: /\bexpiries (?:>=|<) /, home: "src/decide/rules/rule.ts", instead: "`isPoison`" },
  { copy: /\bcwd \?\? "|\.directory, (?:\w+\.)*cwd\b/, home: "src/domain/run.ts", instead: "`directoryOf`" },
  { copy: /\bspec\.pool \?\? |\bpool \?\? "local"/, home: "src/domain/spec.ts", instead: "`poolOf`" },
  {
    copy: /\bscopeKey\(\{ of: "(?:pool|run|task)"/,
    home: "src/domain/waiting/pauses.ts",
    instead: "`Pauses`",
  },
  { copy: /\bof: "task", run/, home: "src/app/requests/scope.ts", instead: "`findScope`" },
  { copy: /Math\.exp\([\w.]*\bmeanLog\)/, home: "src/domain/durations/estimate.ts", instead: "`knownDuration`" },
];
/** Histories are judged by laws of their own: a shared law would be wrong together with the code it judges. */
const JUDGES = /^src\/simulate\//;

interface BannedWord {
  readonly word: RegExp;
  readonly instead: string;
  /** The one folder whose business it is. A word without a home is banned everywhere. */
  readonly home?: string;
  /** Most words are looked for in code only; these are what people write in comments. */
  readonly inComments?: true;
}

const EFFECTS = "src/effects/";
const BANNED_WORDS: readonly BannedWord[] = [
  { word: /\bDate\.now\(/, home: EFFECTS, instead: "take `now` as an argument, or ask the `Clock`" },
  { word: /\bnew Date\(\s*\)/, home: EFFECTS, instead: "take `now` as an argument, or ask the `Clock`" },
  { word: /\bperformance\.now\(/, home: EFFECTS, instead: "ask the `Clock`" },
  { word: /\bprocess\.hrtime\b/, home: EFFECTS, instead: "ask the `Clock`" },
  {
    word: /(?<!socket\.)\bset(?:Timeout|Interval|Immediate)\(/,
    home: EFFECTS,
    instead: "use the `Clock`: `clock.sleep`",
  },
  { word: /\bMath\.random\(/, home: EFFECTS, instead: "take a `Random`, so that one seed is one history" },
  { word: /\brandom(?:UUID|Bytes)\b/, home: EFFECTS, instead: "take ids and randomness from `effects`" },
  {
    word: /\bmkdirSync\(.*\brecursive\b/,
    home: EFFECTS,
    instead: "use `makeFolders`, which ends on every file system",
  },
  { word: /\bconsole\.log\b/, home: "src/cli/", instead: "return a value, or use the log of `effects`" },
  {
    word: /\bfc\.assert\b/,
    home: "test/rig/property.ts",
    instead: "use `always`, so that one seed is one set of cases",
  },
  { word: /\bas any\b/, instead: "parse at the edge into a domain type, or use `unknown`" },
  { word: /@ts-ignore\b/, inComments: true, instead: "use `@ts-expect-error` with the reason" },
  { word: /^\s*(?:(?:export|declare|const)\s+)*enum\s+\w/, instead: "use a const array and the type that follows" },
  { word: /\b(?:TODO|FIXME|XXX)\b/, inComments: true, instead: "do it now, or write it where the work is planned" },
];

/** Words that hide who acts. They are looked for in whole files: comments, messages, titles of tests, pages. */
const NO_ACTOR =
  /\b(?:somebody|someone|nobody|no[ -]one|anybody|anyone|everybody|everyone|whoever|whomever|those\W+who|one\W+that|one\W+who)\b/gi;

/** Where words that have a home may be used as well, and why. */
const OUTSIDE_THE_PRODUCT: readonly { readonly files: RegExp; readonly why: string }[] = [
  { files: /\.test\.ts$|\/conformance\.ts$|^test\//, why: "a test meets the real machine" },
  { files: /^bench\//, why: "a benchmark measures real time" },
  { files: /^scripts\//, why: "a script is run by hand, once" },
  { files: /^examples\//, why: "an example is the user's program" },
  { files: /^dashboard\//, why: "a program of the browser, which has its own clock" },
];

/** The laws must name what they forbid. */
const THE_LAWS = /^test\/tidy(?:\.test)?\.ts$/;
const NAMELESS = /^(?:utils?|common|helpers?|types?|misc)$/;
const NOT_OURS = /(?:^|\/)(?:node_modules|dist|fixtures)\//;
const LINES_MAX = 400;
/** Other modules that a module of the product may import: with more, it is where everything meets. */
const IMPORTS_MAX = 20;

const isSource = (path: string): boolean => /\.(?:ts|tsx|mjs)$/.test(path);
const isTest = (path: string): boolean => /\.test\.ts$|\/conformance\.ts$/.test(path);

const FOLDERS = ["src", "test", "bench", "scripts", "dashboard", "docs", "examples"];

export function readTree(root: string): Tree {
  const paths = [
    ...readdirSync(root),
    ...FOLDERS.filter((folder) => existsSync(`${root}/${folder}`)).flatMap((folder) =>
      readdirSync(`${root}/${folder}`, { recursive: true, encoding: "utf8" }).map((path) => `${folder}/${path}`),
    ),
  ];
  const ours = paths.filter((path) => (isSource(path) || path.endsWith(".md")) && !NOT_OURS.test(path));
  return new Map(ours.sort().map((path) => [path, readFileSync(`${root}/${path}`, "utf8")]));
}

function checkLayers(tree: Tree): string[] {
  return [...tree].flatMap(([path, text]) => {
    if (!path.startsWith("src/") || !isSource(path) || path === "src/index.ts") return [];
    const folder = folderOf(path);
    const allowed = LAYERS[folder];
    if (allowed === undefined) return [`${path}: src/${folder} is not in the table of folders; ask whose part it is`];
    if (isTest(path)) return [];
    return importsOf(path, text)
      .filter((target) => !mayImport([folder, ...allowed], target))
      .map(
        (target) => `${path}: imports ${target}, but src/${folder} may import only: ${allowed.join(", ") || "nothing"}`,
      );
  });
}

const folderOf = (path: string): string => path.split("/")[1] ?? "";
const mayImport = (allowed: readonly string[], target: string): boolean =>
  allowed.some((entry) => target === `src/${entry}` || target.startsWith(`src/${entry}/`));

/** Every relative import, static, dynamic, of types or re-exported, as a path from the root. */
/** Where a browser begins: it folds events with the reducer, and reads replies by their shapes. */
export const BROWSER_ROOTS = ["src/domain/event.ts", "src/domain/reduce.ts", "src/wire/answers.ts"];

function checkBrowserParts(tree: Tree): string[] {
  const seen = new Set<string>();
  const visit = (path: string): string[] => {
    if (seen.has(path)) return [];
    seen.add(path);
    const text = tree.get(path) ?? "";
    const others = specifiersIn(text).filter((specifier) => !specifier.startsWith("."));
    return [
      ...others.map((other) => `${path}: imports ${other}, but a browser folds with it; take it as an argument`),
      ...importsOf(path, text).flatMap(visit),
    ];
  };
  return BROWSER_ROOTS.filter((root) => tree.has(root)).flatMap(visit);
}

function importsOf(path: string, text: string): string[] {
  const relative = specifiersIn(text).filter((specifier) => specifier.startsWith("."));
  return relative.map((specifier) => posix.join(posix.dirname(path), specifier));
}

function specifiersIn(text: string): string[] {
  const found = withoutComments(text).matchAll(/(?:\bfrom\s*|\bimport\s*\(?\s*)["']([^"']+)["']/g);
  return [...found].map(([, specifier = ""]) => specifier);
}

function checkCycles(tree: Tree): string[] {
  const found: string[] = [];
  const finished = new Set<string>();
  const visit = (path: string, trail: readonly string[]): void => {
    if (trail.includes(path)) found.push([...trail.slice(trail.indexOf(path)), path].join(" → "));
    if (trail.includes(path) || finished.has(path)) return;
    for (const target of importsOf(path, tree.get(path) ?? "")) visit(target, [...trail, path]);
    finished.add(path);
  };
  for (const path of tree.keys()) if (isSource(path)) visit(path, []);
  return found.map((circle) => `${circle}: move what both need into a third file`);
}

function checkWords(tree: Tree): string[] {
  return [...tree].flatMap(([path, text]) => {
    if (!isSource(path) || THE_LAWS.test(path)) return [];
    const outside = OUTSIDE_THE_PRODUCT.some(({ files }) => files.test(path));
    const code = withoutComments(text);
    // A word whose home is among the tests is a law for tests.
    const isExcused = ({ home }: BannedWord): boolean =>
      home !== undefined && (path.startsWith(home) || (outside && !home.startsWith("test/")));
    return BANNED_WORDS.filter((banned) => !isExcused(banned)).flatMap(({ word, instead, inComments }) =>
      placesOf(word, inComments ? text : code).map(({ line, match }) => `${path}:${line}: \`${match}\`: ${instead}`),
    );
  });
}

function checkCopies(tree: Tree): string[] {
  return [...tree].flatMap(([path, text]) => {
    if (!path.startsWith("src/") || !isSource(path) || isTest(path) || JUDGES.test(path)) return [];
    const code = withoutComments(text);
    return LAWS_AT_HOME.filter(({ home }) => home !== path).flatMap(({ copy, home, instead }) =>
      placesOf(copy, code).map(({ line, match }) => `${path}:${line}: \`${match}\`: use ${instead} of ${home}`),
    );
  });
}

function checkActors(tree: Tree): string[] {
  return [...tree].flatMap(([path, text]) => {
    if (path === "CHANGELOG.md" || THE_LAWS.test(path)) return [];
    return [...text.matchAll(NO_ACTOR)].map((match) => {
      const line = text.slice(0, match.index).split("\n").length;
      return `${path}:${line}: "${match[0].replace(/\W+/g, " ")}": say session, scheduler, worker, caller, …`;
    });
  });
}

function placesOf(word: RegExp, text: string): { readonly line: number; readonly match: string }[] {
  return text.split("\n").flatMap((content, index) => {
    const match = word.exec(content)?.[0].trim();
    return match === undefined ? [] : [{ line: index + 1, match }];
  });
}

/** Blanks comments and keeps the line numbers. Strings are matched first, so that `"https://…"` stays whole. */
function withoutComments(text: string): string {
  const stringOrComment = /"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`|\/\*[\s\S]*?\*\/|\/\/.*/g;
  return text.replace(stringOrComment, (found) => (found.startsWith("/") ? found.replace(/[^\n]/g, " ") : found));
}

function checkNames(tree: Tree): string[] {
  const nameless = (path: string): string[] =>
    path.split("/").filter((part) => NAMELESS.test(part.replace(/(?:\.test|\.d)?\.\w+$/, "")));
  return [...tree.keys()].flatMap((path) =>
    nameless(path).map(
      (part) => `${path}: "${part}" says nothing; name it for what it does, in the words of the domain`,
    ),
  );
}

function checkLengths(tree: Tree): string[] {
  return [...tree]
    .filter(([path]) => path.startsWith("src/") && isSource(path))
    .map(([path, text]) => ({ path, lines: text.trimEnd().split("\n").length }))
    .filter(({ lines }) => lines > LINES_MAX)
    .map(({ path, lines }) => `${path}: ${lines} lines, more than ${LINES_MAX}; which two things is it?`);
}

function checkImportCounts(tree: Tree): string[] {
  return [...tree]
    .filter(([path]) => path.startsWith("src/") && isSource(path) && !isTest(path))
    .map(([path, text]) => ({ path, count: new Set(specifiersIn(text)).size }))
    .filter(({ count }) => count > IMPORTS_MAX)
    .map(({ path, count }) => `${path}: imports ${count} modules, more than ${IMPORTS_MAX}; whose parts does it hold?`);
}

function checkTitles(tree: Tree): string[] {
  return [...tree]
    .filter(([path]) => path.startsWith("docs/") && path.endsWith(".md"))
    .map(([path, text]) => ({ path, titles: withoutFences(text).match(/^# /gm)?.length ?? 0 }))
    .filter(({ titles }) => titles !== 1)
    .map(({ path, titles }) => `${path}: ${titles} titles (lines that begin with "# "), where one is right`);
}

const withoutFences = (text: string): string => text.replace(/^( *)(```+|~~~+)[\s\S]*?^\1\2/gm, "");

function checkSkippedTests(tree: Tree): string[] {
  return [...tree].flatMap(([path, text]) => {
    if (!isSource(path) || THE_LAWS.test(path)) return [];
    const lines = text.split("\n");
    const only = placesOf(/\b(?:test|it|describe)(?:\.\w+)*\.only\b/, text);
    const skipped = placesOf(/\b(?:test|it|describe)(?:\.\w+)*\.skip\(/, text).filter(
      ({ line }) => ![lines[line - 1], lines[line - 2]].some((near) => near?.includes("// ")),
    );
    return [
      ...only.map(({ line }) => `${path}:${line}: \`.only\` leaves out every other test; remove it`),
      ...skipped.map(({ line }) => `${path}:${line}: say why it is skipped, in a comment on the line above`),
    ];
  });
}
