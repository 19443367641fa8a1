/** Runs as documents: made from the store, written to a file, and read again. */
import { constants } from "node:fs";
import { access, open, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { UserError } from "../../domain/errors.ts";
import { type Event, isSystemEvent, NO_RUN, type SystemEvent } from "../../domain/event.ts";
import { runId, taskId } from "../../domain/ids.ts";
import { type Run, type RunManifest, type RunNo, runNo } from "../../domain/run.ts";
import { isLocalWorker } from "../../domain/spec.ts";
import { type Instant, instant } from "../../domain/time.ts";
import { type Plan, parsePlan } from "../../plan/plan.ts";
import { writePlan } from "../../plan/write.ts";
import { Problems } from "../../std/problems.ts";
import type { Store } from "../../store/store.ts";
import { manifestJson, manifestLines } from "../../views/report/manifest.ts";
import { MANIFEST, MANIFEST_FORMAT, type ManifestReply } from "../../wire/replies/manifest.ts";
import { loadRun } from "../look/reader.ts";

type Reading = Pick<Store, "runs" | "load" | "events">;

interface Written {
  /** Of this program. */
  readonly version: string;
  readonly now: Instant;
  /** A document of more events is refused. */
  readonly eventsMax?: number;
}

/** The run as it is recorded. Events that are written meanwhile would not fit the tasks, so both are then read again. */
export async function manifestFrom(
  store: Reading,
  row: Pick<Run, "no" | "manifest">,
  { version, now, eventsMax = Number.POSITIVE_INFINITY }: Written,
): Promise<ManifestReply> {
  for (let tries = 1; ; tries++) {
    const own = await ownEvents(store, row.no, eventsMax);
    const run = await loadRun({ store }, row);
    const later = await store.events({ run: row.no, after: own.at(-1)?.seq ?? 0, limit: 1 });
    if (later.length > 0 && tries < TRIES_MAX) continue;
    if (own.length > eventsMax) throw tooLarge(row, eventsMax);
    const { manifest, tasks } = run;
    const plan = writePlan({ rates: {}, ...manifest, tasks: tasks.map(({ spec }) => spec) });
    return manifestJson({ run, plan, events: await withAround(store, row.no, own), version, now });
  }
}

const TRIES_MAX = 5;
const PAGE = 10_000;

async function* eventsIn(store: Pick<Store, "events">, where: { readonly run?: RunNo; readonly after?: number }) {
  for (let after = where.after ?? 0; ; ) {
    const page = await store.events({ ...where, after, limit: PAGE });
    yield* page;
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return;
    after = last.seq;
  }
}

async function ownEvents(store: Pick<Store, "events">, run: RunNo, most: number): Promise<readonly Event[]> {
  const events: Event[] = [];
  for await (const event of eventsIn(store, { run })) {
    events.push(event);
    if (events.length > most) break;
  }
  return events;
}

/** With the sessions that had its tasks, which may have joined long before it began, and with the pauses that reached it. */
async function withAround(store: Pick<Store, "events">, no: RunNo, own: readonly Event[]): Promise<readonly Event[]> {
  const workers = new Set(
    own.flatMap((event) => ("worker" in event && !isLocalWorker(event.worker) ? [event.worker] : [])),
  );
  const isAbout = (event: SystemEvent): boolean => {
    if ("scope" in event) return !("run" in event.scope) || event.scope.run === no;
    if (event.kind === "worker_started") return false;
    return workers.has(event.kind === "session_joined" ? event.profile.id : event.session);
  };
  const [first = 1, last = 0] = [own[0]?.seq, own.at(-1)?.seq];
  const found = new Map(own.map((event) => [event.seq, event]));
  for await (const event of eventsIn(store, { after: workers.size > 0 ? 0 : first - 1 })) {
    if (event.seq > last) break;
    if (isSystemEvent(event) && isAbout(event)) found.set(event.seq, event);
  }
  return [...found.values()].sort((a, b) => a.seq - b.seq);
}

const tooLarge = ({ manifest }: Pick<Run, "manifest">, most: number): UserError =>
  new UserError(
    "MANIFEST_TOO_LARGE",
    `Run ${manifest.id} has more than ${most} events, which is too much for one answer`,
  );

/** Refuses a place that cannot be written to, before anything is run for it. */
export async function checkPlace(file: string): Promise<void> {
  try {
    await access(dirname(file), constants.W_OK);
    if ((await stat(file).catch(() => undefined))?.isDirectory() === true) throw new Error("It is a directory");
  } catch (error) {
    throw notWritten(file, error);
  }
}

/** Whole or not at all: a reader never finds half of it. */
export async function writeManifest(manifest: ManifestReply, file: string): Promise<void> {
  const half = `${file}.${process.pid}.half`;
  try {
    await writeFile(half, manifestLines(manifest));
    await rename(half, file);
  } catch (error) {
    await rm(half, { force: true });
    throw notWritten(file, error);
  }
}

const notWritten = (file: string, error: unknown): UserError =>
  new UserError("USAGE", `${file} cannot be written: ${(error as Error).message}`, {
    hint: "Choose another place for --manifest.",
    cause: error,
  });

/** A document that was read: what a store would say of the run. */
export interface KnownRun {
  readonly no: RunNo;
  readonly manifest: RunManifest;
  readonly plan: Plan;
  readonly events: readonly Event[];
  readonly reply: ManifestReply;
}

/** Whether the file says that it is such a document; a plan never begins like this. */
export async function isManifest(file: string): Promise<boolean> {
  const beginning = new Uint8Array(BEGINNING);
  try {
    await using opened = await open(file);
    await opened.read(beginning, 0, BEGINNING, 0);
  } catch {
    // What cannot be read is spoken of where it is read as a plan.
    return false;
  }
  return /^\s*\{\s*"manifest"\s*:\s*\d/.test(new TextDecoder().decode(beginning));
}
const BEGINNING = 200;

export async function readManifest(file: string): Promise<KnownRun> {
  const name = basename(file);
  const reply = shapeOf(await valueIn(file, name), name);
  const plan = await parsePlan(JSON.stringify(reply.plan), name);
  if (!plan.ok) throw invalid(name, `its plan: ${plan.error[0]?.message ?? "it cannot be read"}`);
  const no = runNo(reply.run.no);
  const known = { no, manifest: manifestOf(reply, plan.value.plan, name), plan: plan.value.plan, reply };
  return { ...known, events: reply.events.map((entry, at) => eventFrom(entry, at, known, name)) };
}

async function valueIn(file: string, name: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(file, "utf8"));
  } catch (error) {
    throw invalid(name, (error as Error).message);
  }
}

function shapeOf(value: unknown, name: string): ManifestReply {
  const problems = new Problems("the manifest");
  const reply = MANIFEST.read(value, problems);
  const [problem] = problems.list;
  if (reply === undefined || problem !== undefined) throw invalid(name, problem?.message ?? "it has another form");
  if (Number.isNaN(Date.parse(reply.run.submitted_at))) throw invalid(name, "run.submitted_at is no time");
  if (reply.manifest <= MANIFEST_FORMAT) return reply;
  throw invalid(name, `it was written by a newer Rota (${reply.rota})`);
}

function manifestOf(
  { run }: ManifestReply,
  { name, resources, rates, weight, tenant, graph }: Plan,
  file: string,
): RunManifest {
  const carried = (run.carried ?? []).map((id) => {
    const no = graph.find(taskId(id));
    if (no === undefined) throw invalid(file, `it has no task "${id}"`);
    return no;
  });
  return {
    id: runId(run.id),
    name,
    submittedAt: instant(Date.parse(run.submitted_at)),
    directory: run.directory,
    file: run.file,
    digest: run.digest,
    seed: run.seed,
    resources,
    rates,
    ...(weight !== undefined && { weight }),
    ...(tenant !== undefined && { tenant }),
    ...(run.only !== undefined && { only: run.only.map(taskId) }),
    carried,
    ...(run.retry_of !== undefined && { retryOf: runId(run.retry_of) }),
  };
}

/** Only its place is checked here: what else is wrong with it shows when it is replayed. */
function eventFrom(
  { at, of, task, ...entry }: Readonly<Record<string, unknown>>,
  index: number,
  { no, plan, manifest }: Pick<KnownRun, "no" | "plan" | "manifest">,
  name: string,
): Event {
  const { seq, kind } = entry;
  const when = Date.parse(String(at));
  const number = typeof task === "string" ? plan.graph.find(taskId(task)) : undefined;
  if (
    !Number.isSafeInteger(seq) ||
    typeof kind !== "string" ||
    Number.isNaN(when) ||
    (task !== undefined && number === undefined)
  )
    throw invalid(name, `event ${index + 1} of its list is none`);
  return {
    ...entry,
    at: instant(when),
    run: of === undefined ? no : NO_RUN,
    ...(number !== undefined && { task: number }),
    ...(kind === "claimed" && { tokenHash: "" }),
    ...(kind === "run_submitted" && { manifest, specs: plan.tasks }),
  } as unknown as Event;
}

const invalid = (name: string, why: string): UserError =>
  new UserError("MANIFEST_INVALID", `${name} is no run that was written down: ${why}`);
