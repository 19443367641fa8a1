/**
 * Node's `http`, taken without `import`: that would read every export of it, one of which loads a whole WebSocket client, and a
 * command that calls the daemon would start 40 ms later.
 */
export const { Agent, createServer, request, STATUS_CODES } = process.getBuiltinModule("node:http");
