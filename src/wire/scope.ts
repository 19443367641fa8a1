/** What a token may do; each scope includes those before it. `work`: claim and report. `admin`: submit plans, and everything else. */
export const SCOPES = ["read", "work", "admin"] as const;
export type Scope = (typeof SCOPES)[number];
export const allows = (has: Scope, needs: Scope): boolean => SCOPES.indexOf(has) >= SCOPES.indexOf(needs);
