/** `rota token list`: the tokens that were issued, without their secrets. */
import { currentTime } from "../../../app/look/now.ts";
import { tokensText } from "../../../views/claim/tokens.ts";
import type { Run } from "../../frame/command.ts";
import { callDaemon } from "../../frame/daemon.ts";
import { say } from "../../frame/say.ts";
import { themeOf } from "../../frame/theme.ts";

export const run: Run = async (input, context) => {
  await using called = await callDaemon(input, context);
  const tokens = await called.client.tokens();
  const { columns } = context.terminal;
  say<"token list">(input, context, { tokens }, () =>
    tokensText(tokens, { columns, now: currentTime() }, themeOf(context)),
  );
  return 0;
};
