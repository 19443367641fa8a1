/** `rota complete TASK`: reports that the work is done. */
import { given } from "../../frame/daemon.ts";
import { settlingWith } from "./report.ts";

export const run = settlingWith((client, proof, input) =>
  client.complete({ ...proof, ...given({ summary: input.text("summary") }) }),
);
