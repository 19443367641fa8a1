/** From findings to diagnostics: each with its line and column, in the order of the file, and never too many. */

import { offsetOf, Place, positionsIn } from "../read/places.ts";
import type { Source } from "../read/source.ts";
import { DIAGNOSTICS, type Diagnostic, type Finding, type Findings, severityOf } from "./diagnostics.ts";

/** `source` finds the places of findings that have a path; without one they all have offsets. */
export function diagnose(findings: Findings, text: string, file: string, source?: Source): readonly Diagnostic[] {
  if (findings.list.length === 0) return [];
  const places = new Place();
  for (const { spot } of findings.list) if ("path" in spot) places.want(spot.path);
  source?.locate(places);
  const spotOffset = ({ spot }: Finding): number =>
    "offset" in spot ? spot.offset : offsetOf(places, spot.path, spot.at);
  const positionOf = positionsIn(text);

  const diagnostics = findings.list
    .map((finding) => ({ finding, offset: spotOffset(finding) }))
    .sort((a, b) => a.offset - b.offset)
    .map(
      ({ finding, offset }): Diagnostic => ({
        code: finding.code,
        severity: severityOf(finding),
        message: finding.message,
        file,
        ...positionOf(offset),
        hint: finding.hint ?? DIAGNOSTICS[finding.code].hint,
      }),
    );
  const last = diagnostics.at(-1);
  if (findings.hidden === 0 || last === undefined) return diagnostics;
  const more = {
    code: "PLAN_MORE",
    ...DIAGNOSTICS.PLAN_MORE,
    message: `And ${findings.hidden} more problems.`,
  } as const;
  return [...diagnostics, { ...last, ...more }];
}
