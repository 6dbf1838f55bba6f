import { outputText, partsOf } from '../../src/core/messages/message.ts'
import { STOP_WORDS } from '../../src/core/search/english.ts'
import type { Message } from '../../src/index.ts'

/* Questions about a log, made from it without a model: a fact, and other words from around it. */

export type LogQuestion = {
  /** What is asked: words from around the fact, never the fact. */
  readonly question: string
  readonly answer: string
  readonly kind: string
  /** Index of the message in the log. */
  readonly message: number
}

/** Facts by their form. The whole match, or its first group, is the answer. */
const FACTS: Readonly<Record<string, RegExp>> = {
  code: /\b[A-Z]{1,5}-?\d{2,}[A-Z0-9]*\b|\b[0-9a-f]{7,12}\b/g,
  number: /(?<![\w.])\d{3,}(?:[.,]\d+)?(?![\w.])/g,
  path: /(?<![\w.-])[\w.-]+(?:\/[\w.-]+){2,}/g,
  error: /\b(?:E[A-Z]{4,}|[A-Z]{2,}(?:_[A-Z]+)+|[A-Z][A-Za-z]+(?:Error|Exception))\b/g,
  quoted: /["'`“「]([^"'`“”「」\n]{4,40})["'`”」]/g,
  name: /\b[A-Z][a-z]{2,} [A-Z][a-z]{2,}\b/g,
  clause: /[,;:，；：] ?([^,.;:，。；：！？\n]{12,60})[.。]/g,
  chinese: /(?:是|为|在|叫|有)([\p{Script=Han}\d（）()]{3,16})(?=[，。,.；;！？])/gu,
}
/** Rows in which a fact may occur, and rows that may have all words of a question: one that fits many rows has no answer. */
const MOST_ROWS = 3
/** Words of a question. */
const [LEAST_WORDS, MOST_WORDS] = [3, 6]
/** Messages longer than this are read in part by the generator. */
const MOST_UNITS = 400_000

/** All that a message says. */
export function saidIn(message: Message): string {
  return partsOf(message)
    .map((part) => {
      if (part.type === 'text' || part.type === 'reasoning') return part.text
      if (part.type === 'tool-call') return leavesOf(part.input).join('\n')
      if (part.type === 'tool-result') return outputText(part.output)
      return ''
    })
    .join('\n')
    .slice(0, MOST_UNITS)
}

function leavesOf(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null) return [String(value)]
  return Object.values(value).flatMap(leavesOf)
}

/** So many questions about messages of a log, spread over its messages and kinds of facts; fewer when there are no more. */
export function questionsAbout(
  messages: readonly Message[],
  isAsked: (message: number) => boolean,
  count: number,
  random: () => number,
): LogQuestion[] {
  const texts = messages.map(saidIn)
  const lower = texts.map((text) => text.toLowerCase())
  const rowsWith = (answer: string): number => texts.filter((text) => text.includes(answer)).length
  const candidates: {
    readonly message: number
    readonly kind: string
    readonly at: number
    readonly answer: string
  }[] = []
  for (const [message, text] of texts.entries()) {
    if (!isAsked(message)) continue
    for (const [kind, pattern] of Object.entries(FACTS))
      for (const match of text.matchAll(pattern)) {
        const answer = (match[1] ?? match[0]).trim()
        candidates.push({ message, kind, at: match.index + match[0].indexOf(answer), answer })
      }
  }
  shuffle(candidates, random)
  const asked = new Set<string>()
  const questions: LogQuestion[] = []
  const kinds = Object.keys(FACTS)
  // The kinds take turns, so that none makes up most of the questions.
  const byKind = new Map(kinds.map((kind) => [kind, candidates.filter((one) => one.kind === kind)]))
  while (questions.length < count) {
    let isOver = true
    for (const kind of kinds) {
      const own = byKind.get(kind)!
      while (own.length > 0) {
        const { message, at, answer } = own.pop()!
        if (asked.has(answer) || rowsWith(answer) > MOST_ROWS) continue
        const words = wordsAround(texts[message]!, at, answer, random)
        if (words === undefined) continue
        const fitting = lower.filter((text) =>
          words.every((word) => text.includes(word.toLowerCase())),
        ).length
        if (fitting > MOST_ROWS) continue
        asked.add(answer)
        questions.push({ question: `${words.join(' ')}?`, answer, kind, message })
        isOver = false
        break
      }
      if (questions.length === count) break
    }
    if (isOver) break
  }
  return questions
}

const WORD = /\p{Script=Han}{2,4}|[\p{L}\p{N}_][\p{L}\p{N}_.'-]*[\p{L}\p{N}_]/gu

/** Words of the sentence or line of a fact; of the lines beside it when it has too few. */
function wordsAround(text: string, at: number, answer: string, random: () => number): string[] | undefined {
  const own = answer.toLowerCase()
  for (const reach of [0, 1, 2]) {
    const [from, to] = sentenceAround(text, at, at + answer.length, reach)
    const around = `${text.slice(from, at)} ${text.slice(at + answer.length, to)}`
    const words = [...new Set(around.match(WORD) ?? [])].filter((word) => {
      const plain = word.toLowerCase()
      return (
        !STOP_WORDS.has(plain) &&
        plain.length > 1 &&
        plain.length <= 40 &&
        !own.includes(plain) &&
        !plain.includes(own)
      )
    })
    if (words.length < LEAST_WORDS) continue
    shuffle(words, random)
    return words.slice(0, MOST_WORDS)
  }
  return undefined
}

function sentenceAround(text: string, start: number, end: number, reach: number): [number, number] {
  let [from, to] = [start, end]
  for (let step = 0; step <= reach; step++) {
    const stop = /[.!?。！？](?=\s|$|\p{Script=Han})|\n/u
    do from--
    while (from > 0 && !stop.test(text.slice(from - 1, from + 1)) && start - from < 300)
    do to++
    while (to < text.length && !stop.test(text.slice(to, to + 2)) && to - end < 300)
  }
  // Whole words only.
  while (from > 0 && /\w\w/.test(text.slice(from - 1, from + 1))) from--
  while (to < text.length && /\w\w/.test(text.slice(to - 1, to + 1))) to++
  return [Math.max(0, from), to]
}

function shuffle<T>(list: T[], random: () => number): void {
  for (let at = list.length - 1; at > 0; at--) {
    const other = Math.floor(random() * (at + 1))
    ;[list[at], list[other]] = [list[other]!, list[at]!]
  }
}
