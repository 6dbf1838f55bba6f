import { headOf } from '../../core/messages/characters.ts'

/** The fewest characters of a shortened id. */
const MIN_LENGTH = 8

/**
 * Returns each id's shortest end with which no other id begins or ends. Ends are used because ids made at the same moment begin alike.
 * Commands accept such an end. Linear in the number of ids: every length is looked at once, for all of them.
 */
export function shortIds(ids: Iterable<string>): ReadonlyMap<string, string> {
  const all = [...new Set(ids)]
  const short = new Map<string, string>()
  let waiting = all.filter((id) => id.length > MIN_LENGTH)
  for (let length = MIN_LENGTH; waiting.length > 0; length += 1) {
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

/** The number of ids with each piece. */
function tally(ids: readonly string[], pieceOf: (id: string) => string): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const id of ids) {
    const piece = pieceOf(id)
    counts.set(piece, (counts.get(piece) ?? 0) + 1)
  }
  return counts
}

/**
 * Returns the ids that a text may name, in this order: the id itself; ids that begin with it, where a session precedes its subagents
 * (`id/agent-1`); ids that end with it.
 */
export function sessionsNamed(given: string, ids: readonly string[]): readonly string[] {
  if (ids.includes(given)) return [given]
  const begun = ids.filter((id) => id.startsWith(given))
  const above = begun.find((id) => begun.every((other) => other === id || other.startsWith(`${id}/`)))
  if (begun.length > 0) return above === undefined ? begun : [above]
  return ids.filter((id) => id.endsWith(given))
}

/** Returns each shown session id's shortest text that `sessionsNamed` resolves to it alone: a beginning, or an end if that is shorter. */
export function shortSessionIds(
  shown: readonly string[],
  ids: readonly string[],
): ReadonlyMap<string, string> {
  const beginnings = sharedLengths(shown, ids, (id, other) => other.startsWith(`${id}/`))
  const mirrored = (id: string): string => [...id].reverse().join('')
  const ends = sharedLengths(shown.map(mirrored), ids.map(mirrored), () => false)
  return new Map(
    shown.map((id) => {
      const units = Math.max(MIN_LENGTH, beginnings.get(id)! + 1)
      const beginning = headOf(id, headOf(id, units).length < units ? units + 1 : units)
      const end = id.slice(-Math.max(MIN_LENGTH, ends.get(mirrored(id))! + 1))
      if (end.length >= beginning.length || !end.isWellFormed()) return [id, beginning]
      return [id, ids.some((other) => other.startsWith(end)) ? beginning : end]
    }),
  )
}

/** The number of units that the beginning of each shown id has in common with another id. In sorted order, that is one of its neighbors. */
function sharedLengths(
  shown: readonly string[],
  ids: readonly string[],
  isBelow: (id: string, other: string) => boolean,
): ReadonlyMap<string, number> {
  const sorted = [...new Set(ids)].sort()
  const places = new Map(sorted.map((id, at) => [id, at]))
  return new Map(
    shown.map((id) => {
      const at = places.get(id)!
      let next = at + 1
      while (next < sorted.length && isBelow(id, sorted[next]!)) next++
      return [id, Math.max(commonLength(id, sorted[at - 1]), commonLength(id, sorted[next]))]
    }),
  )
}

function commonLength(one: string, other: string | undefined): number {
  let length = 0
  while (other !== undefined && length < one.length && one[length] === other[length]) length++
  return length
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
