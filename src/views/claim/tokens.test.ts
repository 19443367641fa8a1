import { expect, test } from "vitest";
import { instant } from "../../domain/time.ts";
import { tokensText } from "./tokens.ts";

test("tokens are listed with what they may do and how long they are good for", () => {
  const now = instant(Date.parse("2026-03-14T12:00:00Z"));
  const token = { scope: "work", created_at: "2026-03-14T11:00:00Z" } as const;
  const tokens = [
    { id: "a1", name: "laptop", ...token },
    { id: "b2", name: "build server", ...token, scope: "read" as const, expires_at: "2026-03-16T12:00:00Z" },
    { id: "c3", name: "old", ...token, expires_at: "2026-03-14T11:30:00Z" },
    { id: "d4", name: "lost", ...token, scope: "admin" as const, revoked_at: "2026-03-14T11:30:00Z" },
  ];
  const lines = tokensText(tokens, { columns: 80, now }, { color: false, unicode: true, timeZone: "UTC" });
  expect(`\n${lines.join("\n")}\n`).toMatchInlineSnapshot(`
    "
    a1  laptop        work   issued 1h ago  does not expire
    b2  build server  read   issued 1h ago  expires in 2d
    c3  old           work   issued 1h ago  expired
    d4  lost          admin  issued 1h ago  revoked
    "
  `);
});
