/** A key that nobody has used: what is asked under it may be asked again without harm. */
import { systemSecrets } from "../effects/random.ts";

export const freshKey = (): string => systemSecrets().token();
