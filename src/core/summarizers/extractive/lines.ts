import { detached } from '../../messages/characters.ts'
import { oneLine } from '../text.ts'
import { eachName, isListable } from './names.ts'

/*
 * Lines of files, results and replies: which of them a summary quotes.
 */

/** A line that may stand in a summary below that of its owner: a statement of a reply, or a line of a file or a result. */
export type Candidate<T> = {
  readonly owner: T
  readonly text: string
  readonly at: number
  /** How much it states besides its names. */
  readonly weight: number
  /** The line of the owner itself; a sentence of a request, which needs no line above it; a name in the line of the owner. */
  readonly form?: 'head' | 'asked' | 'name'
}

/** The value of a unit of weight, the marks of a line and of a name, the least part of its value that must be new, and the rounds of the choice. */
const WEIGHT_WORTH = 0.02
export const LINE_UNITS = 5
const SEPARATOR = 2
const NEW_SHARE = 0.8
const ROUNDS = 4
/** The maximum number of names of an owner. */
const MAX_LISTED = 8

/**
 * The lines and names that are worth most for their length, of each owner, in order. `worthOfName`: the value of a name; one in `shown`
 * has none, and those of the chosen lines are added to it. `costOf`: the units of an owner's own line. `room`: the units of all, and of
 * the names among them.
 */
export function chooseLines<T>(
  candidates: readonly Candidate<T>[],
  worthOfName: (name: string) => number,
  shown: Set<string>,
  room: { readonly all: number; readonly lists: number },
  costOf: (owner: T, line: Candidate<T>) => number,
): Map<T, Candidate<T>[]> {
  const named = candidates.map((candidate) => {
    const names = new Set<string>()
    eachName(candidate.text, (name) => names.add(name))
    const units = candidate.text.length + (candidate.form === 'name' ? SEPARATOR : LINE_UNITS)
    return { candidate, names, units }
  })
  const chosen = new Map<T, Candidate<T>[]>()
  const listed = new Map<T, number>()
  const texts = new Set<string>()
  const headOf = ({ candidate }: (typeof named)[number]): number =>
    chosen.has(candidate.owner) || candidate.form === 'head' ? 0 : costOf(candidate.owner, candidate)
  const worthOf = (line: (typeof named)[number]): number => {
    let worth = WEIGHT_WORTH * line.candidate.weight
    for (const name of line.names) if (!shown.has(name)) worth += worthOfName(name)
    return worth === 0 ? 0 : worth / (line.units + headOf(line))
  }
  let { all: left, lists } = room
  let open = named
  // A line whose names were chosen with another one is valued again in the next round.
  for (let round = 0; round < ROUNDS && open.length > 0; round++) {
    const ranked = open
      .map((line) => ({ line, worth: worthOf(line) }))
      .filter(({ worth }) => worth > 0)
      .sort((a, b) => b.worth - a.worth)
    const later: typeof named = []
    for (const { line, worth } of ranked) {
      const { candidate, names, units } = line
      const { owner, text, form } = candidate
      const cost = units + headOf(line)
      const count = listed.get(owner) ?? 0
      const isFull = form === 'name' && (count >= MAX_LISTED || units > lists)
      if (cost > left || isFull || texts.has(text) || (form === 'head' && chosen.has(owner))) continue
      if (worthOf(line) < NEW_SHARE * worth) {
        later.push(line)
        continue
      }
      left -= cost
      if (form === 'name') {
        lists -= units
        listed.set(owner, count + 1)
      }
      texts.add(text)
      for (const name of names) shown.add(name)
      const list = chosen.get(owner)
      if (list === undefined) chosen.set(owner, [candidate])
      else list.push(candidate)
    }
    open = later
  }
  for (const list of chosen.values()) list.sort((a, b) => a.at - b.at)
  return chosen
}

/**
 * A line that defines something: a function, a type, a constant, a table, a route, a field of a schema, a heading with a name. What a
 * reader needs of code is what it defines; other lines say little without their context.
 */
export const DEFINES = new RegExp(
  [
    '^(?:(?:export|default|public|private|protected|internal|static|async|pub(?:\\(\\w+\\))?|abstract|final|override|declare|readonly|unsafe|extern|inline|virtual) ){0,5}' +
      '(?:function\\*?|class|interface|type|enum|struct|trait|impl|def|fn|func|module|namespace|package|record|protocol|object|fun|sub|macro_rules!|mod|message|service|rpc)\\b(?! ?=)',
    '^(?:export )?(?:const|let|var|static|val) (?:[A-Z][A-Z\\d_]{2,60}\\b|[\\w$]{2,60}(?::[^=]{1,60})? = (?:async )?(?:\\([^()]{0,80}\\)|\\w+) =>)|^export const ',
    '^(?:CREATE|ALTER) (?:OR REPLACE )?(?:UNIQUE )?(?:TABLE|INDEX|VIEW|FUNCTION|TYPE)\\b',
    '^(?:@|#\\[|//?\\s)?(?:app|router|server|r|mux|api)\\.(?:get|post|put|patch|delete|use|route|Handle(?:Func)?)\\(',
    '^(?:(?:public|private|protected|static|async|override|virtual|final|get|set) ){1,4}[\\w<>\\[\\],.? ]{1,60}\\(',
  ].join('|'),
)

/** Colors of a terminal. */
const COLORS = /\[[\d;]{1,12}m/g
/** The lengths of a line. */
const LINE_ENDS = [12, 140] as const

/** The lines of a text with names, without numbers of lines and indentation. What continues over several short lines is one line. */
export function excerptOf(text: string): string[] {
  const [least, most] = LINE_ENDS
  const lines = new Set<string>()
  let open = ''
  const close = (): void => {
    const line = open
    open = ''
    if (line.length < least || line.length > most || /^[\])}>,;]/.test(line)) return
    let isNamed = false
    eachName(line, (name) => {
      isNamed ||= isListable(name)
    })
    if (isNamed) lines.add(detached(line.replace(/ ?\{$/, '')))
  }
  for (const raw of text.split('\n')) {
    const bare = raw.replaceAll(COLORS, '').replace(/^(?:[\w./-]{1,200}[:-])?\s*L?\d{1,6}\s?[→|:\t-]/, '')
    const line = raw.length > 4 * most ? '' : oneLine(bare)
    const continues =
      /[,([]$/.test(open) || (open.endsWith('{') && line.endsWith(',')) || /^[)\]}]/.test(line)
    if (open !== '' && continues && open.length + line.length < most) open += ` ${line}`
    else {
      close()
      open = line
    }
  }
  close()
  return [...lines]
}
