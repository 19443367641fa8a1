/** The picture in the README: a frame of the live view, drawn by the view itself, as an SVG of a terminal. */

import { waitsOf } from "../src/decide/explain/explain.ts";
import { forecast } from "../src/domain/durations/estimate.ts";
import { frame, liveModel } from "../src/views/status/live.ts";
import { displayWidth } from "../src/views/text/text.ts";
import { releaseDispatcher, releaseFixture } from "../test/rig/release.ts";

const COLUMNS = 84;
const CELL = { width: 8.4, height: 19 };
const MARGIN = { x: 18, top: 44, bottom: 18 };

const SAID: Readonly<Record<string, string>> = {
  "build-api": "   Compiling serde v1.0.219",
  "build-web": "✓ 412 modules transformed.",
  train: "epoch 3/10  loss 0.418",
};

export function livePicture(): string {
  const fixture = releaseFixture();
  const left = forecast(fixture.run, 4, fixture.now);
  const model = liveModel({
    run: fixture.run,
    now: fixture.now,
    since: fixture.run.manifest.submittedAt,
    waitOf: waitsOf(releaseDispatcher(fixture), fixture.run, fixture.now),
    lastLineOf: ({ spec }) => SAID[spec.id],
    recent: fixture.events,
    ...(left !== undefined && { forecast: left }),
  });
  return terminalSvg(frame(model, { columns: COLUMNS, rows: 30 }, { color: true, unicode: true, timeZone: "UTC" }));
}

function terminalSvg(lines: readonly string[]): string {
  const width = Math.ceil(COLUMNS * CELL.width + 2 * MARGIN.x);
  const height = MARGIN.top + lines.length * CELL.height + MARGIN.bottom;
  const rows = lines.map((line, row) => lineSvg(line, MARGIN.top + (row + 0.8) * CELL.height)).join("\n");
  const dots = ["#ff5f57", "#febc2e", "#28c840"].map(
    (fill, at) => `<circle cx="${22 + at * 20}" cy="22" r="6" fill="${fill}"/>`,
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="The live view of a run: progress, running tasks with their last line of output, waiting tasks with the reason, recent ends">
<rect width="${width}" height="${height}" rx="10" fill="#15181e"/>
${dots.join("")}
<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="14" fill="#d8dee9">
${rows}
</g>
</svg>
`;
}

/** The codes the view paints with, and the same with what stands in them. */
const ESCAPE = String.fromCharCode(27);
const PAINT = new RegExp(`(${ESCAPE}\\[[0-9;]*m)`);
const PAINTED = new RegExp(`^${ESCAPE}\\[([0-9;]*)m$`);

const COLORS: Readonly<Record<string, string>> = { 31: "#ff7b72", 32: "#7ee787", 33: "#e3b341", 36: "#56d4dd" };

/** Each run of one style is a text of its own, placed by column, so that no font's idea of a width can shift the rest. */
function lineSvg(line: string, y: number): string {
  let column = 0;
  let style: { color?: string; bold?: boolean; dim?: boolean } = {};
  let svg = "";
  for (const part of line.split(PAINT)) {
    const codes = PAINTED.exec(part)?.[1];
    if (codes !== undefined) style = codes.split(";").reduce(restyle, style);
    else {
      if (part.trim() !== "") svg += textSvg(part, MARGIN.x + column * CELL.width, y, style);
      column += displayWidth(part);
    }
  }
  return svg;
}

function restyle<S extends { color?: string; bold?: boolean; dim?: boolean }>(style: S, code: string): S {
  if (code === "0" || code === "") return {} as S;
  if (code === "1") return { ...style, bold: true };
  if (code === "2") return { ...style, dim: true };
  if (code === "22") return { ...style, bold: false, dim: false };
  if (code === "39") return { ...style, color: undefined };
  return COLORS[code] === undefined ? style : { ...style, color: COLORS[code] };
}

function textSvg(text: string, x: number, y: number, { color, bold, dim }: Parameters<typeof restyle>[0]): string {
  const fill = color === undefined ? "" : ` fill="${color}"`;
  const weight = bold ? ' font-weight="700"' : "";
  const faint = dim ? ' opacity="0.6"' : "";
  const length = ` textLength="${(displayWidth(text) * CELL.width).toFixed(1)}" lengthAdjust="spacingAndGlyphs"`;
  return `<text xml:space="preserve" x="${x.toFixed(1)}" y="${y.toFixed(1)}"${fill}${weight}${faint}${length}>${escapeXml(text)}</text>`;
}

const escapeXml = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
