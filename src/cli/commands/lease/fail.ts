/** `rota fail TASK`: reports that the work failed, and how. The scheduler decides whether it is tried again. */
import type { FailureKind } from "../../../domain/outcome.ts";
import { given } from "../../frame/daemon.ts";
import { settlingWith } from "./report.ts";

export const run = settlingWith((client, proof, input) =>
  client.fail({
    ...proof,
    ...given({
      kind: input.text("kind") as FailureKind | undefined,
      code: input.count("code"),
      message: input.text("message"),
      resetMs: input.span("reset"),
    }),
  }),
);
