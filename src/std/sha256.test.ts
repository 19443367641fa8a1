import { createHmac, randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { hmacSha256 } from "./sha256.ts";

test("an HMAC is what others make of the same key and message, however long they are, and as often as it is asked", () => {
  for (const keyLength of [0, 1, 43, 63, 64, 65, 200]) {
    const key = randomBytes(keyLength);
    const hmac = hmacSha256(key);
    for (const length of [0, 1, 40, 54, 55, 56, 63, 64, 65, 119, 120, 500]) {
      const message = randomBytes(length);
      const expected = createHmac("sha256", key).update(message).digest("hex");
      expect(Buffer.from(hmac(message)).toString("hex"), `${keyLength} and ${length}`).toBe(expected);
    }
  }
});
