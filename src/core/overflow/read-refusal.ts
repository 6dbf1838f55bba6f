import { defined } from '../messages/json.ts'
import { contradictsOverflow, isMentioned, isOtherError } from './contrary-signs.ts'
import { type ErrorNode, readError, statusOf } from './error-texts.ts'
import { normalizeText } from './normalize.ts'
import { type OverflowOptions, overflowAmong } from './read-overflow.ts'
import { REFUSAL_WORDINGS, type RefusalKind, SIZE_WORDINGS } from './wordings.ts'

/** A provider's refusal of the content of a request. Contains no text of a conversation. */
export type Refusal = {
  readonly kind: RefusalKind
  /** The path in the request that the error names, such as `messages.88.content.1`; cut where names within a tool's input begin. */
  readonly path?: string
  /** The ids of calls and items that the error names. */
  readonly ids: readonly string[]
  readonly status?: number
}

/**
 * Returns the content that a provider refuses in a request; `null` for overflows and for every other error: keys, models, parameters,
 * tool definitions, policies, quotas, rate limits, servers. Like `readOverflow`, it accepts any value, reads only fields with the
 * provider's words, never throws because of an error, and takes linear time.
 */
export function readRefusal(error: unknown, options?: OverflowOptions): Refusal | null {
  const read = readError(error)
  if (overflowAmong(read, options) !== undefined) return null
  const nodes = read.filter((node) => !node.isOurs)
  if (nodes.some((node) => node.isOtherCall || isAboutPolicy(node))) return null
  const candidates = nodes.filter((node) => !isOtherError(node, 'refusal'))
  const matches = candidates.flatMap((node) =>
    [...node.texts, ...node.codes].flatMap((text) => {
      const rank = rankIn(unquoted(text))
      return rank === -1 ? [] : [{ node, rank }]
    }),
  )
  const [found] = matches.toSorted((a, b) => a.rank - b.rank)
  const kind = found && REFUSAL_WORDINGS[found.rank]!.kind
  const path = pathIn(found === undefined ? nodes : [found.node, ...nodes])
  // Fields outside the messages are reported with the same wording.
  if (path === undefined && (kind === 'unknown-field' || nodes.some(isAboutParameter))) return null
  const node = found?.node ?? candidates.find(isBadRequest)
  if (node === undefined) return null
  if (kind === undefined && (path === undefined || !nodes.some((one) => names(one, path)))) return null
  return { kind: kind ?? 'part', ids: idsIn(nodes), ...defined({ path, status: statusOf(node) }) }
}

/** Removes quotes, because providers quote names and paths differently, or not at all. */
function unquoted(text: string): string {
  return normalizeText(text).replaceAll("'", '')
}

function rankIn(text: string): number {
  return REFUSAL_WORDINGS.findIndex(({ pattern }) => {
    const at = pattern.exec(text)?.index
    return at !== undefined && !isMentioned(text, at)
  })
}

/** Words of a policy decision about the subject of a conversation. */
const POLICY =
  /content (?:management|moderation|filter|policy)|safety (?:system|setting|filter)|responsible ai|usage polic|prohibited|jailbreak|flagged|responsibleaipolicy/

function isAboutPolicy({ texts, codes }: ErrorNode): boolean {
  return [...texts, ...codes].some((text) => POLICY.test(text.slice(0, 4_000).toLowerCase()))
}

/** A place outside the messages: the definitions of tools, the system prompt, a parameter. */
const PARAMETER =
  /(?:^|[\s'"`(:])(?:tools[.[]\[?\d|tool_choice|functions[.[]\[?\d|system[.[]\[?\d|system: |max_tokens|temperature|top_[pk]\b|response_format|output_config|generation_?config|safety_?settings|tool_config)/i

function isAboutParameter({ texts, params }: ErrorNode): boolean {
  return [...texts, ...params].some((text) => PARAMETER.test(text.slice(0, 1_000)))
}

/** An error within a stream has no status, only an error type. */
const BAD_REQUEST =
  /^(?:invalid_?request(?:_?error)?|invalid_argument|validationexception|bad_?request(?:_?error)?)$/i

function isBadRequest(node: ErrorNode): boolean {
  const status = statusOf(node)
  if (status !== undefined) return status === 400 || status === 422
  return [node, node.group].some(({ codes }) => codes.some((code) => BAD_REQUEST.test(code)))
}

const STEP = String.raw`(?:\.?\[\d{1,7}\]|\.\d{1,7}\b|\.[A-Za-z_]\w{0,40})`
const PATH = new RegExp(String.raw`\b(?:messages?|input|contents)(?:\.?\[\d{1,7}\]|\.\d{1,7}\b)${STEP}{0,12}`)

/**
 * Returns the first path in the messages that a text or a field names, cut before the input or the output of a tool, whose names belong
 * to the conversation.
 */
function pathIn(nodes: readonly ErrorNode[]): string | undefined {
  const texts = nodes.flatMap((node) => [...node.texts.map(endsOf), ...node.params])
  const path = texts.map((text) => PATH.exec(text)?.[0]).find((found) => found !== undefined)
  return path && /^.*?\.(?:input|args|arguments|response|json)\b|^.*/.exec(path)?.[0]
}

/** Returns whether an object names a path rather than only quoting it. */
function names({ texts, params }: ErrorNode, path: string): boolean {
  const all = [...texts.map((text) => unquoted(endsOf(text))), ...params.map((place) => place.toLowerCase())]
  return all.some((text) => text.includes(path.toLowerCase()))
}

/** Returns the ends of a text, because a long text is a dump. */
function endsOf(text: string): string {
  return text.length <= 20_000 ? text : `${text.slice(0, 10_000)} ${text.slice(-10_000)}`
}

/** Ids of calls and items, by their prefix or by the words before them. */
const IDS = [
  /\b((?:toolu|srvtoolu|tooluse|call|fc|rs|msg|ws|ig|ci|cntr|mcp|cmp|chatcmpl|item)_[\w-]{2,119}\w)/g,
  /\b(?:call_id|tool_call_id|tool_use_id|toolUseId|tool call id(?: was)?|ids?|after|function call|messages)[:\s'"`]{1,4}([\w.:|-]{2,119}\w)/gi,
]
/** The most ids that are read from one error. */
const MAX_IDS = 100

function idsIn(nodes: readonly ErrorNode[]): string[] {
  const ids = new Set<string>()
  // A request's own id is not useful, and a word without a digit isn't an id.
  for (const text of nodes.flatMap(({ texts }) => texts.map(endsOf)))
    for (const pattern of IDS)
      for (const [, id = ''] of text.matchAll(pattern))
        if (ids.size < MAX_IDS && /\d/.test(id) && !/^req|^messages?[.[]/.test(id)) ids.add(id)
  return [...ids]
}

/** A place in the wire form of a request. Numbers count from 0. */
export type WirePath = {
  readonly root: 'messages' | 'input' | 'contents'
  readonly index: number
  /** The index in the content or the parts of the message. */
  readonly part?: number
  /** The index in the `tool_calls` of the message. */
  readonly call?: number
}

/** Parses a path; returns `undefined` for any other text. */
export function wirePathOf(path: string): WirePath | undefined {
  const [root = '', ...rest] = path.match(/\d{1,7}|[A-Za-z_]\w{0,40}/g) ?? []
  // AWS writes `member` in lists and counts from 1.
  const first = rest.includes('member') ? 1 : 0
  const named = rest.filter((step) => step !== 'member')
  const index = Number(named[0]) - first
  if (!Number.isInteger(index) || index < 0) return undefined
  const after = (...lists: readonly string[]): number | undefined => {
    const at = named.findIndex((step, i) => lists.includes(step) && /^\d+$/.test(named[i + 1] ?? ''))
    return at === -1 ? undefined : Number(named[at + 1]) - first
  }
  return {
    root: root.startsWith('message') ? 'messages' : root.startsWith('content') ? 'contents' : 'input',
    index,
    ...defined({ part: after('content', 'parts', 'image'), call: after('tool_calls') }),
  }
}

/**
 * A refusal of a request because of content other than text. `media`: the images or files, their number, size or pixels. `bytes`: the
 * size of the whole request.
 */
export type MediaRefusal = {
  readonly kind: 'media' | 'bytes'
  /** The most images that the provider accepts, if the error states it. */
  readonly maxImages?: number
}

/**
 * Returns how a provider refused the media or the bytes of a request; `undefined` for any other error. Never throws; takes linear time.
 */
export function mediaRefusal(error: unknown): MediaRefusal | undefined {
  const nodes = readError(error).filter((node) => !node.isOurs)
  if (nodes.some(({ isOtherCall }) => isOtherCall)) return undefined
  const found = nodes.map(sizeRefused)
  return found.find((refusal) => refusal?.kind === 'media') ?? found.find((refusal) => refusal !== undefined)
}

const TOKENS = /\btokens?\b|context (?:length|window|size)|tokens_limit|context_too/
const TOO_LARGE = 413

function sizeRefused(node: ErrorNode): MediaRefusal | undefined {
  if (isOtherError(node, 'overflow')) return undefined
  const codes = node.codes.map(normalizeText).join(' ')
  const texts = node.texts.map((text) => `${codes} ${normalizeText(text)}`)
  let isBytes = node.status === TOO_LARGE
  for (const text of texts.length === 0 ? [codes] : texts) {
    for (const { kind, pattern } of SIZE_WORDINGS) {
      const match = pattern.exec(text)
      if (match === null || !isReported(text, match.index)) continue
      if (kind === 'bytes') isBytes = true
      else return { kind: 'media', ...defined({ maxImages: maxImages(match, text) }) }
    }
    // Limits on tokens, and on tokens per minute.
    if (TOKENS.test(text) || contradictsOverflow(text.slice(0, 1_000))) return undefined
  }
  return isBytes ? { kind: 'bytes' } : undefined
}

/** Returns whether a wording is the provider's own and concerns nothing else. */
function isReported(text: string, at: number): boolean {
  return !isMentioned(text, at) && !contradictsOverflow(text.slice(Math.max(0, at - 200), at + 400))
}

/** Returns the limit in a wording, or after a wording without its own number: `> 20`, `max is 10`, `up to 5`. */
function maxImages({ 1: most, index }: RegExpExecArray, text: string): number | undefined {
  const after =
    /too many images[^\n]{0,80}?(?:>|max(?:imum)? is|max allowed is|maximum of|up to|at most) ?(\d{1,5})\b/
  const written = most ?? after.exec(text.slice(index, index + 200))?.[1]
  return written === undefined ? undefined : Number(written)
}
