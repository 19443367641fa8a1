/** The small tables beside the runs: sessions, pauses, answered requests and finished idempotency keys. */
import type { WorkerId } from "../../../domain/ids.ts";
import type { Session, SessionProfile, SessionState } from "../../../domain/sessions/session.ts";
import type { Instant } from "../../../domain/time.ts";
import type { Pause } from "../../../domain/waiting/pause.ts";
import type { Batch, DoneKey, Remembrance } from "../../store.ts";
import type { Source, Target } from "../reading/read.ts";
import type { Writing } from "../statements.ts";
import { refuseMissing, sealTable, sumIn } from "./seals.ts";
import { sumOf, verify } from "./sums.ts";

type Register = Pick<Batch, "sessions" | "pauses" | "answers" | "done">;

export function writeRegisters({ seals, write: sql }: Target, { sessions, pauses, answers, done }: Register): void {
  let change = 0;
  for (const { id, session } of sessions) change += writeSession(sql, id, session);
  sealTable(seals, sql, "session", change);
  change = 0;
  for (const { key, pause } of pauses) change += writePause(sql, key, pause);
  sealTable(seals, sql, "pause", change);
  let added = 0;
  for (const { key, at, answer } of answers) {
    const body = JSON.stringify(answer);
    const sum = sumOf("answer", key, at, body);
    if (sql.writeAnswer.run(key, at, body, sum).changes === 1) added += sum;
  }
  sealTable(seals, sql, "answer", added);
  added = 0;
  for (const { key, ...rest } of done) {
    const body = JSON.stringify(rest);
    const sum = sumOf("done_key", key, body);
    if (sql.writeDoneKey.run(key, body, sum).changes === 1) added += sum;
  }
  sealTable(seals, sql, "done_key", added);
}

/** Gives by how much the total of the table changes. */
function writeSession(sql: Writing, id: WorkerId, session: Session | undefined): number {
  const before = sumIn(sql.sumOfSession, id);
  if (session === undefined) {
    sql.deleteSession.run(id);
    return -before;
  }
  const { profile, state, joinedAt, seenAt, losses } = session;
  const values = [id, JSON.stringify(profile), state, joinedAt, seenAt, losses] as const;
  const sum = sumOf("session", ...values);
  sql.writeSession.run(...values, sum);
  return sum - before;
}

export function writePause(sql: Writing, key: string, pause: Pause | undefined): number {
  const before = sumIn(sql.sumOfPause, key);
  if (pause === undefined) {
    sql.deletePause.run(key);
    return -before;
  }
  const body = JSON.stringify(pause);
  const sum = sumOf("pause", key, body);
  sql.writePause.run(key, body, sum);
  return sum - before;
}

export function forgetAnswers({ seals, write: sql }: Target, before: Instant): void {
  const { total } = sql.sumOldAnswers.get(before) as { total: number };
  sql.deleteAnswers.run(before);
  sealTable(seals, sql, "answer", -total);
}

interface SessionRow {
  readonly id: string;
  readonly profile: string;
  readonly state: SessionState;
  readonly joined_at: Instant;
  readonly seen_at: Instant;
  readonly losses: number;
  readonly sum: number;
}

export function readSessions({ sql, seals }: Source): readonly Session[] {
  refuseMissing(seals, "session");
  return (sql.allSessions.all() as unknown as SessionRow[]).map((row) => {
    const { id, profile, state, joined_at: joinedAt, seen_at: seenAt, losses } = row;
    verify(row.sum, sumOf("session", id, profile, state, joinedAt, seenAt, losses), () => `the session ${id}`);
    return { profile: JSON.parse(profile) as SessionProfile, state, joinedAt, seenAt, losses };
  });
}

export function readPauses({ sql, seals }: Source): readonly Pause[] {
  refuseMissing(seals, "pause");
  return sql.allPauses.all().map((row) => {
    const { scope, body } = row as { scope: string; body: string };
    verify(row["sum"], sumOf("pause", scope, body), () => `the hold on ${scope}`);
    return JSON.parse(body) as Pause;
  });
}

export function readAnswer({ sql }: Source, key: string): Remembrance | undefined {
  const row = sql.oneAnswer.get(key);
  if (row === undefined) return undefined;
  const { at, body } = row as { at: number; body: string };
  verify(row["sum"], sumOf("answer", row["key"] as string, at, body), () => "the answer to a caller's key");
  return JSON.parse(body) as Remembrance;
}

export const readDoneKeys = ({ sql }: Source, keys: readonly string[]): readonly DoneKey[] =>
  keys.flatMap((key) => {
    const row = sql.oneDoneKey.get(key);
    if (row === undefined) return [];
    const { body } = row as { body: string };
    verify(row["sum"], sumOf("done_key", key, body), () => "an idempotency key that is done");
    return [{ key, ...(JSON.parse(body) as Omit<DoneKey, "key">) }];
  });

const SECRET = "secret";

/** Written once: a second caller gets what the first one has written. */
export function readSecret({ sql }: Source, write: Writing, fresh: string): string {
  write.writeMeta.run(SECRET, fresh, sumOf("meta", SECRET, fresh));
  const row = sql.readMeta.get(SECRET) as { value: string; sum: number };
  verify(row.sum, sumOf("meta", SECRET, row.value), () => "the secret of the store");
  return row.value;
}
