/** Amounts: bytes of memory and thousandths of a core, as whole numbers, so that sums are exact. */
const BYTE_UNITS: Readonly<Record<string, number>> = {
  B: 1,
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  TB: 1e12,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
  TiB: 2 ** 40,
};

/** Reads `512MiB`, `4GiB`, `1.5GB`. Nothing when it is not a size, or not an exact whole number. */
export function parseBytes(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)(B|[KMGT]i?B)$/.exec(text);
  if (match === null) return undefined;
  const bytes = Math.round(Number(match[1]) * (BYTE_UNITS[match[2] as string] as number));
  return Number.isSafeInteger(bytes) ? bytes : undefined;
}

export function formatBytes(bytes: number): string {
  for (const unitName of ["TiB", "GiB", "MiB", "KiB"] as const) {
    const size = BYTE_UNITS[unitName] as number;
    if (bytes >= size) return `${(bytes / size).toFixed(bytes >= 10 * size ? 0 : 1).replace(/\.0$/, "")}${unitName}`;
  }
  return `${bytes}B`;
}
