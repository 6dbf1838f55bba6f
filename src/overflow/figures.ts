import { ACTUAL, EXCESS, INPUT, LIMITS, OUTPUT, PARTS } from './figure-patterns.ts'

/** Figures an overflow error names, in tokens. Only what was named is there. */
export type OverflowFigures = {
  /** What was sent, with the answer asked for when the provider counts it in. */
  readonly actualTokens?: number
  /** The limit the provider names. */
  readonly budgetTokens?: number
  /** What was sent without the answer, when named apart. */
  readonly inputTokens?: number
  /** The answer asked for, when named apart. */
  readonly outputTokens?: number
  /** By how much the limit was missed, when the provider names only that. */
  readonly excessTokens?: number
  /** `window`: the limit holds for question and answer together; `input`: for the question alone. */
  readonly limitKind?: 'window' | 'input'
}

/** Largest figure believed: a thousand times the largest window there is. */
const MOST_TOKENS = 10_000_000_000

/** How much of each side of a wording its figures stand in. */
const REACH = 600

/**
 * The figures near a wording in normalised text. They are only taken from sentences that name them as tokens of a
 * request or of a limit, so statuses, model names, dates, ids and prices are never taken for them.
 */
export function figuresNear(text: string, at: number): OverflowFigures | undefined {
  const near = text.slice(Math.max(0, at - REACH), at + REACH)
  const inputTokens = parts(near) ?? first(near, INPUT)
  const outputTokens = first(near, OUTPUT)
  let limit: number | undefined
  let limitKind: 'window' | 'input' | undefined
  for (const { pattern, kind } of LIMITS) {
    limit = read(near, pattern)
    if (limit === undefined) continue
    limitKind = kind
    break
  }
  const both =
    inputTokens !== undefined && outputTokens !== undefined ? inputTokens + outputTokens : undefined
  const excess = read(near, EXCESS)
  // A number that stands there once is not both what was sent and what is allowed.
  const sent = (value: number): boolean =>
    value !== excess && (value !== limit || occurrences(near, value) > 1)
  const actual = both ?? first(near, ACTUAL, sent) ?? inputTokens
  if (actual === undefined && limit === undefined && excess === undefined) return undefined
  return {
    ...(actual === undefined ? {} : { actualTokens: actual }),
    ...(limit === undefined ? {} : { budgetTokens: limit }),
    ...(inputTokens === undefined || both === undefined ? {} : { inputTokens }),
    ...(outputTokens === undefined || both === undefined ? {} : { outputTokens }),
    ...(excess === undefined ? {} : { excessTokens: excess }),
    ...(limitKind === undefined ? {} : { limitKind }),
  }
}

/** "658 of text input, 732 of tool input": the parts of an input, summed. */
function parts(near: string): number | undefined {
  let sum = 0
  for (const [, found = ''] of near.matchAll(PARTS)) sum += tokensWritten(found) ?? 0
  return sum > 0 ? sum : undefined
}

function first(
  near: string,
  patterns: readonly RegExp[],
  fits: (value: number) => boolean = () => true,
): number | undefined {
  for (const pattern of patterns) {
    const found = read(near, pattern)
    if (found !== undefined && fits(found)) return found
  }
  return undefined
}

function read(near: string, pattern: RegExp): number | undefined {
  const found = pattern.exec(near)?.[1]
  return found === undefined ? undefined : tokensWritten(found)
}

/** The value of a number as written. */
function tokensWritten(written: string): number | undefined {
  const scaled = /^(\d{1,4}(?:\.\d{1,3})?) ?(k|m|million)$/.exec(written)
  const value =
    scaled === null
      ? Number(written.replace(/\D/g, ''))
      : Math.round(Number(scaled[1]) * (scaled[2] === 'k' ? 1_000 : 1_000_000))
  return Number.isSafeInteger(value) && value > 0 && value <= MOST_TOKENS ? value : undefined
}

function occurrences(near: string, value: number): number {
  return near.split(/[^\d,._']+/).filter((word) => Number(word.replace(/\D/g, '')) === value).length
}
