import { defined } from '../messages/defined.ts'
import { isMentioned, OTHER_STATUSES } from './contrary-signs.ts'
import { type OverflowOptions, overflowReader } from './overflow.ts'
import { type ErrorNode, readError, statusOf } from './read-error.ts'
import { REFUSAL_WORDINGS, type RefusalKind } from './refusal-wordings.ts'
import { normalizeText } from './text.ts'

/** A provider's refusal of the content of a request. Holds no text of a conversation. */
export type Refusal = {
  readonly kind: RefusalKind
  /** The place in the request as the error names it, such as `messages.88.content.1`; cut where names within a tool's input begin. */
  readonly path?: string
  /** Ids that the error names: of calls and of items. */
  readonly ids: readonly string[]
  readonly status?: number
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

/**
 * Reads what a provider refuses in the content of a request; `null` for overflows and for every other error: keys, models, parameters,
 * tool definitions, policies, quotas, rate limits, servers. Like `isContextOverflowError` it accepts any value, reads only fields with the
 * provider's words, never throws for an error, and takes linear time.
 */
export function readRefusal(error: unknown, options: OverflowOptions = {}): Refusal | null {
  if (overflowReader(error)(options) !== undefined) return null
  const nodes = readError(error).filter((node) => !node.isOurs)
  if (nodes.some(({ isOtherCall }) => isOtherCall)) return null
  let found: { readonly kind: RefusalKind; readonly rank: number; readonly node: ErrorNode } | undefined
  for (const node of nodes) {
    if (isForAnotherReason(node)) continue
    for (const text of [...node.texts, ...node.codes].map(unquoted)) {
      const match = firstWording(text)
      if (match !== undefined && (found === undefined || match.rank < found.rank)) found = { ...match, node }
    }
  }
  if (nodes.some(isAboutPolicy)) return null
  const path = pathIn(found === undefined ? nodes : [found.node, ...nodes])
  // Fields outside the messages have the same wording.
  if (path === undefined && (found?.kind === 'unknown-field' || nodes.some(isAboutParameter))) return null
  if (found === undefined) {
    const named = nodes.find((node) => !isForAnotherReason(node) && isBadRequest(node))
    if (path === undefined || named === undefined) return null
    if (!nodes.some((node) => names(node, path))) return null
    return { kind: 'part', path, ids: idsIn(nodes), ...defined({ status: statusOf(named) }) }
  }
  return { kind: found.kind, ids: idsIn(nodes), ...defined({ path, status: statusOf(found.node) }) }
}

/** Providers quote names and places differently, or not at all. */
export function unquoted(text: string): string {
  return normalizeText(text).replaceAll("'", '')
}

function firstWording(text: string): { readonly kind: RefusalKind; readonly rank: number } | undefined {
  for (const [rank, { kind, pattern }] of REFUSAL_WORDINGS.entries()) {
    const at = pattern.exec(text)?.index
    if (at !== undefined && !isMentioned(text, at)) return { kind, rank }
  }
  return undefined
}

/** Codes, types and names of errors that a change of the content does not remove. */
const OTHER_REASON =
  /rate_?limit|throttl|too_?many_?requests|quota|insufficient|billing|payment|credit|authenticat|unauthori|permission|forbidden|access_?denied|api_?key|unrecognizedclient|expiredtoken|invalidsignatureexception|timeout|timedout|overloaded|abort|econn|content_?(?:filter|policy)|model_?not_?found/

function isForAnotherReason(node: ErrorNode): boolean {
  if (OTHER_STATUSES.includes(statusOf(node))) return true
  return [node, node.group].some(({ codes }) => codes.some((code) => OTHER_REASON.test(code.toLowerCase())))
}

/** Words of a decision about what a conversation is about. */
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

/** Whether an object names a place, and does not only quote it. */
function names({ texts, params }: ErrorNode, path: string): boolean {
  const all = [...texts.map((text) => unquoted(endsOf(text))), ...params.map((place) => place.toLowerCase())]
  return all.some((text) => text.includes(path.toLowerCase()))
}

/** An error within a stream has no status, only the type of one. */
const BAD_REQUEST =
  /^(?:invalid_?request(?:_?error)?|invalid_argument|validationexception|bad_?request(?:_?error)?)$/i

function isBadRequest(node: ErrorNode): boolean {
  const status = statusOf(node)
  if (status !== undefined) return status === 400 || status === 422
  return [node, node.group].some(({ codes }) => codes.some((code) => BAD_REQUEST.test(code)))
}

/** The first place in the messages that a text or a field names. */
function pathIn(nodes: readonly ErrorNode[]): string | undefined {
  const texts = nodes.flatMap((node) => [...node.texts.map(endsOf), ...node.params])
  for (const text of texts) {
    const path = PATH.exec(text)?.[0]
    if (path !== undefined) return cutPath(path)
  }
  return undefined
}

/** The ends of a text; a long one is a dump. */
function endsOf(text: string): string {
  return text.length <= 20_000 ? text : `${text.slice(0, 10_000)} ${text.slice(-10_000)}`
}

const STEP = String.raw`(?:\.?\[\d{1,7}\]|\.\d{1,7}\b|\.[A-Za-z_]\w{0,40})`
const PATH = new RegExp(String.raw`\b(?:messages?|input|contents)(?:\.?\[\d{1,7}\]|\.\d{1,7}\b)${STEP}{0,12}`)

/** A path up to what is within the input or the output of a tool, whose names belong to the conversation. */
function cutPath(path: string): string {
  const within = /\.(?:input|args|arguments|response|json)\b/.exec(path)
  return within === null ? path : path.slice(0, within.index + within[0].length)
}

/** Reads a path; `undefined` for another text. */
export function wirePathOf(path: string): WirePath | undefined {
  const steps = path.match(/\d{1,7}|[A-Za-z_]\w{0,40}/g) ?? []
  const [root = '', ...rest] = steps
  // AWS names lists `member` and counts from 1.
  const first = rest.includes('member') ? 1 : 0
  const named = rest.filter((step) => step !== 'member')
  const index = Number(named[0]) - first
  if (!Number.isInteger(index) || index < 0) return undefined
  const after = (...names: readonly string[]): number | undefined => {
    const at = named.findIndex((step, i) => names.includes(step) && /^\d+$/.test(named[i + 1] ?? ''))
    return at === -1 ? undefined : Number(named[at + 1]) - first
  }
  return {
    root: root.startsWith('message') ? 'messages' : root.startsWith('content') ? 'contents' : 'input',
    index,
    ...defined({ part: after('content', 'parts', 'image'), call: after('tool_calls') }),
  }
}

/** Ids of calls and items, by their beginning or by the words before them. */
const IDS = [
  /\b((?:toolu|srvtoolu|tooluse|call|fc|rs|msg|ws|ig|ci|cntr|mcp|cmp|chatcmpl|item)_[\w-]{2,119}\w)/g,
  /\b(?:call_id|tool_call_id|tool_use_id|toolUseId|tool call id(?: was)?|ids?|after|function call|messages)[:\s'"`]{1,4}([\w.:|-]{2,119}\w)/gi,
]

function idsIn(nodes: readonly ErrorNode[]): string[] {
  const ids = new Set<string>()
  for (const { texts } of nodes)
    for (const text of texts.map(endsOf))
      for (const pattern of IDS)
        for (const [, id = ''] of text.matchAll(pattern)) {
          // A request's own id is of no use, and a word without a digit is no id.
          if (ids.size < MOST_IDS && /\d/.test(id) && !/^req|^messages?[.[]/.test(id)) ids.add(id)
        }
  return [...ids]
}

/** The most ids that are read of one error. */
const MOST_IDS = 100
