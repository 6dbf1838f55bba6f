import { z } from 'zod'
import { check } from '../messages/check.ts'
import { defined } from '../messages/json.ts'
import {
  contradictsOverflow,
  hintsAtSize,
  isAboutAnswer,
  isAboutOtherThing,
  isMentioned,
  isOtherError,
} from './contrary-signs.ts'
import { type ErrorNode, readError } from './error-texts.ts'
import { figuresNear, isAboutMessages, type OverflowFigures } from './figures.ts'
import { normalizeText } from './normalize.ts'
import { calledProviders, isProviderOf, reportingProvider } from './providers.ts'
import { OVERFLOW_WORDINGS } from './wordings.ts'

/** A custom wording of the caller. */
export type OverflowPattern = {
  /** The provider to return if the pattern matches. */
  readonly provider: string
  /** A text that must occur, ignoring case; or a regular expression, matched against every text and code unchanged. */
  readonly pattern: string | RegExp
}

/** The options of `readOverflow`. */
export type OverflowOptions = {
  /** The called provider. It decides between providers with the same wording, but never turns another error into an overflow. */
  readonly provider?: string | undefined
  /**
   * Default true. If `false`, the original patterns match anywhere: any `RESOURCE_EXHAUSTED`, any "too many tokens", including rate
   * limits.
   */
  readonly strict?: boolean | undefined
  /** Custom patterns, matched before all others, whatever the status. */
  readonly patterns?: readonly OverflowPattern[] | undefined
}

/** The contents of an overflow error. */
export type OverflowReading = OverflowFigures & {
  /** The provider; `null` if the wording is not specific to a provider. */
  readonly provider: string | null
  /** The limit that was exceeded: tokens, the number of messages, or unknown if the refusal has no body. */
  readonly kind: 'tokens' | 'messages' | 'unknown'
  /** The outermost text of the error, for people; `null` if there is none. */
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

/** The options without the provider. */
export const overflowRulesSchema = optionsSchema.omit({ provider: true })

/**
 * Reads an error about a request that was too long for the model's context, or had more messages than its provider accepts, so that a
 * shorter history would help. Returns its provider and figures. Returns `undefined` for every other error: rate limits, billing, logins,
 * timeouts, limits of the answer (`max_tokens`), limits of one field, and this package's own `ContextBudgetExceededError`, which ends a
 * recovery instead of starting one.
 *
 * `error` may be any value: an Error, a text, an object of any SDK, a body as bytes or JSON text, a stream of events, with causes to any
 * depth. No value of `error` makes the function throw, and the time is linear in the length of its texts. Only fields with the provider's
 * words are read, never the request. The first matching wording, in the order of `docs/overflow-errors.md`, determines the provider; if
 * several providers share it, the called provider decides (`options.provider`, else the host of the error's `url`, else a name in the
 * error).
 *
 * Throws `INVALID_INPUT` for invalid options.
 */
export function readOverflow(error: unknown, options?: OverflowOptions): OverflowReading | undefined {
  return overflowAmong(readError(error), options)
}

/** The place of a wording in a text of an error. */
type Place = { readonly node: ErrorNode; readonly text: string; readonly at: number }
/** A place, with the index of its wording in the table. */
type Match = Place & { readonly rank: number }

/** Like `readOverflow`, for an error that has already been read into nodes. */
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

/** Returns the outermost text of an error, or `null` if there is none. */
export function textOf(nodes: readonly ErrorNode[]): string | null {
  return nodes.find(({ firstText }) => firstText !== undefined)?.firstText ?? null
}

/** Returns the figures of the first place with both the sent and the allowed size, or else of the first with any figure. */
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

/** Returns the first wording that means an overflow in each text of an object. */
function matchesIn(node: ErrorNode, strict: boolean): Match[] {
  // Codes precede each text, like "ValidationException: …"; if there is no text, they stand alone.
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

/** Words of which every wording contains one; most texts contain none and need no further matching. */
const MAY_MATTER =
  /token|context|too[ _]?(?:long|large)|exceed|length|resource_exhausted|validationexception|maximum|超|过长|太长|大于|prompt|max input|truncate|room/

/** Returns whether a wording at a place of a text means an overflow. */
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
  if (isOtherError(node, 'overflow') || contradictsOverflow(near) || isAboutAnswer(near)) return false
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
    // A copy without the flags `g` and `y`, which make a pattern stateful.
    const regex = new RegExp(pattern.source, pattern.flags.replace(/[gy]/g, ''))
    return texts.some((text) => regex.test(text))
  })
  return found && reportingProvider(found.provider)
}

function everyText(nodes: readonly ErrorNode[]): Place[] {
  return nodes.flatMap((node) => node.texts.map((text) => ({ node, text: normalizeText(text), at: 0 })))
}
