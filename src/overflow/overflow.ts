import { z } from 'zod'
import { check } from '../messages/check.ts'
import { figuresNear, type OverflowFigures } from './figures.ts'
import { GENERAL_WORDINGS, OWN_PROTOCOLS, TABLE_WORDINGS, type Wording } from './general-wordings.ts'
import { OWN_WORDINGS } from './own-wordings.ts'
import {
  hintsAtSize,
  isAboutAnswer,
  isAboutOtherThing,
  isMentioned,
  isOtherCode,
  isOtherStatus,
  providerInText,
  providerOfHost,
  sayingProvider,
  speaksAgainst,
  speaksOfTokens,
} from './providers.ts'
import { type ErrorNode, readError } from './read-error.ts'
import { normalizeText } from './text.ts'

/** Every wording, in the order in which they are tried: the first that holds names the provider. */
export const WORDINGS: readonly Wording[] = [...OWN_WORDINGS, ...TABLE_WORDINGS, ...GENERAL_WORDINGS]

/** A wording of the caller's own. */
export type OverflowPattern = {
  /** What `getContextOverflowProvider` answers when it matches. */
  readonly provider: string
  /** A text that must occur, whatever its case; or a regular expression, tried on every text and code as it stands. */
  readonly pattern: string | RegExp
}

/** What the functions on overflow errors can be told. */
export type OverflowOptions = {
  /** Who was called. Decides where several providers use one wording; never makes an overflow of what is none. */
  readonly provider?: string | undefined
  /**
   * Default true. With `false` the patterns of seed 003 hold wherever they occur, as they stand there: any
   * `RESOURCE_EXHAUSTED`, any "too many tokens", rate limits included.
   */
  readonly strict?: boolean | undefined
  /** Tried before all others, and believed whatever the status. */
  readonly patterns?: readonly OverflowPattern[] | undefined
}

/** The figures of an overflow error, tokens, and whose it is. */
export type ProviderOverflowDetails = OverflowFigures & {
  /** As `getContextOverflowProvider` answers. */
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

/** The same without the provider, for calls that know it. */
export const overflowRulesSchema = optionsSchema.omit({ provider: true })

/**
 * Whether an error says that the request was too long for the model's context, so that a shorter history would
 * help. Not so for rate limits, bills, logins, timeouts, limits of the answer (`max_tokens`), limits of one field,
 * and this package's own `ContextBudgetExceededError`, which ends a recovery instead of starting one.
 *
 * `error` may be anything: an Error, a text, an object of any SDK, a body as bytes or JSON text, a stream of events,
 * with causes to any depth. Never throws because of it; time grows with the length of its texts. Only fields that
 * hold what the provider said are read, never the request. Throws `INVALID_INPUT` for options that do not fit.
 * Source: seed 003 "Error Detection", conflict C-28; `docs/overflow-errors.md` lists the wordings.
 */
export function isContextOverflowError(error: unknown, options?: OverflowOptions): boolean {
  return findOverflow(error, options) !== undefined
}

/**
 * Which provider's overflow error it is; `null` when it is none, and when its wording belongs to nobody. The first
 * wording that holds, in the order of `docs/overflow-errors.md`, names the provider; where several use it, the
 * provider that was called does (`options.provider`, else the host of the error's `url`, else a name it carries).
 * Throws `INVALID_INPUT` for options that do not fit.
 */
export function getContextOverflowProvider(error: unknown, options?: OverflowOptions): string | null {
  return findOverflow(error, options)?.provider ?? null
}

/**
 * The figures of an overflow error, in tokens, as far as it names any: `actualTokens` sent, `budgetTokens` allowed.
 * `null` when it names none, and when it is no overflow, whatever figures a rate limit may name. Throws
 * `INVALID_INPUT` for options that do not fit. Source: checklist S2-018, S2-U01.
 */
export function parseProviderOverflowDetails(
  error: unknown,
  options?: OverflowOptions,
): ProviderOverflowDetails | null {
  const overflow = findOverflow(error, options)
  return overflow === undefined ? null : detailsOf(overflow)
}

/** What an error says, read now: whose it is and its figures by options that may become known later. `undefined`: no overflow. */
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
    const figures = { ...fieldsOf(node), ...figuresNear(text, at) }
    if (figures.actualTokens !== undefined && figures.budgetTokens !== undefined) {
      best = figures
      break
    }
    if (best === undefined && Object.keys(figures).length > 0) best = figures
  }
  return best === undefined ? null : { provider: overflow.provider, ...best }
}

/**
 * The text of an error, for people: the outermost it has. A text is its own; of objects `message` comes first, then
 * `error` and what it holds, then bodies, lists and causes. `null` when there is none. Never throws. Source: S2-019.
 */
export function extractErrorMessage(error: unknown): string | null {
  if (typeof error === 'string') return error.trim() === '' ? null : error
  for (const node of readError(error)) {
    const said = node.firstText
    if (said !== undefined) return said
  }
  return null
}

type Place = { readonly node: ErrorNode; readonly text: string; readonly at: number }
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
  const places: Place[] = []
  const custom = firstCustom(nodes, patterns)
  let rank = Number.POSITIVE_INFINITY
  let found: Wording | undefined
  for (const node of nodes) {
    // Codes stand before each text, as "ValidationException: …" does, and alone where there is none.
    const codes = node.codes.map(normalizeText).join(' ')
    const texts = node.texts.map((text) => (codes === '' ? '' : `${codes}: `) + normalizeText(text))
    for (const text of texts.length === 0 && codes !== '' ? [codes] : texts) {
      const match = firstWording(text, node, strict)
      if (match === undefined) continue
      places.push({ node, text, at: match.at })
      if (match.rank < rank) {
        rank = match.rank
        found = WORDINGS[match.rank]
      }
    }
  }
  if (custom !== undefined) return { provider: custom, places: places.length > 0 ? places : everyText(nodes) }
  if (found === undefined) {
    if (!nodes.some(({ isSilent }) => isSilent) || nodes.some(({ isOtherCall }) => isOtherCall))
      return undefined
    return { provider: calledProviders(nodes, [], provider)[0] ?? null, places: [] }
  }
  return { provider: nameProvider(found, nodes, places, provider), places }
}

/** The first wording that holds of a text, by its place in the list. */
function firstWording(
  text: string,
  node: ErrorNode,
  strict: boolean,
): { rank: number; at: number } | undefined {
  if (!MAY_MATTER.test(text)) return undefined
  for (const [rank, wording] of WORDINGS.entries()) {
    const at = wording.pattern.exec(text)?.index
    if (at !== undefined && holds(wording, text, at, node, strict)) return { rank, at }
  }
  return undefined
}

/** A word of which every wording has one: most texts have none and are done with. */
const MAY_MATTER =
  /token|context|too[ _]?(?:long|large)|exceed|length|resource_exhausted|validationexception|maximum|超|过长|太长|大于|prompt|max input|truncate|room/

function holds(wording: Wording, text: string, at: number, node: ErrorNode, strict: boolean): boolean {
  if (wording.needs === 'tokens' && !speaksOfTokens(text, at)) return false
  if (strict && isMentioned(text, at)) return false
  if (wording.trust === 'certain') return true
  if (!strict && wording.trust === 'loose') return true
  const near = text.slice(Math.max(0, at - 400), at + 600)
  if (wording.needs === 'size') return hintsAtSize(near)
  const status = statusOf(node)
  if (isOtherStatus(status) || saysOther(node)) return false
  if (speaksAgainst(near) || isAboutAnswer(near)) return false
  return wording.trust === 'likely' || !isAboutOtherThing(text.slice(Math.max(0, at - 120), at + 200))
}

/** The status that holds for an object: its own, else that of what it was found in, else of its account. */
function statusOf(node: ErrorNode): number | undefined {
  let holder: ErrorNode | undefined = node
  for (let steps = 0; holder !== undefined && steps < 50; steps++) {
    if (holder.status !== undefined) return holder.status
    holder = holder.parent
  }
  return node.group.status
}

function saysOther(node: ErrorNode): boolean {
  return node.codes.some(isOtherCode) || node.group.codes.some(isOtherCode)
}

function firstCustom(nodes: readonly ErrorNode[], patterns: readonly OverflowPattern[]): string | undefined {
  for (const { provider, pattern } of patterns) {
    // A copy without `g` and `y`: those remember where they stopped.
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

function everyText(nodes: readonly ErrorNode[]): Place[] {
  return nodes.flatMap((node) => node.texts.map((text) => ({ node, text: normalizeText(text), at: 0 })))
}

function nameProvider(
  wording: Wording,
  nodes: readonly ErrorNode[],
  places: readonly Place[],
  hint: string | undefined,
): string | null {
  return calledProviders(nodes, places, hint).find((name) => maySay(wording, name)) ?? wording.provider
}

/** Who may have been called, the best evidence first: the caller's word, hosts, fields, texts. */
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
  if (wording.provider === null) return true
  if (wording.provider === provider) return true
  if (wording.also === 'compatible') return !OWN_PROTOCOLS.includes(provider)
  return wording.also === 'anyone' || (wording.also?.includes(provider) ?? false)
}

function fieldsOf(node: ErrorNode): OverflowFigures {
  return {
    ...(node.promptTokens === undefined ? {} : { actualTokens: node.promptTokens }),
    ...(node.contextTokens === undefined
      ? {}
      : { budgetTokens: node.contextTokens, limitKind: 'window' as const }),
  }
}
