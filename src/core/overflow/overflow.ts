import { z } from 'zod'
import { check } from '../messages/check.ts'
import { defined } from '../messages/defined.ts'
import {
  hintsAtSize,
  isAboutAnswer,
  isAboutOtherThing,
  isMentioned,
  isOtherCode,
  OTHER_STATUSES,
  speaksAgainst,
} from './contrary-signs.ts'
import { figuresNear, type OverflowFigures } from './figures.ts'
import { providerInText, providerOfHost, sayingProvider } from './providers.ts'
import { type ErrorNode, readError, statusOf } from './read-error.ts'
import { normalizeText } from './text.ts'
import { OWN_PROTOCOLS, WORDINGS, type Wording } from './wordings.ts'

/** A wording of the caller. */
export type OverflowPattern = {
  /** The result of `getContextOverflowProvider` when it matches. */
  readonly provider: string
  /** A text that must occur, ignoring case; or a regular expression, matched against every text and code unchanged. */
  readonly pattern: string | RegExp
}

/** The options of the functions on overflow errors. */
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

/** The figures of an overflow error in tokens, and its provider. */
export type ProviderOverflowDetails = OverflowFigures & {
  /** The result of `getContextOverflowProvider`. */
  readonly provider: string | null
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
 * Whether an error means that the request was too long for the model's context, or had more messages than its provider accepts, so that a
 * shorter history would help. False for rate limits, bills, logins, timeouts, limits of the answer (`max_tokens`), limits of one field, and this package's own
 * `ContextBudgetExceededError`, which ends a recovery instead of starting one.
 *
 * `error` may be any value: an Error, a text, an object of any SDK, a body as bytes or JSON text, a stream of events, with causes to any
 * depth. It never makes the function throw, and the time is linear in the length of its texts. Only fields with the provider's words
 * are read, never the request. Throws `INVALID_INPUT` for invalid options. `docs/overflow-errors.md` lists the wordings.
 */
export function isContextOverflowError(error: unknown, options?: OverflowOptions): boolean {
  return findOverflow(error, options) !== undefined
}

/**
 * Returns the provider of an overflow error; `null` for other errors and for wordings of no particular provider. The first matching
 * wording, in the order of `docs/overflow-errors.md`, determines the provider; when several have it, the called provider does
 * (`options.provider`, else the host of the error's `url`, else a name in the error). Throws `INVALID_INPUT` for invalid options.
 */
export function getContextOverflowProvider(error: unknown, options?: OverflowOptions): string | null {
  return findOverflow(error, options)?.provider ?? null
}

/**
 * Returns the figures of an overflow error in tokens: `actualTokens` sent, `budgetTokens` allowed. `null` when it has none, and for
 * other errors, whatever the figures of a rate limit. Throws `INVALID_INPUT` for invalid options.
 */
export function parseProviderOverflowDetails(
  error: unknown,
  options?: OverflowOptions,
): ProviderOverflowDetails | null {
  const overflow = findOverflow(error, options)
  return overflow === undefined ? null : detailsOf(overflow)
}

/** Reads an error at once; returns a function that determines provider and figures with options known later. `undefined`: not an overflow. */
export function overflowReader(
  error: unknown,
): (
  options: OverflowOptions,
) => { readonly provider: string | null; readonly details: ProviderOverflowDetails | null } | undefined {
  const nodes = readError(error)
  return (options) => {
    const overflow = overflowAmong(nodes, options)
    return overflow && { provider: overflow.provider, details: detailsOf(overflow) }
  }
}

function detailsOf(overflow: Overflow): ProviderOverflowDetails | null {
  let best: OverflowFigures | undefined
  for (const { node, text, at } of overflow.places) {
    const figures = {
      ...defined({
        actualTokens: node.promptTokens,
        budgetTokens: node.contextTokens,
        limitKind: node.contextTokens === undefined ? undefined : ('window' as const),
      }),
      ...figuresNear(text, at),
    }
    if (figures.actualTokens !== undefined && figures.budgetTokens !== undefined) {
      best = figures
      break
    }
    if (best === undefined && Object.keys(figures).length > 0) best = figures
  }
  return best === undefined ? null : { provider: overflow.provider, ...best }
}

/**
 * Returns the outermost text of an error, for people. A text is returned unchanged; objects are searched in the order `message`,
 * `error` and its fields, bodies, lists, causes. `null` when there is none. Never throws.
 */
export function extractErrorMessage(error: unknown): string | null {
  if (typeof error === 'string') return error.trim() === '' ? null : error
  return readError(error).find(({ firstText }) => firstText !== undefined)?.firstText ?? null
}

type Place = { readonly node: ErrorNode; readonly text: string; readonly at: number }
/** A place with the index of its wording. */
type Match = Place & { readonly rank: number }
type Overflow = { readonly provider: string | null; readonly places: readonly Place[] }

function findOverflow(error: unknown, options?: OverflowOptions): Overflow | undefined {
  return overflowAmong(readError(error), options)
}

function overflowAmong(read: readonly ErrorNode[], options: OverflowOptions = {}): Overflow | undefined {
  const {
    provider,
    strict = true,
    patterns = [],
  } = check(optionsSchema, options, 'options of an overflow error')
  const nodes = read.filter((node) => !node.isOurs)
  const places: Match[] = []
  const custom = firstCustom(nodes, patterns)
  for (const node of nodes) {
    // Codes precede each text, like "ValidationException: …", and are alone without one.
    const codes = node.codes.map(normalizeText).join(' ')
    const texts = node.texts.map((text) => (codes === '' ? '' : `${codes}: `) + normalizeText(text))
    for (const text of texts.length === 0 && codes !== '' ? [codes] : texts) {
      const match = firstWording(text, node, strict)
      if (match !== undefined) places.push(match)
    }
  }
  if (custom !== undefined) {
    const everyText = (): Place[] =>
      nodes.flatMap((node) => node.texts.map((text) => ({ node, text: normalizeText(text), at: 0 })))
    return { provider: custom, places: places.length > 0 ? places : everyText() }
  }
  const [first] = places.toSorted((a, b) => a.rank - b.rank)
  if (first === undefined) {
    if (!nodes.some(({ isSilent }) => isSilent) || nodes.some(({ isOtherCall }) => isOtherCall))
      return undefined
    return { provider: calledProviders(nodes, [], provider)[0] ?? null, places: [] }
  }
  const wording = WORDINGS[first.rank]!
  const called = calledProviders(nodes, places, provider).find((name) => maySay(wording, name))
  return { provider: called ?? wording.provider, places }
}

/** The first wording that matches a text. */
function firstWording(text: string, node: ErrorNode, strict: boolean): Match | undefined {
  if (!MAY_MATTER.test(text)) return undefined
  for (const [rank, wording] of WORDINGS.entries()) {
    const at = wording.pattern.exec(text)?.index
    if (at !== undefined && holds(wording, text, at, node, strict)) return { node, text, at, rank }
  }
  return undefined
}

/** Every wording has one of these words; most texts have none and need no further matching. */
const MAY_MATTER =
  /token|context|too[ _]?(?:long|large)|exceed|length|resource_exhausted|validationexception|maximum|超|过长|太长|大于|prompt|max input|truncate|room/

function holds(wording: Wording, text: string, at: number, node: ErrorNode, strict: boolean): boolean {
  if (wording.needs === 'tokens' && !/\btokens?\b/.test(text.slice(at, at + 2_000))) return false
  if (strict && isMentioned(text, at)) return false
  if (wording.trust === 'certain') return true
  if (!strict && wording.trust === 'loose') return true
  const near = text.slice(Math.max(0, at - 400), at + 600)
  if (wording.needs === 'size') return hintsAtSize(near)
  if (
    OTHER_STATUSES.includes(statusOf(node)) ||
    [node, node.group].some(({ codes }) => codes.some(isOtherCode))
  )
    return false
  if (speaksAgainst(near) || isAboutAnswer(near)) return false
  return wording.trust === 'likely' || !isAboutOtherThing(text.slice(Math.max(0, at - 120), at + 200))
}

function firstCustom(nodes: readonly ErrorNode[], patterns: readonly OverflowPattern[]): string | undefined {
  for (const { provider, pattern } of patterns) {
    // A copy without `g` and `y`, which have state.
    const regex =
      typeof pattern === 'string' ? undefined : new RegExp(pattern.source, pattern.flags.replace(/[gy]/g, ''))
    const wanted = typeof pattern === 'string' ? pattern.toLowerCase() : ''
    for (const node of nodes)
      for (const text of [...node.texts, ...node.codes])
        if (regex === undefined ? text.toLowerCase().includes(wanted) : regex.test(text))
          return sayingProvider(provider)
  }
  return undefined
}

/** The possible providers, the best evidence first: the caller's option, hosts, fields, texts. */
function calledProviders(
  nodes: readonly ErrorNode[],
  places: readonly Place[],
  hint: string | undefined,
): string[] {
  const called = [
    hint === undefined ? undefined : sayingProvider(hint),
    ...nodes.map(({ host }) => (host === undefined ? undefined : providerOfHost(host))),
    ...nodes.map(({ provider }) => (provider === undefined ? undefined : sayingProvider(provider))),
    ...places.map(({ text }) => providerInText(text)),
  ]
  return called.filter((name) => name !== undefined)
}

function maySay(wording: Wording, provider: string): boolean {
  if (provider === '') return false
  if (wording.provider === null || wording.provider === provider) return true
  const also = (name: string): boolean => wording.also.includes(name)
  return also(provider) || also('anyone') || (also('compatible') && !OWN_PROTOCOLS.includes(provider))
}
