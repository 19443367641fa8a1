/** A real server over a scripted service, on a clock the test controls, and requests of any kind to it. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { type IncomingHttpHeaders, request as open } from "node:http";
import { createConnection, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemSecrets } from "../../src/effects/random.ts";
import { type ServeOptions, type Server, serve } from "../../src/http/server.ts";
import type { Service } from "../../src/wire/service.ts";
import { ManualClock } from "./clock.ts";
import { scriptedService } from "./service.ts";

export interface Sent {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string | undefined>> | undefined;
  readonly body?: string;
  /** Over TCP: the token to show, and none when undefined. */
  readonly token?: string | undefined;
  readonly over?: "socket" | "tcp";
}

export interface Received {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export class HttpRig implements AsyncDisposable {
  readonly folder = mkdtempSync(join(tmpdir(), "rota-http-"));
  readonly state = join(this.folder, "state");
  readonly clock = new ManualClock();
  readonly faults: unknown[] = [];
  server!: Server;

  /** With TCP beside the socket unless `listen` says otherwise. */
  async start<S extends Service>(service: S, options: Partial<ServeOptions> = {}): Promise<S> {
    const { clock, state } = this;
    const base = {
      service,
      state,
      clock,
      secrets: systemSecrets(),
      onFault: (error: unknown) => this.faults.push(error),
    };
    this.server = await serve({ ...base, listen: "127.0.0.1:0", ...options });
    return service;
  }

  get port(): number {
    return Number(new URL(this.server.url ?? "").port);
  }

  get ownerToken(): string {
    return readFileSync(join(this.state, "token"), "utf8").trim();
  }

  /** One request on a connection of its own, with nothing in it that was not asked for. */
  send({ method = "GET", path = "/v1/daemon", headers = {}, body, token, over = "socket" }: Sent): Promise<Received> {
    const target = over === "socket" ? { socketPath: this.server.socket } : { host: "127.0.0.1", port: this.port };
    const all = {
      host: over === "socket" ? "localhost" : `127.0.0.1:${this.port}`,
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(body !== undefined && {
        "content-type": "application/json",
        "content-length": String(Buffer.byteLength(body)),
      }),
      ...headers,
    };
    const given = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
    return new Promise((resolve, reject) => {
      const request = open({ ...target, method, path, agent: false, setHost: false, headers: given }, (answer) => {
        let text = "";
        answer.setEncoding("utf8").on("data", (part: string) => {
          text += part;
        });
        answer.once("end", () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: text }));
        answer.once("error", reject);
      });
      request.once("error", reject);
      request.end(body);
    });
  }

  /** A connection without any manners. */
  raw(over: "socket" | "tcp" = "socket"): Socket {
    return over === "socket" ? createConnection(this.server.socket) : createConnection(this.port, "127.0.0.1");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await (this.server as Server | undefined)?.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** A server with a scripted service, ready. */
export async function httpRig(
  answers: Parameters<typeof scriptedService>[0] = {},
  options: Partial<ServeOptions> = {},
): Promise<HttpRig & { readonly asked: ReturnType<typeof scriptedService>["asked"] }> {
  const rig = new HttpRig();
  const { asked } = await rig.start(scriptedService(answers), options);
  return Object.assign(rig, { asked });
}

/** Everything the peer sends, until it closes. */
export function heard(socket: Socket): Promise<string> {
  return new Promise((resolve) => {
    let text = "";
    socket.setEncoding("utf8").on("data", (part: string) => {
      text += part;
    });
    socket.on("error", () => undefined);
    socket.once("close", () => resolve(text));
  });
}
