/** `rota pause`: nothing new is started in this scope until `rota resume`; running tasks go on. */
import { pausedWhat } from "../../../views/status/workers.ts";
import type { Run } from "../../frame/command.ts";
import { say, sentence } from "../../frame/say.ts";
import { askOrWrite } from "./hold.ts";
import { scopeOf } from "./scope.ts";

export const run: Run = async (input, context) => {
  const request = scopeOf(input);
  const { answer, scheduler } = await askOrWrite(
    request,
    input,
    context,
    (client) => client.pause(request),
    async (asked, where) => (await import("../../../app/requests/hold.ts")).holdHere(request, asked, where),
  );
  const later = scheduler ? "" : " No scheduler is running: the next one goes by it.";
  say<"pause">(input, context, { ...answer, scheduler }, () =>
    sentence(`On hold: ${pausedWhat(answer)}. What runs goes on.${later}`),
  );
  return 0;
};
