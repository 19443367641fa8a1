/**
 * The daemon's HTTP API: every route of `src/wire/routes.ts` over a Unix socket in the state directory and, on request, over
 * loopback TCP with a token.
 */
import { rmSync } from "node:fs";
import type { Server as HttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { UserError } from "../domain/errors.ts";
import type { Clock } from "../effects/clock.ts";
import type { Secrets } from "../effects/random.ts";
import { noteOf, socketNote, socketPath } from "../wire/place.ts";
import type { Service } from "../wire/service.ts";
import { type Address, hostsOf, parseAddress, urlOf } from "./address.ts";
import { socketAuthenticator, tcpAuthenticator } from "./authentication.ts";
import type { ServerContext } from "./exchange.ts";
import { LIMITS, type Limits } from "./limits.ts";
import { closeListener, listener } from "./listener.ts";
import { Lockout } from "./lockout.ts";
import type { Mount } from "./mount.ts";
import { writePrivately } from "./private-file.ts";
import { Router } from "./router.ts";
import { type BoundSocket, bindSocket, makePrivate } from "./socket.ts";
import { openTokens, type TokenKeeper } from "./tokens.ts";
import { Waits } from "./waits.ts";

export interface ServeOptions {
  readonly service: Service;
  /** The state directory: the socket, the token and the list of issued tokens are in it. It is made private (0700). */
  readonly state: string;
  readonly clock: Clock;
  readonly secrets: Secrets;
  /** The path of the socket, when it is not in the state directory. */
  readonly socket?: string;
  /** `HOST:PORT` of this machine alone; port 0 takes a free one. Without it there is no TCP at all. */
  readonly listen?: string;
  /** Pages that may call, as `http://host:port`. None by default. */
  readonly origins?: readonly string[];
  /** Other handlers behind the same checks, such as MCP. */
  readonly mounts?: readonly Mount[];
  readonly limits?: Partial<Limits>;
  /** Told of errors that are the daemon's own fault; the caller hears only that there was one. */
  readonly onFault?: (error: unknown) => void;
}

export interface Server extends AsyncDisposable {
  /** The path of the socket. */
  readonly socket: string;
  /** `http://127.0.0.1:7777`, when listening on TCP. */
  readonly url?: string;
  /** The file that holds the token for TCP. */
  readonly tokenFile?: string;
  /** Ends calls that wait with an empty answer, lets the others finish, and removes the socket. Closing twice is harmless. */
  close(): Promise<void>;
}

/** Starts to answer. When an address cannot be listened on it throws a `UserError`, and nothing listens. */
export async function serve(options: ServeOptions): Promise<Server> {
  const { service, state, clock, secrets, onFault = () => undefined } = options;
  const address = options.listen === undefined ? undefined : parseAddress(options.listen);
  makePrivate(state);
  const tokens = openTokens({ state, clock, secrets });
  const limits: Limits = { ...LIMITS, ...options.limits };
  const origins = new Set(options.origins);
  const router = new Router(options.mounts);
  const context: ServerContext = {
    backend: { service, tokens },
    router,
    waits: new Waits(),
    lineConnections: new Set(),
    clock,
    limits,
    onFault,
  };

  const local = listener(context, socketAuthenticator(origins, state), limits.socketConnections);
  const bound = await bindSocket(local, options.socket ?? socketPath(state));
  const listeners = [local];
  let closed: Promise<void> | undefined;
  const close = (): Promise<void> => {
    closed ??= closeAll(listeners, bound, context, state);
    return closed;
  };
  const here = { socket: bound.path, close, [Symbol.asyncDispose]: close };
  try {
    noteSocket(state, options.socket);
    if (address === undefined) return here;
    const { server, url, tokenFile } = await listenOnTcp(context, tokens, origins, address);
    listeners.push(server);
    return { ...here, url, tokenFile };
  } catch (error) {
    await close();
    throw error;
  }
}

async function closeAll(
  listeners: readonly HttpServer[],
  bound: BoundSocket,
  context: ServerContext,
  state: string,
): Promise<void> {
  bound.remove();
  noteSocket(state, undefined);
  context.waits.endAll();
  for (const lineConnection of context.lineConnections) lineConnection.end();
  await Promise.all(listeners.map((server) => closeListener(server, context)));
}

/** Notes in the state directory where the socket is, when it is elsewhere: a caller that knows only the directory still finds it. */
function noteSocket(state: string, socket: string | undefined): void {
  if (socket === undefined) rmSync(socketNote(state), { force: true });
  else writePrivately(socketNote(state), `${JSON.stringify(noteOf(socket))}\n`);
}

interface TcpListener {
  readonly server: HttpServer;
  readonly url: string;
  readonly tokenFile: string;
}

async function listenOnTcp(
  context: ServerContext,
  tokens: TokenKeeper,
  origins: ReadonlySet<string>,
  asked: Address,
): Promise<TcpListener> {
  const tokenFile = tokens.ownerFile();
  // The allowed names depend on the port, and no request is answered before that is known.
  const hosts = new Set<string>();
  const authenticator = tcpAuthenticator({ origins, hosts, tokens, lockout: new Lockout(), clock: context.clock });
  const server = listener(context, authenticator, context.limits.tcpConnections);
  await new Promise<void>((resolve, reject) => {
    const fail = (cause: Error): void => {
      reject(new UserError("LISTEN_REFUSED", `${urlOf(asked)} cannot be listened on: ${cause.message}`, { cause }));
    };
    server.once("error", fail);
    server.listen(asked.port, asked.host, () => {
      server.off("error", fail);
      resolve();
    });
  });
  const address = { host: asked.host, port: (server.address() as AddressInfo).port };
  for (const host of hostsOf(address)) hosts.add(host);
  return { server, url: urlOf(address), tokenFile };
}
