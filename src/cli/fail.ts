/** `rota fail TASK`: says that it failed, and how. Whether it is tried again is the scheduler's to decide. */
import type { FailureKind } from "../domain/outcome.ts";
import { given } from "./daemon.ts";
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
