import { storeConformance } from "../conformance.ts";
import { openMemoryStore } from "./store.ts";

storeConformance("memory store", openMemoryStore);
