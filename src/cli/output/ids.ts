/** Fewest characters that an id is shown by. */
const LEAST = 8

/**
 * Each id by its shortest end that no other id begins or ends with; ids made at the same moment begin alike. Commands accept such an end.
 * Linear in the number of ids: every length is looked at once, for all of them.
 */
export function shortIds(ids: Iterable<string>): ReadonlyMap<string, string> {
  const all = [...new Set(ids)]
  const short = new Map<string, string>()
  let waiting = all.filter((id) => id.length > LEAST)
  for (let length = LEAST; waiting.length > 0; length += 1) {
    const beginnings = tally(all, (id) => id.slice(0, length))
    const ends = tally(all, (id) => id.slice(-length))
    for (const id of waiting) {
      const end = id.slice(-length)
      const beginningsOfOthers = (beginnings.get(end) ?? 0) - (id.startsWith(end) ? 1 : 0)
      if (ends.get(end) === 1 && beginningsOfOthers === 0) short.set(id, end)
    }
    waiting = waiting.filter((id) => !short.has(id) && id.length > length + 1)
  }
  return new Map(all.map((id) => [id, short.get(id) ?? id]))
}

/** How many ids have each piece. */
function tally(ids: readonly string[], pieceOf: (id: string) => string): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const id of ids) {
    const piece = pieceOf(id)
    counts.set(piece, (counts.get(piece) ?? 0) + 1)
  }
  return counts
}

/** Words that a shell does not interpret. */
const PLAIN = /^[\w@%+=:,./-]+$/

/**
 * A command as it can be typed. Operands are quoted where a shell would interpret them, so that an id from a file cannot become a command,
 * and follow `--` if one looks like an option.
 */
export function commandLine(command: string, ...operands: readonly string[]): string {
  const marks = operands.some((operand) => operand.startsWith('-')) ? ['--'] : []
  return ['undertext', command, ...marks, ...operands.map(shellWord)].join(' ')
}

/** A word, quoted if a POSIX shell needs it. */
export function shellWord(word: string): string {
  return PLAIN.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}
