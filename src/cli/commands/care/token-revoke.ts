/** `rota token revoke ID`: from now on the token is refused. */
import type { Run } from "../../frame/command.ts";
import { callDaemon } from "../../frame/daemon.ts";
import { say, sentence } from "../../frame/say.ts";

export const run: Run = async (input, context) => {
  const id = input.arguments[0] as string;
  await using called = await callDaemon(input, context);
  await called.client.revokeToken(id);
  say<"token revoke">(input, context, { id, revoked: true }, () => sentence(`Token ${id} is revoked.`));
  return 0;
};
