/**
 * Node's `http`, taken without `import`: that would read every export of it, one of which loads a whole WebSocket client, and a
 * command that asks the daemon something would begin 40 ms later than it does.
 */
export const { Agent, createServer, request, STATUS_CODES } = process.getBuiltinModule("node:http");
