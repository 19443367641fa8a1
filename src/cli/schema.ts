/** `rota schema`: the JSON Schema of a plan. */
import { planJsonSchema } from "../app/plan-file.ts";
import type { Run } from "./command.ts";

export const run: Run = async (_, { terminal }) => {
  terminal.out(`${JSON.stringify(planJsonSchema(), null, 2)}\n`);
  return 0;
};
