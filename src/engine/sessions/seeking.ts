/** What a session looks for, and which sessions look for the same. */

import type { Shape } from "../../decide/room/shapes.ts";
import { misfitOf } from "../../decide/roster.ts";
import type { Session, SessionProfile } from "../../domain/sessions/session.ts";
import { PRIORITIES, type Priority } from "../../domain/spec.ts";

export const seekerOf = ({ profile }: Session): { readonly sees: (shape: Shape) => boolean } => ({
  sees: (shape) => misfitOf(profile, shape) === undefined,
});

export const lanesDownTo = (least: Priority | undefined): readonly Priority[] =>
  least === undefined ? PRIORITIES : PRIORITIES.slice(0, PRIORITIES.indexOf(least) + 1);

/** Sessions that are alike in everything that decides what they may have. */
export const likeness = ({ workspace, channel, capabilities }: SessionProfile): string =>
  JSON.stringify([workspace, channel, capabilities]);
