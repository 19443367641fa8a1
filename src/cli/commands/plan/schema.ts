/** `rota schema`: the JSON Schema of a plan, of the configuration or of what commands print, or the API as an OpenAPI document. */
import type { Run } from "../../frame/command.ts";

export const run: Run = async (input, { terminal }) => {
  const schema = await SCHEMAS[(input.arguments[0] ?? "plan") as keyof typeof SCHEMAS]();
  terminal.out(`${JSON.stringify(schema, null, 2)}\n`);
  return 0;
};

const SCHEMAS = {
  plan: async () => (await import("../../../app/runs/plan-file.ts")).planJsonSchema(),
  config: async () => (await import("../../../app/config/settings.ts")).configJsonSchema(),
  openapi: async () => {
    const [{ openApi }, { ROUTES }] = await Promise.all([
      import("../../../wire/openapi.ts"),
      import("../../../wire/routes.ts"),
    ]);
    return openApi(ROUTES);
  },
  output: async () => (await import("../../../wire/shape-names.ts")).outputSchema(),
} as const;
