/** `rota token issue NAME`: a token for a caller over TCP. It is shown only once. */
import type { Run } from "../../frame/command.ts";
import { callDaemon, given } from "../../frame/daemon.ts";
import { say } from "../../frame/say.ts";

export const run: Run = async (input, context) => {
  await using called = await callDaemon(input, context);
  const issued = await called.client.issueToken({
    name: input.arguments[0] as string,
    scope: (input.text("scope") ?? "work") as "read" | "work" | "admin",
    ...given({ expiresMs: input.span("expires") }),
  });
  say<"token issue">(input, context, issued, () => [issued.token]);
  context.terminal.err(`Token ${issued.id} has the scope ${issued.scope}. It is not shown again.\n`);
  return 0;
};
