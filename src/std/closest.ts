/** A person does not type a longer word by mistake, and comparing such words would take long. */
const WORD_MAX = 200;

/** The candidate a person most likely meant, or nothing when none is near enough to be worth saying. */
export function closest(word: string, candidates: Iterable<string>): string | undefined {
  if (word.length > WORD_MAX) return undefined;
  // For a word of one letter, a word of another letter is no hint.
  const limit = word.length < 2 ? 0 : Math.max(1, Math.floor(word.length / 3));
  let best: string | undefined;
  let bestDistance = limit + 1;
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - word.length) >= bestDistance) continue;
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase(), bestDistance);
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance];
  }
  return best;
}

/** Insertions, deletions, replacements and swaps of neighbours; gives up (with `limit`) once that is reached. */
function editDistance(a: string, b: string, limit: number): number {
  let beforePrevious: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const replace = (previous[column - 1] ?? 0) + (a[row - 1] === b[column - 1] ? 0 : 1);
      let cost = Math.min((previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1, replace);
      const swapped = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      if (swapped) cost = Math.min(cost, (beforePrevious[column - 2] ?? 0) + 1);
      current.push(cost);
    }
    if (Math.min(...current) >= limit) return limit;
    [beforePrevious, previous] = [previous, current];
  }
  return previous[b.length] ?? limit;
}
