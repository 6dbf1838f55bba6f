import { parsedJson } from '../messages/json.ts'

/** A list of words. */
export const words = (text: string): readonly string[] => text.trim().split(/\s+/)

/** The most objects that are read from one error. Longer chains of causes are cut; real ones are far shorter. */
const MAX_OBJECTS = 30_000
/** The most entries of a list that are read from each end. */
const MAX_ENTRIES = 200
/** The longest code, type or name, in UTF-16 units. */
const MAX_CODE_LENGTH = 200
/** The longest text that is parsed as JSON, in UTF-16 units; longer texts are searched as text. */
const MAX_JSON_LENGTH = 2_000_000

/*
 * The keys that are read. This is an allow-list, because errors also contain the request (`requestBodyValues`, `config`, `request`,
 * `input`, `messages`, `flagged_input`), and a conversation may quote any error.
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
/** Keys of a chat message that describe its own failure; its content is part of a conversation. */
const KEYS_OF_CHAT_MESSAGES = words('errorMessage error')
const CODE_KEYS = words(`
  name code Code type __type status statusText errorType error_type errorCode error_code lc_error_code reason error
`)
const STATUS_KEYS = words(`
  status statusCode status_code httpStatus httpStatusCode http_status OriginalStatusCode code
`)
const PROVIDER_KEYS = words('provider providerId provider_id llm_provider')

/** A status at the beginning of a text: "429 {…}", "Error code: 400 - {…}", "failed with status code 402". */
const STATUS_IN_TEXT =
  /(?:^\s{0,20}|\b(?:status|code|error|http)[:\s(]{1,3})([45]\d\d)(?=$|[\s:,.{)-])(?!\s?tokens)/i
/** The message of OpenAI's and Anthropic's SDKs for an empty body. */
const NO_BODY = /^(?:\w{1,40}: )?4(?:00|13) (?:status code )?\(no body\)$/i
/** The message of an error with an empty body: the reason phrase of the status, or empty. */
const REASON_PHRASE = /^(?:bad request|(?:payload|content|request entity) too large|request too long)?$/i
/** Endpoints that don't take a conversation. */
const OTHER_CALL =
  /\/(?:files|uploads|embeddings|moderations|batches|models|count_tokens)(?:$|[?#])|\/(?:images|audio|fine_tuning|files)\//i

/** The content of one object of an error. Texts are raw; `parent` is the enclosing object. */
export class ErrorNode {
  readonly parent: ErrorNode | undefined
  /** The account of one failure: objects that are not joined by a list belong to the same account. */
  readonly group: { status: number | undefined; codes: string[] }
  readonly texts: string[] = []
  /** The first text, before parsing. */
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
  /** Figures in fields: the size of the prompt and of the context. */
  promptTokens: number | undefined
  contextTokens: number | undefined
  /** Whether a model call was refused with 400 or 413 and an empty body, as some providers do with requests that are too long. */
  isSilent = false
  /** Whether the request has no conversation: an upload, embeddings and the like. */
  isOtherCall = false
  /** Whether the error is this package's own, so that its text is not from a provider. */
  isOurs = false

  constructor(parent?: ErrorNode, listed = false) {
    this.parent = parent
    if (parent === undefined) this.group = { status: undefined, codes: [] }
    else this.group = listed ? { ...parent.group, codes: [] } : parent.group
  }
}

/** Returns the status of an object: its own, or else that of its parent, or else that of its account. */
export function statusOf(node: ErrorNode): number | undefined {
  let holder: ErrorNode | undefined = node
  for (let steps = 0; holder !== undefined && steps < 50; steps++) {
    if (holder.status !== undefined) return holder.status
    holder = holder.parent
  }
  return node.group.status
}

type Push = (inner: unknown, listed: boolean) => void

/**
 * Reads a thrown value into a flat list, outermost first. Never throws: getters that throw count as absent, no methods of the value are
 * called, and cycles are cut. JSON texts, even within another text, byte arrays and event streams are parsed.
 */
export function readError(error: unknown): readonly ErrorNode[] {
  const nodes: ErrorNode[] = []
  const seen = new Set<unknown>()
  const queue: { value: object | string; parent: ErrorNode | undefined; listed: boolean }[] = []
  const push = (value: unknown, parent: ErrorNode | undefined, listed: boolean): void => {
    if (queue.length >= MAX_OBJECTS || value === null) return
    if (typeof value === 'object') {
      if (seen.has(value)) return
      seen.add(value)
    } else if (typeof value !== 'string') return
    queue.push({ value, parent, listed })
  }
  push(error, undefined, false)
  // The loop also reads entries that are pushed while it runs.
  for (const { value, parent, listed } of queue) {
    const content = typeof value === 'string' ? value : (textOfBytes(value) ?? value)
    if (isList(content)) {
      for (const entry of entriesOf(content)) push(entry, parent, true)
      continue
    }
    const node = new ErrorNode(parent, listed)
    nodes.push(node)
    const add: Push = (inner, inList) => push(inner, node, inList)
    if (typeof content === 'string') addText(node, content, add)
    else readObject(content, node, add)
  }
  return nodes
}

function readObject(value: object, node: ErrorNode, push: Push): void {
  const get = (key: string): unknown => read(value, key)
  const code = (key: string): string[] => {
    const found = get(key)
    return typeof found === 'string' && found !== '' && found.length <= MAX_CODE_LENGTH ? [found] : []
  }
  const name = get('name')
  if (name === 'ContextBudgetExceededError' || get('code') === 'CONTEXT_BUDGET_EXCEEDED') {
    // This error ends a recovery: its cause has been handled.
    node.isOurs = true
    const message = get('message')
    if (typeof message === 'string' && message !== '') node.firstText = message
    return
  }
  node.isOurs = name === 'UndertextError'
  for (const one of CODE_KEYS.flatMap(code)) node.codes.push(one)
  for (const key of STATUS_KEYS) node.status ??= httpStatus(get(key))
  const metadata = get('$metadata')
  if (typeof metadata === 'object' && metadata !== null)
    node.status ??= httpStatus(read(metadata, 'httpStatusCode'))
  node.group.status ??= node.status
  if (node.group.codes.length < MAX_ENTRIES) for (const one of node.codes) node.group.codes.push(one)
  node.provider = PROVIDER_KEYS.flatMap(code)[0]
  if (typeof metadata === 'object' && name !== 'ModelError') node.provider ??= 'bedrock'
  const loc = get('loc')
  const path = isList(loc) ? entriesOf(loc).filter((step) => /^(?:string|number)$/.test(typeof step)) : []
  const place = path.join('.')
  for (const one of code('param')) node.params.push(one)
  if (place !== '' && place.length <= MAX_CODE_LENGTH) node.params.push(place)
  const url = get('url')
  if (typeof url === 'string') {
    node.host = /^https?:\/\/([^/?#@\s]{1,200})/i.exec(url.slice(0, 300))?.[1]?.toLowerCase()
    node.isOtherCall = OTHER_CALL.test(url.slice(0, 1_000))
  }
  node.isSilent = isSilent(get('responseBody'), get('message'), node.status)
  // The error of the browser's built-in language model, and llama.cpp's.
  const isBuiltIn = name === 'QuotaExceededError'
  node.promptTokens = tokens(get(isBuiltIn ? 'requested' : 'n_prompt_tokens'))
  node.contextTokens = tokens(get(isBuiltIn ? 'quota' : 'n_ctx'))

  const isChatMessage = typeof get('role') === 'string'
  for (const key of isChatMessage ? KEYS_OF_CHAT_MESSAGES : MESSAGE_KEYS) {
    const found = get(key)
    if (typeof found === 'string') addText(node, found, push)
    else push(found, false)
  }
  if (!isChatMessage) for (const key of INNER_KEYS) push(get(key), false)
}

/** Adds a text, or its content if it is JSON or an event stream. */
function addText(node: ErrorNode, text: string, push: Push): void {
  if (text.trim() === '') return
  node.isSilent ||= text.length <= MAX_CODE_LENGTH && NO_BODY.test(text.trim())
  node.firstText ??= text
  node.status ??= httpStatus(STATUS_IN_TEXT.exec(text.slice(0, 300))?.[1])
  node.group.status ??= node.status
  const events = text.length > MAX_JSON_LENGTH ? undefined : eventsOf(text)
  if (events !== undefined) {
    for (const event of events) push(event, true)
    return
  }
  const json = text.length > MAX_JSON_LENGTH ? undefined : openJson(text)
  const around = json?.around ?? text
  if (around.trim() !== '') node.texts.push(around)
  push(json?.value, false)
}

/** Recognizes an empty body in the AI SDK, whose message is then the reason phrase. */
function isSilent(body: unknown, message: unknown, status: number | undefined): boolean {
  if ((status !== 400 && status !== 413) || typeof body !== 'string' || body.trim() !== '') return false
  return message === undefined || (typeof message === 'string' && REASON_PHRASE.test(message.trim()))
}

function httpStatus(value: unknown): number | undefined {
  const status = typeof value === 'string' && /^\d{3}$/.test(value) ? Number(value) : value
  return Number.isInteger(status) && Number(status) >= 400 && Number(status) < 600
    ? Number(status)
    : undefined
}

function tokens(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : undefined
}

/** Returns the JSON in a text, from its first bracket to its last, and the text around it. */
function openJson(text: string): { readonly value: unknown; readonly around: string } | undefined {
  if (text.trimStart()[0] === '"') {
    const value = parsedJson(text)
    return typeof value === 'string' ? { value, around: '' } : undefined
  }
  const brace = text.indexOf('{')
  if (brace === -1) return undefined
  // A list that begins just before the first object belongs to it.
  const before = text.slice(0, brace).trimEnd()
  const from = before.endsWith('[') ? before.length - 1 : brace
  const to = Math.max(text.lastIndexOf('}'), text.lastIndexOf(']'))
  const value =
    parsedJson(text.slice(from, to + 1)) ??
    (from < brace ? parsedJson(text.slice(brace, text.lastIndexOf('}') + 1)) : undefined)
  if (typeof value !== 'object' || value === null) return undefined
  return { value, around: `${text.slice(0, from)} ${text.slice(to + 1)}` }
}

/** Returns the payloads of a stream of server-sent events, or `undefined` if the text isn't such a stream. */
function eventsOf(text: string): readonly unknown[] | undefined {
  if (!/^\s{0,20}(?:event|data|id|retry):/.test(text)) return undefined
  const payloads = text
    .split(/\r?\n|\r/)
    .filter((line) => line.startsWith('data:'))
    // All prefixes at once: otherwise a nested payload would be read once per prefix.
    .map((line) => line.replace(/^(?:data:\s*)+/, '').trimEnd())
  return payloads.length === 0 ? undefined : entriesOf(payloads)
}

/** Returns the text of bytes: a view, a buffer, or the JSON of a Buffer. Returns `undefined` for other values. */
function textOfBytes(value: object): string | undefined {
  try {
    const data = read(value, 'type') === 'Buffer' ? read(value, 'data') : value
    let bytes: Uint8Array | undefined
    if (ArrayBuffer.isView(data)) bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
    else if (data instanceof ArrayBuffer) bytes = new Uint8Array(data)
    else if (data !== value && isList(data) && data.length <= MAX_JSON_LENGTH)
      bytes = Uint8Array.from(data as number[])
    return bytes && new TextDecoder().decode(bytes)
  } catch {
    return undefined
  }
}

/** `Array.isArray`, but false for a revoked Proxy, for which the original throws. */
function isList(value: unknown): value is readonly unknown[] {
  try {
    return Array.isArray(value)
  } catch {
    return false
  }
}

/** Returns the entries of a list; for a long list, only those at its ends. */
function entriesOf(list: readonly unknown[]): unknown[] {
  const entries: unknown[] = []
  const length = read(list, 'length')
  if (typeof length !== 'number') return entries
  for (let i = 0; i < Math.min(length, MAX_ENTRIES); i++) entries.push(read(list, i))
  for (let i = Math.max(MAX_ENTRIES, length - MAX_ENTRIES); i < length; i++) entries.push(read(list, i))
  return entries
}

/** Returns a property of a foreign object; a property that throws counts as absent. */
function read(value: object, key: string | number): unknown {
  try {
    return (value as Record<string | number, unknown>)[key]
  } catch {
    return undefined
  }
}
