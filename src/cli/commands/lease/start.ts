/** `rota start TASK`: reports that the work has begun. */
import { renewingWith } from "./report.ts";

export const run = renewingWith((client, proof) => client.start(proof));
