import { z } from 'zod'
import { check } from '../messages/check.ts'
import { defined } from '../messages/json.ts'
import {
  hintsAtSize,
  isAboutAnswer,
  isAboutOtherThing,
  isMentioned,
  isOtherError,
  speaksAgainst,
} from './contrary-signs.ts'
import { type ErrorNode, readError } from './error-texts.ts'
import { figuresNear, isAboutMessages, type OverflowFigures } from './figures.ts'
import { normalizeText } from './normalize.ts'
import { calledProviders, isProviderOf, sayingProvider } from './providers.ts'
import { OVERFLOW_WORDINGS } from './wordings.ts'

/** A wording of the caller. */
export type OverflowPattern = {
  /** The provider of the reading when it matches. */
  readonly provider: string
  /** A text that must occur, ignoring case; or a regular expression, matched against every text and code unchanged. */
  readonly pattern: string | RegExp
}

/** The options of `readOverflow`. */
export type OverflowOptions = {
  /** The called provider. Decides between providers with the same wording; never turns another error into an overflow. */
  readonly provider?: string | undefined
  /**
   * Default true. With `false` the original patterns match anywhere: any `RESOURCE_EXHAUSTED`, any "too many tokens", rate limits
   * included.
   */
  readonly strict?: boolean | undefined
  /** Matched before all others, whatever the status. */
  readonly patterns?: readonly OverflowPattern[] | undefined
}

/** What an overflow error states. */
export type OverflowReading = OverflowFigures & {
  /** `null` for a wording of no particular provider. */
  readonly provider: string | null
  /** What is too long: the tokens, the number of messages, or unknown where the refusal has no body. */
  readonly kind: 'tokens' | 'messages' | 'unknown'
  /** The outermost text of the error, for people; `null` without one. */
  readonly message: string | null
}

const optionsSchema = z.strictObject({
  provider: z.string().optional(),
  strict: z.boolean().optional(),
  patterns: z
    .array(
      z.strictObject({
        provider: z.string().min(1),
        pattern: z.union([z.string().min(1), z.instanceof(RegExp)]),
      }),
    )
    .optional(),
})

/** The same without the provider. */
export const overflowRulesSchema = optionsSchema.omit({ provider: true })

/**
 * Reads an error that means that the request was too long for the model's context, or had more messages than its provider accepts, so
 * that a shorter history would help. Returns its provider and figures; `undefined` for every other error: rate limits, bills, logins,
 * timeouts, limits of the answer (`max_tokens`), limits of one field, and this package's own `ContextBudgetExceededError`, which ends a
 * recovery instead of starting one.
 *
 * `error` may be any value: an Error, a text, an object of any SDK, a body as bytes or JSON text, a stream of events, with causes to any
 * depth. It never makes the function throw, and the time is linear in the length of its texts. Only fields with the provider's words
 * are read, never the request. The first matching wording, in the order of `docs/overflow-errors.md`, determines the provider; when several
 * have it, the called provider does (`options.provider`, else the host of the error's `url`, else a name in the error). Throws
 * `INVALID_INPUT` for invalid options.
 */
export function readOverflow(error: unknown, options?: OverflowOptions): OverflowReading | undefined {
  return overflowAmong(readError(error), options)
}

/** A wording in a text of an error. */
type Place = { readonly node: ErrorNode; readonly text: string; readonly at: number }
/** A place with the index of its wording in the table. */
type Match = Place & { readonly rank: number }

/** The same of an error that was read before. */
export function overflowAmong(
  read: readonly ErrorNode[],
  options: OverflowOptions = {},
): OverflowReading | undefined {
  const {
    provider,
    strict = true,
    patterns = [],
  } = check(optionsSchema, options, 'options of an overflow error')
  const nodes = read.filter((node) => !node.isOurs)
  const custom = customProvider(nodes, patterns)
  const matches = nodes.flatMap((node) => matchesIn(node, strict))
  const [first] = matches.toSorted((a, b) => a.rank - b.rank)
  const message = textOf(read)
  if (custom === undefined && first === undefined) {
    if (!nodes.some(({ isSilent }) => isSilent) || nodes.some(({ isOtherCall }) => isOtherCall))
      return undefined
    return { provider: calledProviders(nodes, [], provider)[0] ?? null, kind: 'unknown', message }
  }
  const places: readonly Place[] = first === undefined ? everyText(nodes) : matches
  const names = first && OVERFLOW_WORDINGS[first.rank]!.providers
  const called = calledProviders(
    nodes,
    places.map(({ text }) => text),
    provider,
  ).find((name) => isProviderOf(names ?? [], name))
  return {
    provider: custom ?? called ?? names?.[0] ?? null,
    kind: places.some(({ text, at }) => isAboutMessages(text, at)) ? 'messages' : 'tokens',
    message,
    ...figuresAmong(places),
  }
}

/** The outermost text of an error, `null` when there is none. */
export function textOf(nodes: readonly ErrorNode[]): string | null {
  return nodes.find(({ firstText }) => firstText !== undefined)?.firstText ?? null
}

/** The first place with the sent and the allowed size, else the first with any figure. */
function figuresAmong(places: readonly Place[]): OverflowFigures {
  let best: OverflowFigures = {}
  for (const { node, text, at } of places) {
    const { promptTokens: tokens, contextTokens: limit } = node
    const inFields = defined({
      tokens,
      limit,
      limitKind: limit === undefined ? undefined : ('window' as const),
    })
    const figures = { ...inFields, ...figuresNear(text, at) }
    if (figures.tokens !== undefined && figures.limit !== undefined) return figures
    if (Object.keys(best).length === 0) best = figures
  }
  return best
}

/** The first wording that holds in each text of an object. */
function matchesIn(node: ErrorNode, strict: boolean): Match[] {
  // Codes precede each text, like "ValidationException: …", and are alone without one.
  const codes = node.codes.map(normalizeText).join(' ')
  const texts = node.texts.map((text) => (codes === '' ? '' : `${codes}: `) + normalizeText(text))
  return (texts.length === 0 ? [codes] : texts).flatMap((text) => {
    if (!MAY_MATTER.test(text)) return []
    for (const [rank, { kind, pattern }] of OVERFLOW_WORDINGS.entries()) {
      const at = pattern.exec(text)?.index
      if (at !== undefined && holds(kind, text, at, node, strict)) return [{ node, text, at, rank }]
    }
    return []
  })
}

/** Every wording has one of these words; most texts have none and need no further matching. */
const MAY_MATTER =
  /token|context|too[ _]?(?:long|large)|exceed|length|resource_exhausted|validationexception|maximum|超|过长|太长|大于|prompt|max input|truncate|room/

/** Whether a wording at a place of a text means an overflow. */
function holds(
  kind: (typeof OVERFLOW_WORDINGS)[number]['kind'],
  text: string,
  at: number,
  node: ErrorNode,
  strict: boolean,
): boolean {
  if (strict && isMentioned(text, at)) return false
  if (kind === 'certain') return true
  if (!strict && kind !== 'likely') return true
  const near = text.slice(Math.max(0, at - 400), at + 600)
  if (kind === 'size') return hintsAtSize(near)
  if (isOtherError(node, 'overflow') || speaksAgainst(near) || isAboutAnswer(near)) return false
  return kind === 'likely' || !isAboutOtherThing(text.slice(Math.max(0, at - 120), at + 200))
}

function customProvider(
  nodes: readonly ErrorNode[],
  patterns: readonly OverflowPattern[],
): string | undefined {
  const texts = nodes.flatMap((node) => [...node.texts, ...node.codes])
  const found = patterns.find(({ pattern }) => {
    if (typeof pattern === 'string') {
      const wanted = pattern.toLowerCase()
      return texts.some((text) => text.toLowerCase().includes(wanted))
    }
    // A copy without `g` and `y`, which have state.
    const regex = new RegExp(pattern.source, pattern.flags.replace(/[gy]/g, ''))
    return texts.some((text) => regex.test(text))
  })
  return found && sayingProvider(found.provider)
}

function everyText(nodes: readonly ErrorNode[]): Place[] {
  return nodes.flatMap((node) => node.texts.map((text) => ({ node, text: normalizeText(text), at: 0 })))
}
