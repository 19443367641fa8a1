/** The bare HTTP stack: a server of Node's on a Unix socket that reads every request to its end and answers with an empty object. */
import { createServer } from "node:http";

const body = "{}";
const headers = ["content-type", "application/json", "content-length", String(body.length)];
createServer((request, response) => {
  request.resume().once("end", () => response.writeHead(200, headers).end(body));
}).listen(process.argv[2], () => process.stdout.write(`${JSON.stringify({ socket: process.argv[2] })}\n`));
