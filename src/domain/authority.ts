/**
 * On whose authority a caller from outside acts. A session belongs to the token that joined it, and with the session its claims: by the id
 * of the token, which is given once, where a name may be given again.
 */
import { UserError } from "./errors.ts";
import type { WorkerId } from "./ids.ts";
import type { SessionProfile } from "./sessions/session.ts";

/** `token`: the id of the caller's token. The owner of the state directory has none. */
export type Authority =
  | { readonly isAdmin: true; readonly token?: string }
  | { readonly isAdmin: false; readonly token: string };

/** The owner of the state directory, over the daemon's socket or with the owner's own token. */
export const OWNER: Authority = { isAdmin: true };

/** `owner`: the id of the token that something belongs to; absent where it is the state directory's owner's. */
export const mayActFor = (owner: string | undefined, { isAdmin, token }: Authority): boolean =>
  isAdmin || token === owner;

export function mustActFor({ id, owner }: SessionProfile, authority: Authority): void {
  if (!mayActFor(owner, authority)) throw foreignSession(id);
}

/** Says only that the id is taken, which `join` has to tell, and nothing about the session or its token. */
export const foreignSession = (id: WorkerId): UserError =>
  new UserError("FORBIDDEN", `Session "${id}" belongs to another token`, {
    hint: "Join under an id of your own. Only a token with the scope `admin`, or the owner of the daemon, acts for the sessions of others.",
  });
