import { trySeeds } from "./seeds.ts";

trySeeds(1);
