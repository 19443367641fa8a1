/** A key that was never used: a call with it may be repeated without harm. */
import { systemSecrets } from "../../effects/random.ts";

export const freshKey = (): string => systemSecrets().token();
