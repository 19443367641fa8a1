/** `rota resume`: ends a pause. */
import { UserError } from "../../../domain/errors.ts";
import type { Run } from "../../frame/command.ts";
import { say, sentence } from "../../frame/say.ts";
import { askOrWrite } from "./hold.ts";
import { scopeOf, scopeWords } from "./scope.ts";

export const run: Run = async (input, context) => {
  const request = scopeOf(input);
  const { answer, scheduler } = await askOrWrite(
    request,
    input,
    context,
    async (client) => (await client.resume(request)).resumed,
    async (asked, where) => (await import("../../../app/requests/hold.ts")).letGoHere(request, asked, where),
  );
  const what = scopeWords(request);
  if (!answer) throw new UserError("NOT_PAUSED", `There is no pause of ${what}`);
  say<"resume">(input, context, { resumed: true, scheduler }, () => sentence(`Resumed ${what}.`));
  return 0;
};
