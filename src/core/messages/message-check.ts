import { invalid } from '../errors.ts'
import { fitsIndex, isStorableText, MAX_NAME_LENGTH, NAME_BYTES_RULE, readable } from './check.ts'
import { isObject, jsonProblem } from './json.ts'
import { type NewMessage, ROLES } from './message.ts'

/*
 * Checks messages without a zod schema: the check runs on every append, must keep the caller's own object (zod's copies drop a
 * `__proto__` key), and must report which part is wrong, not which of seven alternatives failed.
 */

type Unknown = { readonly [key: string]: unknown }
type Check = (value: unknown) => string | undefined

const MESSAGE_KEYS = new Set(['role', 'content', 'metadata', 'id', 'createdAt', 'idempotencyKey'])

/** Keys of messages and types of parts in other formats, with the functions that convert them. */
const FOREIGN_KEYS: ReadonlyMap<unknown, string> = new Map([
  ['tool_calls', 'fromOpenAI'],
  ['tool_call_id', 'fromOpenAI'],
  ['function_call', 'fromOpenAI'],
  ['refusal', 'fromOpenAI'],
  ['stop_reason', 'fromAnthropic'],
  ['parts', 'fromUIMessages of undertext/ai-sdk, or fromGemini,'],
])
const FOREIGN_TYPES: ReadonlyMap<unknown, string> = new Map([
  ['image_url', 'fromOpenAI'],
  ['input_audio', 'fromOpenAI'],
  ['tool_use', 'fromAnthropic'],
  ['tool_result', 'fromAnthropic'],
  ['thinking', 'fromAnthropic'],
  ['document', 'fromAnthropic'],
])

function formHint(converter: string | undefined): string {
  return converter === undefined ? '' : ` (messages of another format? ${converter} converts them)`
}

/** Returns the problem of a message, or `undefined`. The problem contains paths and kinds, never values. */
export function messageProblem(value: unknown): string | undefined {
  if (!isRecord(value)) return 'must be an object'
  const message = value as Unknown & NewMessage
  for (const key in message)
    if (!MESSAGE_KEYS.has(key)) return `unknown key ${namedKey(key)}${formHint(FOREIGN_KEYS.get(key))}`
  if (!(ROLES as readonly unknown[]).includes(message.role)) return `.role must be one of ${ROLES.join(', ')}`
  const problem = contentProblem(message.content)
  if (problem !== undefined) return `.content${problem}`
  if (message.metadata !== undefined) {
    const found = isRecord(message.metadata) ? jsonProblem(message.metadata) : 'not an object'
    if (found !== undefined) return `.metadata must be a JSON object: ${found}`
  }
  for (const name of ['id', 'idempotencyKey'] as const) {
    const given = message[name]
    if (given === undefined) continue
    if (!isName(given)) return `.${name} ${NAME_RULE}`
    if (!fitsIndex(given)) return `.${name} ${NAME_BYTES_RULE}`
  }
  if (message.createdAt !== undefined && !Number.isSafeInteger(message.createdAt)) {
    return '.createdAt must be a whole number of milliseconds'
  }
  return undefined
}

const NAME_RULE = `must be a string of 1 to ${MAX_NAME_LENGTH} characters without NUL or lone surrogates`

function isName(value: unknown): boolean {
  return typeof value === 'string' && value !== '' && value.length <= MAX_NAME_LENGTH && isStorableText(value)
}

/** Like `messageProblem`, for the content alone. */
export function contentProblem(content: unknown): string | undefined {
  if (typeof content === 'string') return undefined
  if (!Array.isArray(content)) return ' must be a string or an array of parts'
  if (typeof (content as { toJSON?: unknown }).toJSON === 'function')
    return ' must be an array without a toJSON method'
  for (let index = 0; index < content.length; index++) {
    const problem = partProblem(content[index])
    if (problem !== undefined) return `[${index}]${problem}`
  }
  return undefined
}

const text: Check = (value) => (typeof value === 'string' ? undefined : 'must be a string')
const flag: Check = (value) => (typeof value === 'boolean' ? undefined : 'must be true or false')
const data: Check = (value) =>
  typeof value === 'string' || value instanceof Uint8Array ? undefined : 'must be a string or a Uint8Array'
const json: Check = (value) => {
  const problem = jsonProblem(value)
  return problem === undefined ? undefined : `must be a JSON value: ${problem}`
}
const options: Check = (value) => (isRecord(value) ? json(value) : 'must be a JSON object')
const optional =
  (check: Check): Check =>
  (value) =>
    value === undefined ? undefined : check(value)

/** The parts that an output of type `content` may contain. */
const CONTENT_ITEMS = new Set(['text', 'image', 'file', 'provider'])

const output: Check = (value) => {
  if (!isRecord(value)) return 'must be an object'
  const { type, value: inner } = value as Unknown
  for (const key in value) {
    if (key !== 'type' && key !== 'value' && !(key === 'isError' && type === 'content')) {
      return `has an unknown key ${namedKey(key)}`
    }
  }
  switch (type) {
    case 'text':
    case 'error-text':
      return text(inner)
    case 'json':
    case 'error-json':
      return json(inner)
    case 'content': {
      if (!Array.isArray(inner)) return 'must have an array as its value'
      const failed = optional(flag)((value as Unknown).isError)
      if (failed !== undefined) return `.isError ${failed}`
      for (let index = 0; index < inner.length; index++) {
        const item = inner[index] as unknown
        if (!isRecord(item) || !CONTENT_ITEMS.has((item as Unknown).type as string))
          return `[${index}] has an unknown type`
        const problem = partProblem(item)
        if (problem !== undefined) return `[${index}]${problem}`
      }
      return undefined
    }
    default:
      return 'has an unknown type'
  }
}

const PARTS: ReadonlyMap<unknown, ReadonlyMap<string, Check>> = new Map(
  Object.entries({
    text: { text, providerOptions: optional(options) },
    reasoning: { text, providerOptions: optional(options) },
    image: { image: data, mediaType: optional(text), providerOptions: optional(options) },
    file: { data, mediaType: text, filename: optional(text), providerOptions: optional(options) },
    'tool-call': {
      toolCallId: text,
      toolName: text,
      input: json,
      providerExecuted: optional(flag),
      providerOptions: optional(options),
    },
    'tool-result': { toolCallId: text, toolName: optional(text), output, providerOptions: optional(options) },
    provider: { provider: text, data: json },
  }).map(([type, checks]) => [type, new Map(Object.entries(checks))]),
)

function partProblem(part: unknown): string | undefined {
  if (!isRecord(part)) return ' must be an object'
  const record = part as Unknown
  const checks = PARTS.get(record.type)
  if (checks === undefined) return `.type is unknown${formHint(FOREIGN_TYPES.get(record.type))}`
  for (const key in record) {
    if (key !== 'type' && !checks.has(key)) return ` has an unknown key ${namedKey(key)}`
  }
  for (const [key, check] of checks) {
    const problem = check(record[key])
    if (problem !== undefined) return `.${key} ${problem}`
  }
  return undefined
}

function isRecord(value: unknown): value is Unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const prototype = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

/** Quotes a key that may be a misspelled name; any other key may be text of a conversation and is not quoted. */
function namedKey(key: string): string {
  return /^[A-Za-z_$][\w$]{0,39}$/.test(key) ? JSON.stringify(key) : `of ${key.length} characters`
}

/**
 * Checks the minimum that pure functions need: objects with a role, whose content is a text or a list of typed parts. Throws
 * `INVALID_INPUT` with the place, not the value.
 */
export function checkMessageList(messages: unknown, what: string): void {
  readable(what, () => refuseShapeless(messages, what))
}

function refuseShapeless(messages: unknown, what: string): void {
  if (!Array.isArray(messages)) throw invalid(`${what}: messages must be an array`)
  for (let index = 0; index < messages.length; index++) {
    const message = messages[index] as unknown
    if (!isObject(message) || typeof message.role !== 'string') {
      throw invalid(`${what}: messages[${index}] must be an object with a role`)
    }
    const { content } = message
    if (typeof content === 'string') continue
    if (
      !Array.isArray(content) ||
      !content.every((part) => isObject(part) && typeof part.type === 'string')
    ) {
      throw invalid(`${what}: messages[${index}].content must be a string or an array of parts`)
    }
  }
}

/**
 * Reads messages whose contents are unchecked, because most come from a store. If that fails, the error names the first content that is
 * not in the neutral form.
 */
export function readMessages<T>(messages: readonly unknown[], what: string, read: () => T): T {
  checkMessageList(messages, what)
  return readable(what, read, () => {
    for (const [index, message] of messages.entries()) {
      const problem = contentProblem((message as { readonly content: unknown }).content)
      if (problem !== undefined) return `messages[${index}].content${problem}`
    }
    return undefined
  })
}

/** Checks an optional provider name. Throws `INVALID_INPUT`. */
export function checkProviderName(provider: unknown, what: string): void {
  if (provider !== undefined && typeof provider !== 'string')
    throw invalid(`${what}: provider must be a string`)
}

/** Checks messages before they are stored. `what` is the name of the argument. Throws `INVALID_INPUT`. */
export function checkMessages(
  messages: unknown,
  what = 'messages',
): asserts messages is readonly NewMessage[] {
  readable(what, () => refuseWrong(messages, what))
}

function refuseWrong(messages: unknown, what: string): void {
  if (!Array.isArray(messages)) throw invalid(`${what} must be an array`)
  if (messages.length === 0) throw invalid(`${what} must not be empty`)
  for (let index = 0; index < messages.length; index++) {
    const problem = messageProblem(messages[index])
    if (problem !== undefined)
      throw invalid(`${what}[${index}]${problem.startsWith('.') ? '' : ' '}${problem}`)
  }
}
