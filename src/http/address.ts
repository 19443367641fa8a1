/** Where a daemon may listen on TCP: on this machine alone. */
import { isIPv4 } from "node:net";
import { UserError } from "../domain/errors.ts";

export interface Address {
  readonly host: string;
  readonly port: number;
}

const PORT_MAX = 65_535;

/** Reads `HOST:PORT`. Every address but this machine's own is refused: a caller that submits a plan runs commands here. */
export function parseAddress(text: string): Address {
  const at = text.lastIndexOf(":");
  const port = text.slice(at + 1);
  if (at < 1 || !/^\d{1,5}$/.test(port) || Number(port) > PORT_MAX) {
    throw new UserError("LISTEN_REFUSED", `"${text}" is not an address: write HOST:PORT`);
  }
  const host = loopback(text.slice(0, at));
  if (host === undefined) {
    throw new UserError("LISTEN_REFUSED", `${text.slice(0, at)} can be reached from other machines, and is refused`, {
      hint: "Listen on 127.0.0.1, and reach it from elsewhere through `ssh -L`.",
    });
  }
  return { host, port: Number(port) };
}

/** The name is not looked up: a name server could give any address. */
function loopback(host: string): string | undefined {
  if (host === "localhost") return "127.0.0.1";
  if (host === "[::1]") return "::1";
  return isIPv4(host) && host.startsWith("127.") ? host : undefined;
}

const shown = (host: string): string => (host.includes(":") ? `[${host}]` : host);

export const urlOf = ({ host, port }: Address): string => `http://${shown(host)}:${port}`;

/** The names that a request may have in its `host` header. A name that was pointed at this machine from outside is not among them. */
export function hostsOf({ host, port }: Address): ReadonlySet<string> {
  const names = [shown(host), "localhost"];
  return new Set([...names.map((name) => `${name}:${port}`), ...(port === 80 ? names : [])]);
}
