/** What clients send that the protocol does not know, made what they mean by it. */
import { isMap } from "../std/schema.ts";

/** A call with `arguments: null` is one without arguments, which the library would refuse. */
export function withArguments(message: unknown): unknown {
  if (!isMap(message) || !isMap(message["params"]) || message["params"]["arguments"] !== null) return message;
  const { arguments: _, ...params } = message["params"];
  return { ...message, params };
}
