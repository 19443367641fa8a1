/** `rota release TASK`: hands the task back undone, at no cost. */
import { given } from "../../frame/daemon.ts";
import { settlingWith } from "./report.ts";

export const run = settlingWith((client, proof, input) =>
  client.release({ ...proof, ...given({ why: input.text("why") }) }),
);
