/**
 * `node scripts/bundle.mjs DIST`: joins the modules that a command needs at its start into few files, because finding and reading
 * some hundred and fifty small ones takes longer than running them. Called by the build; a program that was not bundled works as well.
 *
 * What every look takes (`rota status`) is one file, and what `rota run` needs besides that before its first task is another: a command that only
 * looks should not wait for a scheduler to be read. What other commands need stays beside them, and is loaded when asked for.
 *
 * The way there is no ES module, because before Node runs the first of these it loads what finds and links them, which takes 3 ms.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { pathToFileURL } from "node:url";

/** What `rota status` takes. */
const AT_A_LOOK = ["cli/program.js", "cli/frame/commands.js", "cli/commands/look/status.js"];
/** Loaded one after the other by `rota run`, on the way to its first task. */
const AT_START = [
  "cli/program.js",
  "cli/frame/commands.js",
  "cli/commands/run/run.js",
  "app/crew.js",
  "app/scheduler.js",
  "app/runs/submit.js",
  "cli/commands/run/run-loop.js",
  "cli/commands/run/run-leftovers.js",
];

const dist = resolve(process.argv[2] ?? "dist");
/** Gives out what nearly every start needs, as it was compiled: see `compile-cache.mjs`, which is called after this. */
const compileCache = await import(pathToFileURL(join(dist, "cli/compile-cache.js")).href);
const { PARTS } = compileCache;
const { rolldown } = await import("rolldown");
/** Less to read; names stay, so that what is reported can be found. */
const minify = { compress: false, mangle: false, codegen: { removeWhitespace: true } };
const entrance = await bundleEntrance();
const atALook = reachable(AT_A_LOOK.map((path) => join(dist, path)));
const atStart = reachable(AT_START.map((path) => join(dist, path)));
const bundle = await rolldown({
  input: { program: join(dist, "cli/program.js") },
  platform: "node",
  // What is not ours is found by its name, as before.
  external: [/^node:/, /^[a-z@]/],
  plugins: [{ name: "own-places", transform: keepPlace }],
  // That some modules are loaded by the way here and on purpose there is the point of it.
  checks: { ineffectiveDynamicImport: false },
});
const { output } = await bundle.generate({
  format: "esm",
  entryFileNames: "[name].js",
  chunkFileNames: "bundle/[name].js",
  minify,
  codeSplitting: {
    groups: [
      { name: "look", priority: 2, test: (id) => atALook.has(id) },
      { name: "start", priority: 1, test: (id) => atStart.has(id) },
    ],
  },
});
const written = new Map(output.map(({ fileName, code }) => [fileName, code]));
/** What main.js calls, by the names that the first part exports it under. */
const outside = pairs(/\bimport\{([^}]*)\}from"\.\/bundle\/look\.js"/.exec(written.get("program.js"))[1]);
// Written only now: the modules that are replaced were read until here.
for (const [fileName, code] of [...output.flatMap(filesOf), ...entrance]) {
  const path = join(dist, "cli", fileName);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, code);
}

/**
 * What is there when Node has started: `main.cjs`, with what it takes at once. What gives out the parts is one for all, so modules get it from
 * there, too.
 */
async function bundleEntrance() {
  const input = Object.fromEntries(["main", "compile-cache"].map((name) => [name, join(dist, "cli", `${name}.js`)]));
  const bundle = await rolldown({ input, platform: "node", external: [/^node:/, /\/(?:program|errors)\.js$/] });
  const { output } = await bundle.generate({
    format: "cjs",
    entryFileNames: "[name].cjs",
    chunkFileNames: "[name].cjs",
    minify,
  });
  const files = output.map(({ fileName, code }) => [fileName, code]);
  return [...files, ["compile-cache.js", `export{${Object.keys(compileCache).join()}}from"./compile-cache.cjs";`]];
}

function filesOf({ fileName, code }) {
  const part = PARTS.find((name) => fileName === `bundle/${name}.js`);
  return part === undefined ? [[fileName, takenDirectly(code)]] : partFiles(part, takenDirectly(code));
}

/**
 * A module in three files: as it is, as a function whose compiled form can be cached, and under its name a module that takes whichever can be used.
 * The function's text has no letters beyond ASCII, so that it is read as it stands and takes half the memory.
 */
function partFiles(name, code) {
  const importing = code.replaceAll(/\bimport\{([^}]*)\}from"(\.[^"]+)";/g, (_, names, place) => {
    const taken = pairs(names).map(([theirs, own]) => `${theirs}:${own}`);
    return `const{${taken.join()}}=${importedFrom(place)};`;
  });
  const { body, exported } = partsOf(importing);
  const returned = [...exported].map(([theirs, own]) => `${theirs}:${own}`);
  // By the names that main.js knows.
  const called = outside.map(([theirs, own]) => `${own}:${exported.get(theirs)}`);
  if (name === PARTS[0]) returned.push(`program:{${called.join()}}`);
  const own = body.replaceAll("import.meta.url", "$url").replaceAll(/\bimport\(/g, "$load(");
  const text = `(function($parts,$url,$load){"use strict";${own}return{${returned.join()}}})`;
  const names = [...exported.keys()];
  const either = [
    `import{part}from"../compile-cache.js";`,
    `const all=part("${name}")??await import("./${name}.plain.js");`,
    `const{${names.map((each) => `${each}:$_${each}`).join()}}=all;`,
    `export{${names.map((each) => `$_${each} as ${each}`).join()}};`,
  ];
  return [
    [`bundle/${name}.plain.js`, code],
    [`bundle/${name}.body.js`, inAscii(text)],
    [`bundle/${name}.js`, either.join("")],
  ];
}

/** What a part imports: one of those before it, or the few lines that the bundler adds of its own, which are as well had on the spot. */
function importedFrom(place) {
  const index = PARTS.findIndex((part) => place === `./${part}.js`);
  if (index !== -1) return `$parts[${index}]`;
  const { body, exported } = partsOf(written.get(`bundle/${place.slice(2)}`));
  return `(()=>{${body}return{${[...exported].map(([theirs, own]) => `${theirs}:${own}`).join()}}})()`;
}

/** A module without its exports; and these, with what each is called within it. */
function partsOf(code) {
  const [, body, names] = /^(.*)\bexport\{([^}]*)\};?\s*$/s.exec(code);
  return { body, exported: new Map(pairs(names).map(([own, theirs]) => [theirs, own])) };
}

function inAscii(text) {
  return text.replaceAll(/[^\0-\x7f]/g, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** The names in the braces of an import or export, with what each is called on the other side. */
function pairs(names) {
  return names.split(",").map((name) => {
    const [first, second = first] = name.split(/\sas\s/);
    return [first, second];
  });
}

/**
 * Node's own modules are taken without `import`: that reads every export there is, and some of them load half of Node. With it a
 * command begins 10 to 20 ms later.
 */
function takenDirectly(code) {
  return code.replaceAll(/\bimport\{([^}]*)\}from"(node:[^"]+)";/g, (statement, names, module) => {
    const taken = pairs(names);
    if (taken.some(([name]) => name === "default")) return statement;
    return `const{${taken.map(([name, own]) => (own === name ? name : `${name}:${own}`)).join()}}=process.getBuiltinModule("${module}");`;
  });
}

/** Modules that read a file beside them must still find it from where their code stands now. */
function keepPlace(code, id) {
  // What is exported is handed on as a value, once.
  if (/^export let\b/m.test(code)) throw new Error(`${id} exports a variable that may change`);
  if (!code.includes("import.meta.url")) return null;
  const place = JSON.stringify(relative(join(dist, "cli/bundle"), id));
  return code.replaceAll("import.meta.url", `new URL(${place}, import.meta.url).href`);
}

/** These modules and all that they import as they are loaded. */
function reachable(paths, seen = new Set()) {
  for (const path of paths) {
    if (seen.has(path) || !existsSync(path)) continue;
    seen.add(path);
    const imports = readFileSync(path, "utf8").matchAll(/^(?:import|export)\b[^"'()]*["'](\.[^"']+)["']/gm);
    reachable(
      [...imports].map(([, to]) => join(dirname(path), to)),
      seen,
    );
  }
  return seen;
}
