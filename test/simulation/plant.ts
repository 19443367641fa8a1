/** Loads the program with a planted bug in it: every module of it is asked for under the bug's name, and one is changed on the way. */
import { registerHooks } from "node:module";
import type { replayCommand, shrink } from "../../src/simulate/faults/shrink.ts";
import type { tryOut } from "../../src/simulate/faults/trial.ts";
import type { PlantedBug } from "./planted.ts";

const ROOT = new URL("../../src/", import.meta.url).href;

/** The parts of the simulator that are needed here. */
export interface Simulator {
  readonly tryOut: typeof tryOut;
  readonly shrink: typeof shrink;
  readonly replayCommand: typeof replayCommand;
}

export async function loadWith(name: string, { file, find, put }: PlantedBug): Promise<Simulator> {
  const mark = `?planted=${encodeURIComponent(name)}`;
  let isPlanted = false;
  const hooks = registerHooks({
    resolve(specifier, context, next) {
      const found = next(specifier, context);
      const isInside = context.parentURL?.endsWith(mark) === true && found.url.startsWith(ROOT);
      return isInside ? { ...found, url: `${found.url}${mark}` } : found;
    },
    load(url, context, next) {
      if (!url.endsWith(mark)) return next(url, context);
      const loaded = next(url.slice(0, -mark.length), context);
      if (url !== `${ROOT}${file}${mark}`) return loaded;
      isPlanted = true;
      return { ...loaded, source: changed(Buffer.from(loaded.source as Uint8Array).toString(), name, find, put) };
    },
  });
  const load = (part: string): Promise<Simulator> => import(`${ROOT}simulate/faults/${part}.ts${mark}`);
  const simulator = { ...(await load("trial")), ...(await load("shrink")) };
  hooks.deregister();
  if (!isPlanted) throw new Error(`"${name}": src/${file} is not part of the simulation`);
  return simulator;
}

function changed(text: string, name: string, find: string, put: string): string {
  const count = text.split(find).length - 1;
  if (count !== 1) throw new Error(`"${name}" fits ${count} places of its file: look for where it belongs now`);
  return text.replace(find, () => put);
}
