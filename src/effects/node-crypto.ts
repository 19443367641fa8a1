/** Loaded when it is needed: it takes four milliseconds, and to look at something no command needs it. */
export const nodeCrypto = (): typeof import("node:crypto") => process.getBuiltinModule("node:crypto");
