/** What a token may do; each includes those before it. `work`: claim and report. `admin`: say what runs on this machine, and the rest. */
export const SCOPES = ["read", "work", "admin"] as const;
export type Scope = (typeof SCOPES)[number];
export const allows = (has: Scope, needs: Scope): boolean => SCOPES.indexOf(has) >= SCOPES.indexOf(needs);
