/** Which callers are let in. Everything here is checked before a byte of the body is read, for every method. */
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { attemptOfState } from "../app/agents/attempts-around.ts";
import { UserError } from "../domain/errors.ts";
import type { Clock } from "../effects/clock.ts";
import { INSIDE } from "../wire/transport.ts";
import type { Lockout } from "./lockout.ts";
import { type Admission, ownerAdmission, type TokenKeeper } from "./tokens.ts";

export interface Authenticator {
  /** Throws a refusal. */
  authenticate(request: Pick<IncomingMessage, "headers" | "socket">): Admission;
}

/** A caller over the socket that does not give a name. */
const NAMELESS = ownerAdmission();
const NAME_MAX = 128;

/** A caller that can open the socket is the owner of the state directory and may do everything; it may also give a name. */
export function socketAuthenticator(origins: ReadonlySet<string>, state: string): Authenticator {
  return {
    authenticate({ headers }) {
      refusePages(headers, origins);
      // A page reaches a socket only through a proxy, under a public name, and those contain a dot.
      if (headers.host?.includes(".") === true) throw refuseHost(headers.host);
      const by = headers["rota-by"];
      const owner = typeof by === "string" ? ownerAdmission(nameOf(by)) : NAMELESS;
      const inside = headers[INSIDE];
      if (typeof inside !== "string") return owner;
      const attempt = attemptOfState(state, marksOf(inside));
      return attempt === undefined ? owner : { ...owner, attempt };
    },
  };
}

function marksOf(written: string): readonly string[] {
  try {
    return decodeURIComponent(written).split(",");
  } catch {
    throw new UserError("REQUEST_INVALID", `The header \`${INSIDE}\` cannot be read`);
  }
}

interface TcpAuthentication {
  readonly origins: ReadonlySet<string>;
  readonly hosts: ReadonlySet<string>;
  readonly tokens: TokenKeeper;
  readonly lockout: Lockout;
  readonly clock: Clock;
}

/** A connection from this machine proves nothing: only a token does, and the caller's name follows from it alone. */
export function tcpAuthenticator({ origins, hosts, tokens, lockout, clock }: TcpAuthentication): Authenticator {
  /** Connections that have shown a right token go on during a lockout. */
  const trusted = new WeakSet<object>();
  return {
    authenticate({ headers, socket }) {
      if (headers.host === undefined || !hosts.has(headers.host)) throw refuseHost(headers.host);
      refusePages(headers, origins);
      const now = clock.now();
      if (!trusted.has(socket)) lockout.check(now);
      const token = bearer(headers.authorization);
      if (token === undefined) throw new UserError("UNAUTHORIZED", "A token is needed");
      const found = tokens.find(token, now);
      if (found === "wrong") lockout.fail(now);
      if (typeof found === "string") throw new UserError("UNAUTHORIZED", `The token is ${found}`);
      trusted.add(socket);
      return found;
    },
  };
}

/** A browser says which page a request comes from. A request that names a page must name one on the list. */
function refusePages(headers: IncomingHttpHeaders, origins: ReadonlySet<string>): void {
  const { origin } = headers;
  if (origin !== undefined && !origins.has(origin)) {
    throw new UserError("ORIGIN_REFUSED", "Web pages of other origins may not call the daemon");
  }
  const site = headers["sec-fetch-site"];
  if (site !== undefined && site !== "same-origin" && site !== "none") {
    throw new UserError("ORIGIN_REFUSED", "Web pages of other sites may not call the daemon");
  }
}

const refuseHost = (host: string | undefined): UserError =>
  new UserError("ORIGIN_REFUSED", host === undefined ? "The request names no host" : "This is not the host it names");

const SCHEME = "bearer ";

function bearer(header: string | undefined): string | undefined {
  if (header === undefined || header.slice(0, SCHEME.length).toLowerCase() !== SCHEME) return undefined;
  return header.slice(SCHEME.length);
}

function nameOf(written: string): string {
  try {
    const name = decodeURIComponent(written);
    if (name !== "" && name.length <= NAME_MAX && !/\p{Cc}/u.test(name)) return name;
  } catch {
    // The error is thrown below.
  }
  throw new UserError(
    "REQUEST_INVALID",
    `The header \`rota-by\` must be a name of 1 to ${NAME_MAX} characters, none of them a control character`,
  );
}
