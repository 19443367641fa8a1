/** `rota progress TASK NOTE`: reports what is being done, and renews the lease. */
import { renewingWith } from "./report.ts";

export const run = renewingWith((client, proof, input) =>
  client.progress({ ...proof, note: input.arguments.slice(1).join(" ") }),
);
