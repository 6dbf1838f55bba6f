import { detached } from '../../messages/characters.ts'
import { oneLine } from '../text.ts'
import { ESCAPES, eachName, isListable } from './names.ts'

/*
 * Lines of files, results and replies: which of them a summary quotes.
 */

/** A line that may stand in a summary: a statement of a reply, or a line of a file or a result. */
export type Candidate<T> = {
  readonly owner: T
  readonly text: string
  readonly at: number
  /** How much it states besides its names. */
  readonly weight: number
  /** Whether it is a sentence of a request, which needs no line above it. */
  readonly isAsked?: boolean
}

/** The value of a unit of weight, the marks of a line, the least part of its value that must be new, the rounds of the choice, and the maximum lines of an owner. */
const WEIGHT_WORTH = 0.02
export const LINE_UNITS = 5
const NEW_SHARE = 0.8
const ROUNDS = 4
const MAX_LINES = 100
/** The maximum number of lines of one form and owner that neither state nor define anything: listings, progress. */
const MAX_OF_FORM = 8
/** The least worth of a unit of a line. */
const MIN_WORTH = 0.0002

/**
 * The lines that are worth most for their length within `room` units, of each owner, in order. `worthOfName`: the value of a name; one
 * in `shown` has none, and those of the chosen lines are added to it. `costOf`: the units of an owner's own line.
 */
export function chooseLines<T>(
  candidates: readonly Candidate<T>[],
  worthOfName: (name: string) => number,
  shown: Set<string>,
  room: number,
  costOf: (owner: T, line: Candidate<T>) => number,
): Map<T, Candidate<T>[]> {
  const named = candidates.map((candidate) => {
    const names = new Set<string>()
    eachName(candidate.text, (name) => names.add(name))
    return { candidate, names }
  })
  const worthOf = ({ candidate: { text, weight }, names }: (typeof named)[number]): number => {
    let worth = WEIGHT_WORTH * weight
    for (const name of names) if (!shown.has(name)) worth += worthOfName(name)
    return worth / (text.length + LINE_UNITS)
  }
  const chosen = new Map<T, Candidate<T>[]>()
  const texts = new Set<string>()
  const forms = new Map<T, Map<string, number>>()
  let left = room
  let open = named
  // A line whose names were chosen with another one is valued again in the next round.
  for (let round = 0; round < ROUNDS && open.length > 0; round++) {
    const ranked = open
      .map((line) => ({ line, worth: worthOf(line) }))
      .filter(({ worth }) => worth > MIN_WORTH)
      .sort((a, b) => b.worth - a.worth)
    const later: typeof named = []
    for (const { line, worth } of ranked) {
      const { candidate, names } = line
      const list = chosen.get(candidate.owner) ?? []
      const head = list.length === 0 ? costOf(candidate.owner, candidate) : 0
      const cost = candidate.text.length + LINE_UNITS + head
      if (cost > left || list.length >= MAX_LINES || texts.has(candidate.text)) continue
      if (worthOf(line) < NEW_SHARE * worth) {
        later.push(line)
        continue
      }
      if (candidate.weight === 0) {
        const form = candidate.text
          .replaceAll(/[\p{L}\d_-]{1,140}/gu, 'a')
          .replaceAll(/(?:a[ ./]{1,3}){1,70}/g, 'a')
        const known = forms.get(candidate.owner) ?? new Map<string, number>()
        const count = known.get(form) ?? 0
        if (count >= MAX_OF_FORM) continue
        forms.set(candidate.owner, known.set(form, count + 1))
      }
      left -= cost
      texts.add(candidate.text)
      for (const name of names) shown.add(name)
      list.push(candidate)
      chosen.set(candidate.owner, list)
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
    const bare = raw.replaceAll(ESCAPES, ' ').replace(/^(?:[\w./-]{1,200}[:-])?\s*L?\d{1,6}\s?[→|:\t-]/, '')
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
