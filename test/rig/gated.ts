/** A scheduler whose commits wait until the test lets them through. */
import { openMemoryStore } from "../../src/store/memory/store.ts";
import { openRig, type Rig, type RigOptions } from "./rig.ts";
import { type GatedStore, gatedStore } from "./stores.ts";

export type GatedRig = Rig & { readonly store: GatedStore };

export async function gatedRig(options: RigOptions = {}): Promise<GatedRig> {
  return (await openRig({ store: gatedStore(openMemoryStore()), ...options })) as GatedRig;
}
