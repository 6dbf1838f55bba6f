import { parsedJson } from '../messages/json.ts'
import { words } from './text.ts'

/** The most entries of a list that are read from each end. */
const MAX_ENTRIES = 200

/** `Array.isArray` that returns false for a revoked Proxy, for which the original throws. */
function isList(value: unknown): value is readonly unknown[] {
  try {
    return Array.isArray(value)
  } catch {
    return false
  }
}

/** The entries of a list; for a long one those at its ends. */
function entriesOf(list: readonly unknown[]): unknown[] {
  const entries: unknown[] = []
  const length = read(list, 'length')
  if (typeof length !== 'number') return entries
  for (let i = 0; i < Math.min(length, MAX_ENTRIES); i++) entries.push(read(list, i))
  for (let i = Math.max(MAX_ENTRIES, length - MAX_ENTRIES); i < length; i++) entries.push(read(list, i))
  return entries
}

/** A property of a foreign object; one that throws counts as absent. */
function read(value: object, key: string | number): unknown {
  try {
    return (value as Record<string | number, unknown>)[key]
  } catch {
    return undefined
  }
}

/*
 * The keys that are read. An allow-list, because errors also contain the request (`requestBodyValues`, `config`, `request`, `input`,
 * `messages`, `flagged_input`), and a conversation may quote any error.
 */
const MESSAGE_KEYS = words(`
  message Message errorMessage error_message error_msg errmsg err_msg msg status_msg detail details description error_description
  error Error err reason cause responseBody response_body responseText rawBody body data _data raw originalMessage OriginalMessage
  upstream_error external_model_message exception
`)
/** Keys of nested objects and lists. */
const INNER_KEYS = words(`
  errors lastError last_error response originalError original_error original rawError inner innerError innererror innerException
  wrapped suppressed metadata base_resp failure failures choices $response validationException modelStreamErrorException
`)
/** Keys of a chat message about its own failure; its content is part of a conversation. */
const KEYS_OF_CHAT_MESSAGES = words('errorMessage error')
const CODE_KEYS = words(`
  name code Code type __type status statusText errorType error_type errorCode error_code lc_error_code reason error
`)
const STATUS_KEYS = words(`
  status statusCode status_code httpStatus httpStatusCode http_status OriginalStatusCode code
`)
const PROVIDER_KEYS = words('provider providerId provider_id llm_provider')

/** The longest text that is parsed as JSON, UTF-16 units; longer ones are searched as text. */
const MAX_JSON_LENGTH = 2_000_000

/** The JSON in a text, from its first bracket to its last, and the text around it. */
function openJson(text: string): { value: unknown; around: string } | undefined {
  const first = text.trimStart()[0]
  if (first === '"') {
    const value = parsedJson(text)
    return typeof value === 'string' ? { value, around: '' } : undefined
  }
  const brace = text.indexOf('{')
  const from = brace === -1 ? -1 : bracketBefore(text, brace)
  const to = Math.max(text.lastIndexOf('}'), text.lastIndexOf(']'))
  if (from === -1 || to <= from) return undefined
  const value =
    parsedJson(text.slice(from, to + 1)) ??
    (from < brace ? parsedJson(text.slice(brace, text.lastIndexOf('}') + 1)) : undefined)
  if (typeof value !== 'object' || value === null) return undefined
  return { value, around: `${text.slice(0, from)} ${text.slice(to + 1)}` }
}

/** The start of a list that begins just before an object, else of the object itself. */
function bracketBefore(text: string, brace: number): number {
  let at = brace - 1
  while (at >= 0 && /\s/.test(text[at]!)) at--
  return at >= 0 && text[at] === '[' ? at : brace
}

/** The payloads of a stream of server-sent events, or `undefined` when the text is not one. */
function eventsOf(text: string): readonly string[] | undefined {
  if (!/^\s{0,20}(?:event|data|id|retry):/.test(text)) return undefined
  const payloads = text
    .split(/\r?\n|\r/)
    .filter((line) => line.startsWith('data:'))
    // All prefixes at once: otherwise a nested payload would be read once per prefix.
    .map((line) => line.replace(/^(?:data:\s*)+/, '').trimEnd())
  if (payloads.length === 0) return undefined
  return payloads.length <= 2 * MAX_ENTRIES
    ? payloads
    : [...payloads.slice(0, MAX_ENTRIES), ...payloads.slice(-MAX_ENTRIES)]
}

/** The text of bytes: a view, a buffer, or the JSON of a Buffer. `undefined` for other values. */
function textOfBytes(value: object): string | undefined {
  try {
    if (ArrayBuffer.isView(value))
      return decode(new Uint8Array(value.buffer, value.byteOffset, value.byteLength))
    if (value instanceof ArrayBuffer) return decode(new Uint8Array(value))
    // The JSON of a Buffer.
    if (read(value, 'type') !== 'Buffer') return undefined
    const data = read(value, 'data')
    if (!isList(data) || data.length > MAX_JSON_LENGTH) return undefined
    return decode(Uint8Array.from(data as number[]))
  } catch {
    return undefined
  }
}

function decode(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes)
}

/** The most objects that are read of one error. Longer chains of causes are cut; real ones are far shorter. */
const MAX_OBJECTS = 30_000
/** The longest code, type or name. */
const MAX_CODE_LENGTH = 200

/** The content of one object of an error. Texts are raw; `parent` is the enclosing object. */
export class ErrorNode {
  readonly parent: ErrorNode | undefined
  /** The account: objects that are not joined by a list describe one failure. */
  readonly group: { status: number | undefined; codes: string[] }
  readonly texts: string[] = []
  /** The first text before parsing. */
  firstText: string | undefined
  /** Codes, types and names, unchanged. */
  readonly codes: string[] = []
  status: number | undefined
  /** Places in the request: OpenAI's `param`, and the `loc` of a validator. */
  readonly params: string[] = []
  /** Host and port of the request. */
  host: string | undefined
  /** The provider in a field of the error. */
  provider: string | undefined
  promptTokens: number | undefined
  contextTokens: number | undefined
  /** A model call refused with 400 or 413 and an empty body, as some providers do with requests that are too long. */
  isSilent = false
  /** A request without a conversation: an upload, embeddings and the like. */
  isOtherCall = false
  /** An error of this package: its text is not from a provider. */
  isOurs = false

  constructor(parent?: ErrorNode, listed = false) {
    this.parent = parent
    if (parent === undefined) this.group = { status: undefined, codes: [] }
    else this.group = listed ? { ...parent.group, codes: [] } : parent.group
  }
}

/** A status at the head of a text: "429 {…}", "Error code: 400 - {…}", "failed with status code 402". */
const STATUS_IN_TEXT =
  /(?:^\s{0,20}|\b(?:status|code|error|http)[:\s(]{1,3})([45]\d\d)(?=$|[\s:,.{)-])(?!\s?tokens)/i

/** The message of OpenAI's and Anthropic's SDKs for an empty body. */
const NO_BODY = /^(?:\w{1,40}: )?4(?:00|13) (?:status code )?\(no body\)$/i
/** The message of an error with an empty body: the reason phrase of the status, or nothing. */
const REASON_PHRASE = /^(?:bad request|(?:payload|content|request entity) too large|request too long)?$/i
/** Endpoints without a conversation. */
const OTHER_CALL =
  /\/(?:files|uploads|embeddings|moderations|batches|models|count_tokens)(?:$|[?#])|\/(?:images|audio|fine_tuning|files)\//i

/** The status of an object: its own, else that of its parent, else that of its account. */
export function statusOf(node: ErrorNode): number | undefined {
  let holder: ErrorNode | undefined = node
  for (let steps = 0; holder !== undefined && steps < 50; steps++) {
    if (holder.status !== undefined) return holder.status
    holder = holder.parent
  }
  return node.group.status
}

type Pending = { readonly value: unknown; readonly parent: ErrorNode | undefined; readonly listed: boolean }

/**
 * Reads a thrown value into a flat list, outermost first. Never throws: getters that throw count as absent, no methods of the value are
 * called, cycles are cut. JSON texts, also as part of a text, byte arrays and event streams are parsed.
 */
export function readError(error: unknown): readonly ErrorNode[] {
  const nodes: ErrorNode[] = []
  const seen = new WeakSet<object>()
  const queue: Pending[] = [{ value: error, parent: undefined, listed: false }]
  for (let next = 0; next < queue.length && next < MAX_OBJECTS; next++) {
    const { value, parent, listed } = queue[next]!
    const push = (inner: unknown, from: ErrorNode | undefined, inList: boolean): void => {
      if (inner === null || (typeof inner !== 'object' && typeof inner !== 'string')) return
      if (typeof inner === 'object') {
        if (seen.has(inner)) return
        seen.add(inner)
      }
      if (queue.length < MAX_OBJECTS) queue.push({ value: inner, parent: from, listed: inList })
    }
    if (typeof value === 'object' && value !== null) {
      seen.add(value)
      const bytes = textOfBytes(value)
      if (bytes !== undefined) {
        push(bytes, parent, listed)
        continue
      }
      if (isList(value)) {
        for (const entry of entriesOf(value)) push(entry, parent, true)
        continue
      }
    } else if (typeof value !== 'string') continue
    const node = new ErrorNode(parent, listed)
    nodes.push(node)
    const add: Push = (inner, inList) => push(inner, node, inList)
    if (typeof value === 'string') addText(node, value, add)
    else readObject(value, node, add)
  }
  return nodes
}

type Push = (inner: unknown, inList: boolean) => void

function readObject(value: object, node: ErrorNode, push: Push): void {
  const name = read(value, 'name')
  const code = read(value, 'code')
  if (name === 'ContextBudgetExceededError' || code === 'CONTEXT_BUDGET_EXCEEDED') {
    // It ends a recovery: its cause has been handled.
    node.isOurs = true
    const message = read(value, 'message')
    if (typeof message === 'string' && message !== '') node.firstText = message
    return
  }
  node.isOurs = name === 'UndertextError'
  for (const key of CODE_KEYS) {
    const found = read(value, key)
    if (typeof found === 'string' && found !== '' && found.length <= MAX_CODE_LENGTH) node.codes.push(found)
  }
  for (const key of STATUS_KEYS) node.status ??= httpStatus(read(value, key))
  const metadata = read(value, '$metadata')
  if (typeof metadata === 'object' && metadata !== null)
    node.status ??= httpStatus(read(metadata, 'httpStatusCode'))
  node.group.status ??= node.status
  if (node.group.codes.length < MAX_ENTRIES) for (const found of node.codes) node.group.codes.push(found)
  for (const key of PROVIDER_KEYS) {
    const found = read(value, key)
    if (typeof found === 'string' && found.length <= MAX_CODE_LENGTH) node.provider ??= found
  }
  if (typeof metadata === 'object' && name !== 'ModelError') node.provider ??= 'bedrock'
  for (const param of paramsOf(value)) node.params.push(param)
  const url = read(value, 'url')
  node.host = hostOf(url)
  node.isOtherCall = typeof url === 'string' && OTHER_CALL.test(url.slice(0, 1_000))
  node.isSilent = isSilent(read(value, 'responseBody'), read(value, 'message'), node.status)
  const isBuiltIn = name === 'QuotaExceededError'
  node.promptTokens = tokens(read(value, isBuiltIn ? 'requested' : 'n_prompt_tokens'))
  node.contextTokens = tokens(read(value, isBuiltIn ? 'quota' : 'n_ctx'))

  const isChatMessage = typeof read(value, 'role') === 'string'
  for (const key of isChatMessage ? KEYS_OF_CHAT_MESSAGES : MESSAGE_KEYS) {
    const found = read(value, key)
    if (typeof found === 'string') {
      addText(node, found, push)
    } else push(found, false)
  }
  if (isChatMessage) return
  for (const key of INNER_KEYS) push(read(value, key), false)
}

function paramsOf(value: object): string[] {
  const param = read(value, 'param')
  const loc = read(value, 'loc')
  const steps = isList(loc)
    ? entriesOf(loc).filter((step) => typeof step === 'string' || typeof step === 'number')
    : []
  return [param, steps.join('.')].filter(
    (place): place is string => typeof place === 'string' && place !== '' && place.length <= MAX_CODE_LENGTH,
  )
}

/** Adds a text, or its content when it is JSON or an event stream. */
function addText(node: ErrorNode, text: string, push: Push): void {
  if (text.trim() === '') return
  node.isSilent ||= text.length <= MAX_CODE_LENGTH && NO_BODY.test(text.trim())
  node.firstText ??= text
  node.texts.push(text)
  node.status ??= httpStatus(STATUS_IN_TEXT.exec(text.slice(0, 300))?.[1])
  node.group.status ??= node.status
  if (text.length > MAX_JSON_LENGTH) return
  const streamed = eventsOf(text)
  if (streamed !== undefined) {
    node.texts.pop()
    for (const event of streamed) push(event, true)
    return
  }
  const opened = openJson(text)
  if (opened === undefined) return
  node.texts.pop()
  if (opened.around.trim() !== '') node.texts.push(opened.around)
  push(opened.value, false)
}

/** The AI SDK: an empty body, and the reason phrase as message. */
function isSilent(body: unknown, message: unknown, status: number | undefined): boolean {
  if ((status !== 400 && status !== 413) || typeof body !== 'string' || body.trim() !== '') return false
  return message === undefined || (typeof message === 'string' && REASON_PHRASE.test(message.trim()))
}

function httpStatus(value: unknown): number | undefined {
  const status = typeof value === 'string' && /^\d{3}$/.test(value) ? Number(value) : value
  return typeof status === 'number' && Number.isInteger(status) && status >= 400 && status < 600
    ? status
    : undefined
}

function tokens(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : undefined
}

function hostOf(url: unknown): string | undefined {
  if (typeof url !== 'string') return undefined
  return /^https?:\/\/([^/?#@\s]{1,200})/i.exec(url.slice(0, 300))?.[1]?.toLowerCase()
}
