/** Loaded when it is needed: loading takes four milliseconds, and commands that only look do not need it. */
export const nodeCrypto = (): typeof import("node:crypto") => process.getBuiltinModule("node:crypto");
