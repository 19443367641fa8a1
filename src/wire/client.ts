/** The typed client of a daemon: its methods are those of the `Service`, so code that is written for one takes the other. */
import { type Clock, systemClock } from "../effects/clock.ts";
import type { Fields } from "../std/schema-maps.ts";
import type { EventReply, IssuedToken, TokenReply, Wake } from "./answers.ts";
import { listen } from "./listen.ts";
import type {
  BEAT,
  CANCEL,
  CLAIM,
  COMPLETE,
  DRAIN,
  EDIT,
  EVENTS,
  FAIL,
  JOIN,
  LIST,
  OF_TASK,
  PAUSE,
  PROGRESS,
  RELEASE,
  RETRY,
  START,
  SUBMIT,
  TOKEN,
} from "./messages.ts";
import type { Asking, Params, Route } from "./route.ts";
import { ROUTES } from "./routes.ts";
import type { Caller, Service } from "./service.ts";
import { openTransport, type Where } from "./transport.ts";

/** A state directory, the path of a socket, or an address with a token. */
export type DaemonPlace = Where;

/** How a client presents itself. */
export interface ConnectOptions {
  /** The caller's name in the ledger. Over TCP it follows from the token instead. */
  readonly by?: string;
  readonly clock?: Clock;
  /** The marks of the attempts in which the caller runs: the daemon lets it do what an attempt may. */
  readonly inside?: readonly string[];
}

/** The caller, when the connection belongs to another one, and a signal to give up. */
export type Call = Partial<Caller>;
type Answer<Name extends keyof Service> = ReturnType<Service[Name]>;
type Asks<Name extends keyof Service, S> = (request: Asking<S>, call?: Call) => Answer<Name>;

/** Refusals are `UserError`s with the daemon's code and hint. Everything answered is durable. */
export interface Client extends AsyncDisposable {
  info(call?: Call): Answer<"info">;
  submit: Asks<"submit", typeof SUBMIT>;
  runs(request?: Asking<typeof LIST>, call?: Call): Answer<"runs">;
  /** The newest run when none is named. */
  status(run?: string, call?: Call): Answer<"status">;
  manifest(run?: string, call?: Call): Answer<"manifest">;
  why(run: string | undefined, task: string, call?: Call): Answer<"why">;
  await(run: string, waitMs: number, call?: Call): Answer<"await">;
  events: Asks<"events", typeof EVENTS>;
  /** Calls `tell` for every event after `after`, in order and without a gap, until the signal is aborted; a daemon that comes back is found again. */
  follow(request: Asking<typeof EVENTS>, tell: (event: EventReply) => void, signal: AbortSignal): Promise<void>;

  join: Asks<"join", typeof JOIN>;
  beat(session: string, request: Asking<typeof BEAT>, call?: Call): Answer<"beat">;
  leave(session: string, call?: Call): Answer<"leave">;
  sessions(call?: Call): Answer<"sessions">;
  workers(call?: Call): Answer<"workers">;
  wake(session: string, waitMs: number, call?: Call): Answer<"wake">;
  /** Calls `tell` for every wake until the signal is aborted. */
  wakes(session: string, tell: (wake: Wake) => void, signal: AbortSignal): Promise<void>;
  assignment(session: string, waitMs: number, call?: Call): Answer<"assignment">;

  claim: Asks<"claim", typeof CLAIM>;
  start: Asks<"start", typeof START>;
  heartbeat: Asks<"heartbeat", typeof START>;
  progress: Asks<"progress", typeof PROGRESS>;
  complete: Asks<"complete", typeof COMPLETE>;
  fail: Asks<"fail", typeof FAIL>;
  release: Asks<"release", typeof RELEASE>;

  pause: Asks<"pause", typeof PAUSE>;
  resume: Asks<"resume", typeof PAUSE>;
  drain: Asks<"drain", typeof DRAIN>;
  cancel: Asks<"cancel", typeof CANCEL>;
  retry: Asks<"retry", typeof RETRY>;
  requeue: Asks<"requeue", typeof OF_TASK>;
  approve: Asks<"approve", typeof OF_TASK>;
  edit: Asks<"edit", typeof EDIT>;

  cycle(call?: Call): Answer<"cycle">;
  stats(call?: Call): Promise<Awaited<Answer<"stats">>>;

  issueToken(request: Asking<typeof TOKEN>, call?: Call): Promise<IssuedToken>;
  tokens(call?: Call): Promise<readonly TokenReply[]>;
  revokeToken(id: string, call?: Call): Promise<void>;
  /** Closes the connections, and with them the calls in progress. */
  close(): void;
}

/** How long a daemon may take to answer a call that does not wait for anything. */
const ANSWER_TIMEOUT = 60_000;
const NEWEST = "last";

/** Nothing is sent before the first call: that call reports when there is no daemon. */
export function connect(place: DaemonPlace, options: ConnectOptions = {}): Client {
  const transport = openTransport(place, options.by, options.inside);
  const { clock = systemClock() } = options;

  /** Calls a route. Its request becomes the query of a GET, and the body of a POST. */
  function ask<Path extends string, F extends Fields, A>(
    route: Route<Path, F, A>,
    params: Params<Path>,
    request: Readonly<Record<string, unknown>>,
    call: Call | undefined,
    repeatable = route.method !== "POST",
  ): Promise<A> {
    const { waitMs } = request;
    const answer = transport.ask({
      method: route.method,
      path: pathOf(route, params, request),
      repeatable,
      answerTimeout: ANSWER_TIMEOUT + (route.waits && typeof waitMs === "number" ? waitMs : 0),
      signal: call?.signal,
      ...(route.method === "POST" && { body: JSON.stringify(request) }),
      by: call?.by,
    });
    return answer as Promise<A>;
  }

  /** A call whose request is its only argument. Reports on a lease may be repeated: the fence shows that they are the same. */
  const asks =
    <F extends Fields, A>(route: Route<string, F, A>, repeatable = false) =>
    (request: Readonly<Record<string, unknown>>, call?: Call): Promise<A> =>
      ask(route, {}, request, call, repeatable || "key" in request || route.method !== "POST");
  const looks =
    <F extends Fields, A>(route: Route<string, F, A>) =>
    (call?: Call): Promise<A> =>
      ask(route, {}, {}, call);

  const client: Client = {
    info: looks(ROUTES.info),
    submit: asks(ROUTES.submit),
    runs: (request = {}, call?) => ask(ROUTES.runs, {}, request, call),
    status: (run = NEWEST, call?) => ask(ROUTES.status, { run }, {}, call),
    manifest: (run = NEWEST, call?) => ask(ROUTES.manifest, { run }, {}, call),
    why: (run = NEWEST, task, call?) => ask(ROUTES.why, { run, task }, {}, call),
    await: (run, waitMs, call) => ask(ROUTES.outcome, { run }, { waitMs }, call),
    events: asks(ROUTES.events),
    follow: (request, tell, signal) =>
      listen({
        ...{ transport, clock, signal },
        pathAfter: (after) => pathOf(ROUTES.events, {}, { ...request, follow: true, after }),
        after: request.after ?? 0,
        take: (data) => tell(data as EventReply),
      }),
    join: asks(ROUTES.join, true),
    beat: (session, request, call) => ask(ROUTES.beat, { session }, request, call, true),
    leave: (session, call) => ask(ROUTES.leave, { session }, {}, call),
    sessions: looks(ROUTES.sessions),
    workers: looks(ROUTES.workers),
    wake: (session, waitMs, call) => ask(ROUTES.wake, { session }, { waitMs }, call, true),
    wakes: (session, tell, signal) =>
      listen({
        ...{ transport, clock, signal, after: 0 },
        pathAfter: () => pathOf(ROUTES.wakes, { session }, {}),
        take: (data) => tell(data as Wake),
      }),
    assignment: (session, waitMs, call) => ask(ROUTES.assignment, { session }, { waitMs }, call, true),
    claim: asks(ROUTES.claim),
    start: asks(ROUTES.start, true),
    heartbeat: asks(ROUTES.heartbeat, true),
    progress: asks(ROUTES.progress, true),
    complete: asks(ROUTES.complete, true),
    fail: asks(ROUTES.fail, true),
    release: asks(ROUTES.release, true),
    pause: asks(ROUTES.pause, true),
    resume: asks(ROUTES.resume, true),
    drain: asks(ROUTES.drain, true),
    cancel: asks(ROUTES.cancel),
    retry: asks(ROUTES.retry),
    requeue: asks(ROUTES.requeue),
    approve: asks(ROUTES.approve),
    edit: asks(ROUTES.edit),
    cycle: looks(ROUTES.cycle),
    stats: looks(ROUTES.stats),
    issueToken: asks(ROUTES.issueToken),
    tokens: looks(ROUTES.tokens),
    revokeToken: (token, call) => ask(ROUTES.revokeToken, { token }, {}, call),
    close: () => transport.close(),
    [Symbol.asyncDispose]: async () => transport.close(),
  };
  return client;
}

/** The path with its names filled in, and for a GET with the request as the query. */
function pathOf<Path extends string>(
  { method, path }: Pick<Route, "method"> & { readonly path: Path },
  params: Params<Path>,
  request: Readonly<Record<string, unknown>>,
): string {
  const filled = path.includes("{")
    ? path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent((params as Record<string, string>)[name] ?? ""))
    : path;
  if (method !== "GET") return filled;
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(request)) {
    if (value !== undefined) query.set(key, typeof value === "string" ? value : JSON.stringify(value));
  }
  return query.size === 0 ? filled : `${filled}?${query.toString()}`;
}
