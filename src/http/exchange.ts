/** One request and its answer: authenticated, routed, read, called, answered. Written for the hot path: it awaits only what it has to. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { insideRefused } from "../app/agents/attempts-around.ts";
import type { UserErrorCode } from "../domain/errors.ts";
import { UserError } from "../domain/errors.ts";
import type { Clock } from "../effects/clock.ts";
import type { Backend, Route } from "../wire/route.ts";
import { allows } from "../wire/scope.ts";
import type { Caller } from "../wire/service.ts";
import { sendJson, sendRefusal } from "./answer.ts";
import type { Authenticator } from "./authentication.ts";
import { checkBody, queryOf, readRequest, takeBody } from "./input.ts";
import { BODY_BYTES, type Limits, SUBMIT_BYTES } from "./limits.ts";
import type { Mount } from "./mount.ts";
import { isOurFault } from "./refusal.ts";
import type { Match, Router } from "./router.ts";
import { followEvents, followWakes } from "./stream.ts";
import type { Admission } from "./tokens.ts";
import type { Waits } from "./waits.ts";

export interface ServerContext {
  readonly backend: Backend;
  readonly router: Router;
  readonly waits: Waits;
  /** The open line connections: they end in good order, or at once. */
  readonly lineConnections: Set<{ end(): void; destroy(): void }>;
  readonly clock: Clock;
  readonly limits: Limits;
  readonly onFault: (error: unknown) => void;
}

/** Fields that some requests have in common. */
export interface Input extends Readonly<Record<string, unknown>> {
  readonly waitMs?: number;
  readonly follow?: boolean;
}

/** `expects`: the peer sends the body only after it was told to. */
export function handle(
  context: ServerContext,
  authenticator: Authenticator,
  request: IncomingMessage,
  response: ServerResponse,
  expects = false,
): void {
  const { method = "", url = "" } = request;
  try {
    const admission = authenticator.authenticate(request);
    const { found, query } = lookUp(context, admission, method, url);
    const max = "route" in found && found.route.large ? SUBMIT_BYTES : BODY_BYTES;
    checkBody(request, max);
    const proceed = (body: unknown): void => {
      if ("route" in found) answer(context, found, admission, body, request, response);
      else mounted(context, found, admission, body, request, response);
    };
    if (method !== "POST") return proceed("route" in found ? queryOf(query, found.route.request) : undefined);
    if (expects) response.writeContinue();
    takeBody(request, max, proceed, (error) => refuse(context, request, response, error));
  } catch (error) {
    refuse(context, request, response, error, pathOf(url));
  }
}

function pathOf(url: string): string {
  const end = url.indexOf("?");
  return end === -1 ? url : url.slice(0, end);
}

/** Reports on a lease, which prove themselves with its token. */
const REPORTS = "/v1/leases/";

/** The route of the request, if it exists and the caller may use it. */
export function lookUp(
  { router }: ServerContext,
  admission: Admission,
  method: string,
  url: string,
): { readonly found: Match | Mount; readonly query: string } {
  const path = pathOf(url);
  const found = router.find(method, path);
  const isRoute = "route" in found;
  const scope = isRoute ? found.route.scope : found.scope;
  if (!allows(admission.scope, scope)) throw new UserError("FORBIDDEN", `The token lacks the scope "${scope}"`);
  if (admission.attempt !== undefined && scope !== "read" && !path.startsWith(REPORTS))
    throw insideRefused(admission.attempt);
  const query = url.slice(path.length + 1);
  if (method === "POST" && query !== "" && isRoute)
    throw new UserError("REQUEST_INVALID", "What a POST takes stands in its body");
  return { found, query };
}

function answer(
  context: ServerContext,
  { route, params }: Match,
  admission: Admission,
  body: unknown,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const fail = (error: unknown): void => refuse(context, request, response, error);
  try {
    const input = readRequest(route.request, body) as Input;
    if (isStream(route, request, input)) return stream(context, { route, params }, admission, input, request, response);
    const waiting = route.waits && (input.waitMs ?? 0) > 0;
    const caller: Caller = waiting ? { ...admission, signal: context.waits.begin(response) } : admission;
    const send = (value: unknown): void => {
      try {
        sendJson(response, value, context.waits.closing);
      } catch (error) {
        fail(error);
      }
    };
    route.call(context.backend, params, input, caller).then(send, (error) => fail(stopping(error, context, caller)));
  } catch (error) {
    fail(error);
  }
}

/** A caller whose wait ended because the server closes may ask again; it is not told the inner reason. */
export const stopping = (error: unknown, { waits }: ServerContext, { signal }: Caller): unknown =>
  waits.closing && signal?.aborted === true && !(error instanceof UserError)
    ? new UserError("DAEMON_STOPPING", "The daemon is stopping")
    : error;

function isStream({ stream }: Route, { headers }: IncomingMessage, { follow }: Input): boolean {
  if (stream === undefined) return false;
  return stream === "wakes" || follow === true || headers.accept?.includes("text/event-stream") === true;
}

function stream(
  context: ServerContext,
  { route, params }: Match,
  admission: Admission,
  input: unknown,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const caller = { ...admission, signal: context.waits.begin(response) };
  const { service } = context.backend;
  const following =
    route.stream === "wakes"
      ? followWakes(response, service, params["session"] ?? "", caller, context)
      : followEvents(response, service, resumed(input as EventsInput, request), caller, context);
  following.catch((error) => refuse(context, request, response, stopping(error, context, caller)));
}

type EventsInput = Parameters<typeof followEvents>[2];

/** A listener that comes back names the last event it has received. */
function resumed(input: EventsInput, { headers }: IncomingMessage): EventsInput {
  const last = headers["last-event-id"];
  if (last === undefined || last === "") return input;
  const after = typeof last === "string" && /^\d{1,15}$/.test(last) ? Number(last) : undefined;
  if (after === undefined) throw new UserError("REQUEST_INVALID", "Last-Event-ID must be the position of an event");
  return { ...input, after };
}

function mounted(
  context: ServerContext,
  mount: Mount,
  admission: Admission,
  body: unknown,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const caller = { ...admission, signal: context.waits.begin(response) };
  const exchange = {
    request,
    response,
    body,
    caller,
    allows: (scope: Route["scope"]) => allows(admission.attempt === undefined ? admission.scope : "read", scope),
  };
  Promise.resolve()
    .then(() => mount.handle(exchange))
    .catch((error) => refuse(context, request, response, error));
}

const WITH_ALLOW: UserErrorCode = "METHOD_REFUSED";

function refuse(
  context: ServerContext,
  request: IncomingMessage,
  response: ServerResponse,
  error: unknown,
  path = "",
): void {
  if (isOurFault(error)) context.onFault(error);
  if (context.waits.closing) response.shouldKeepAlive = false;
  const refused = error instanceof UserError && error.code === WITH_ALLOW;
  const allow = refused ? ["allow", context.router.allowed(path).join(", ")] : [];
  sendRefusal(request, response, error, context.clock, allow);
}
