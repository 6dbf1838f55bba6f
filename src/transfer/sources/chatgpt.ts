import {
  defined,
  filledText,
  isObject,
  type Json,
  type JsonObject,
  jsonProblem,
} from '../../core/messages/json.ts'
import type {
  NewMessage,
  Part,
  ProviderPart,
  ReasoningPart,
  Role,
  TextPart,
  ToolResultOutput,
  UnsentSource,
} from '../../core/messages/message.ts'
import type { FieldsEvent } from '../../store/history/import/import-types.ts'
import type { NoteEvent, Place, Source, SourceEvent } from '../source.ts'
import { messageAt, moment } from './fields.ts'
import { type BranchReader, type MessageTree, messageTree, readTrees, type TreeForm } from './trees.ts'

const FORM: TreeForm = {
  idFields: ['conversation_id', 'id'],
  messages: 'mapping',
  missing: 'it is not a conversation: it has no mapping of messages',
  treeOf: (given) => {
    const tree = treeOf(given)
    return tree && { tree }
  },
  fieldsOf: fieldsEvent,
  readerAt: (at) => new ChatgptMessages(at),
}

/** The export of ChatGPT, `conversations.json`. Fields without a place in the neutral form go into metadata. */
export const chatgpt: Source = {
  name: 'chatgpt',
  title: 'an export of ChatGPT',
  recognizes: ({ values }) => {
    const trees = values.filter((value) => isObject(value) && isObject(value.mapping)).length
    return trees > 0 && trees * 2 >= values.length
  },
  read: (input, options) => readTrees(input, options, FORM),
}

function fieldsEvent({ title, create_time, default_model_slug, ...rest }: JsonObject): FieldsEvent {
  return {
    type: 'fields',
    provider: 'openai',
    ...defined({
      title: filledText(title),
      model: filledText(default_model_slug),
      createdAt: moment(create_time),
    }),
    metadata: { ...rest, ...defined({ create_time }) },
  }
}

/** Reads the `mapping` of a conversation, without the contents of its messages; `undefined` if there is none. */
export function treeOf({
  mapping,
  current_node,
}: {
  readonly [field: string]: unknown
}): MessageTree | undefined {
  if (!isObject(mapping)) return undefined
  const nodes = new Map(Object.entries(mapping).filter(([, node]) => isObject(node))) as Map<
    string,
    JsonObject
  >
  for (const [id, node] of nodes) for (const child of childrenOf(node)) adopt(nodes, child, id)
  return messageTree(nodes, current_node, ({ create_time }) =>
    typeof create_time === 'number' ? create_time : undefined,
  )
}

function childrenOf({ children }: JsonObject): readonly unknown[] {
  return Array.isArray(children) ? children : []
}

/** A node without a parent belongs to the node that lists it as a child. */
function adopt(nodes: Map<string, JsonObject>, child: unknown, parent: string): void {
  const node = typeof child === 'string' ? nodes.get(child) : undefined
  if (node !== undefined && typeof node.parent !== 'string') nodes.set(child as string, { ...node, parent })
}

const CHATGPT = 'chatgpt' satisfies UnsentSource

type ChatgptContent = {
  readonly parts: readonly (TextPart | ReasoningPart | ProviderPart)[]
  /** The parts as one text. */
  readonly text: string
  /** Fields of the content that aren't in the parts. */
  readonly rest: JsonObject
  readonly notes: readonly string[]
  /** Whether it can be the input of a tool call. */
  readonly isCallable: boolean
  readonly isError: boolean
  /** Whether it is context about the user. */
  readonly isContext: boolean
}

/** Reads a content by its `content_type`. An unknown type without text is stored in full. */
function contentOf(content: JsonObject): ChatgptContent {
  const { content_type: type } = content
  switch (type) {
    case 'text':
    case 'multimodal_text':
      return fromParts(content, type === 'text')
    case 'code':
      return textContent(content, ['text'], { isCallable: true })
    case 'execution_output':
    case 'tether_browsing_code':
      return textContent(content, ['text'])
    case 'system_error':
      return textContent(content, ['name', 'text'], { isError: true })
    case 'tether_quote':
      return textContent(content, ['title', 'url', 'text'])
    case 'tether_browsing_display':
      return textContent(content, ['result', 'summary'])
    case 'user_editable_context':
      return textContent(content, ['user_profile', 'user_instructions'], { isContext: true })
    case 'model_editable_context':
      return textContent(content, ['model_set_context'], { isContext: true })
    case 'thoughts':
      return fromThoughts(content)
    case 'reasoning_recap':
      return kept(content)
    default:
      return fromUnknown(content)
  }
}

type Marks = Partial<Pick<ChatgptContent, 'isCallable' | 'isError' | 'isContext'>>

function made(
  parts: ChatgptContent['parts'],
  rest: JsonObject,
  { notes = [], ...marks }: Marks & { readonly notes?: readonly string[] } = {},
): ChatgptContent {
  const text = parts.flatMap((part) => (part.type === 'provider' ? [] : [part.text])).join('\n')
  return { parts, text, rest, notes, isCallable: false, isError: false, isContext: false, ...marks }
}

/** Returns the texts of some fields, joined by line breaks. */
function textContent(content: JsonObject, names: readonly string[], marks: Marks = {}): ChatgptContent {
  const texts = names
    .map((name) => content[name])
    .filter((text) => typeof text === 'string' && text.trim() !== '')
  const rest = without(content, names.length === 1 ? names : [])
  return texts.length === 0 ? made([], rest) : made([{ type: 'text', text: texts.join('\n\n') }], rest, marks)
}

function fromParts(content: JsonObject, isCallable: boolean): ChatgptContent {
  const list: readonly Json[] = Array.isArray(content.parts) ? content.parts : []
  const notes: string[] = []
  const parts = list.flatMap((part, i): (TextPart | ProviderPart)[] => {
    if (typeof part === 'string') return part.trim() === '' ? [] : [{ type: 'text', text: part }]
    return isObject(part) ? [fromPart(part, i, notes)] : []
  })
  return made(parts, without(content, ['parts']), { notes, isCallable })
}

/** Placeholders for files that the export only refers to. */
const WORDS: readonly (readonly [type: RegExp, word: string])[] = [
  [/image_asset_pointer$/, '[image]'],
  [/video/, '[video]'],
  [/audio/, '[audio]'],
]

function fromPart(part: JsonObject, i: number, notes: string[]): TextPart | ProviderPart {
  const type = typeof part.content_type === 'string' ? part.content_type : ''
  if (type === 'audio_transcription' && typeof part.text === 'string' && part.text.trim() !== '') {
    const { text, ...rest } = part
    return { type: 'text', text: part.text, providerOptions: { [CHATGPT]: rest } }
  }
  const word = WORDS.find(([pattern]) => pattern.test(type))?.[1]
  if (word !== undefined) {
    notes.push(`content.parts[${i}]: the file has only a reference to it, so a word replaces it`)
    return { type: 'text', text: word, providerOptions: { [CHATGPT]: { part } } }
  }
  notes.push(`content.parts[${i}]: the neutral form has no part for it`)
  return { type: 'provider', provider: CHATGPT, data: { part } }
}

function fromThoughts(content: JsonObject): ChatgptContent {
  const list: readonly Json[] = Array.isArray(content.thoughts) ? content.thoughts : []
  const parts = list.flatMap((thought): ReasoningPart[] => {
    if (!isObject(thought)) return []
    const texts = [thought.summary, thought.content].filter(
      (text) => typeof text === 'string' && text.trim() !== '',
    )
    if (texts.length === 0) return []
    const { content: _, ...rest } = thought as JsonObject
    const providerOptions = { [CHATGPT]: { thought: rest } }
    return [{ type: 'reasoning', text: texts.join('\n\n'), providerOptions }]
  })
  return made(parts, without(content, ['thoughts']))
}

/** Content that is never sent. */
function kept(content: JsonObject): ChatgptContent {
  return made(
    [{ type: 'provider', provider: CHATGPT, data: { content } }],
    without(content, Object.keys(content)),
    {
      notes: ['content: it is shown to people and never sent'],
    },
  )
}

function fromUnknown(content: JsonObject): ChatgptContent {
  const byParts = fromParts(content, false)
  if (byParts.parts.length > 0) return byParts
  const byText = textContent(content, ['text'])
  if (byText.parts.length > 0) return byText
  return made(
    [{ type: 'provider', provider: CHATGPT, data: { content } }],
    {},
    {
      notes: ['content: the neutral form has no part for its type'],
    },
  )
}

/** Returns the fields that aren't in the parts, and always the type. */
function without(content: JsonObject, names: readonly string[]): JsonObject {
  const entries = Object.entries(content).filter(([name]) => name === 'content_type' || !names.includes(name))
  return Object.fromEntries(entries)
}

const ROLES: ReadonlySet<unknown> = new Set<Role>(['system', 'user', 'assistant', 'tool'])

type OpenCall = { readonly tool: string; readonly id: string }

class ChatgptMessages implements BranchReader {
  readonly #at: Place
  #count = 0
  blank = 0
  #open: OpenCall | undefined

  constructor(at: Place) {
    this.#at = at
  }

  *read(id: string, message: unknown): Generator<SourceEvent, void, undefined> {
    if (message === null || message === undefined) return
    this.#count += 1
    const at = messageAt(this.#at, this.#count)
    const why = problemOf(message)
    if (why !== undefined) yield { type: 'problem', at, why }
    else yield* this.#readMessage(id, message as JsonObject, at)
  }

  *#readMessage(id: string, message: JsonObject, at: Place): Generator<SourceEvent, void, undefined> {
    const content = contentOf(message.content as JsonObject)
    if (content.parts.length === 0) {
      this.blank += 1
      return
    }
    const made = message.weight === 0 ? unsent(message) : this.#spoken(id, message, content)
    yield { type: 'message', at, message: { ...made, ...about(id, message, content) } }
    const notes = message.weight === 0 ? ['its weight is 0, so it is never sent'] : content.notes
    for (const why of notes) yield { type: 'note', at, kind: 'kept', why } satisfies NoteEvent
  }

  #spoken(id: string, message: JsonObject, content: ChatgptContent): Pick<NewMessage, 'role' | 'content'> {
    const { role, name } = message.author as JsonObject
    const { recipient } = message
    if (role === 'tool') return this.#answer(id, typeof name === 'string' ? name : undefined, content)
    if (role === 'assistant' && typeof recipient === 'string' && recipient !== 'all' && content.isCallable)
      return this.#call(id, recipient, content)
    if (role !== 'assistant') this.#open = undefined
    return { role: content.isContext ? 'system' : (role as Role), content: content.parts }
  }

  #call(id: string, tool: string, content: ChatgptContent): Pick<NewMessage, 'role' | 'content'> {
    this.#open = { tool, id }
    return {
      role: 'assistant',
      content: [{ type: 'tool-call', toolCallId: id, toolName: tool, input: inputOf(content) }],
    }
  }

  /** The first message of the called tool is the result of the call; a second one becomes a separate message. */
  #answer(
    id: string,
    name: string | undefined,
    content: ChatgptContent,
  ): Pick<NewMessage, 'role' | 'content'> {
    const call = this.#open
    const isAnswer = call !== undefined && (name === undefined || isSameTool(call.tool, name))
    if (isAnswer) this.#open = undefined
    const toolName = isAnswer ? call.tool : name
    return {
      role: 'tool',
      content: [
        {
          type: 'tool-result',
          toolCallId: isAnswer ? call.id : id,
          ...(toolName !== undefined && { toolName }),
          output: outputOf(content),
        },
      ],
    }
  }
}

function problemOf(message: unknown): string | undefined {
  if (!isObject(message)) return 'message: must be an object'
  if (!isObject(message.author) || !ROLES.has(message.author.role))
    return 'message.author.role: must be system, user, assistant or tool'
  if (!isObject(message.content)) return 'message.content: must be an object'
  const problem = jsonProblem(message)
  return problem === undefined ? undefined : `message: contains ${problem}`
}

/** Returns whether two names refer to the same tool: a tool may be named with the called function (`web.run`) or without it (`web`). */
function isSameTool(called: string, name: string): boolean {
  return called === name || called.startsWith(`${name}.`) || name.startsWith(`${called}.`)
}

/** Returns a message that ChatGPT doesn't send: stored in full, and never sent. */
function unsent(message: JsonObject): Pick<NewMessage, 'role' | 'content'> {
  const { role } = message.author as JsonObject
  const data = { message: { content: message.content ?? null } }
  return {
    role: role === 'tool' ? 'assistant' : (role as Role),
    content: [{ type: 'provider', provider: CHATGPT, data }],
  }
}

/** Returns the input of a call: the object if the text is one in JSON; otherwise the text as code. */
function inputOf({ text }: ChatgptContent): Json {
  try {
    const value = JSON.parse(text) as unknown
    if (isObject(value) && jsonProblem(value) === undefined) return value as JsonObject
  } catch {
    // code
  }
  return { code: text }
}

function outputOf({ parts, text, isError }: ChatgptContent): ToolResultOutput {
  if (isError) return { type: 'error-text', value: text }
  const isText = parts.every((part) => part.type === 'text' && part.providerOptions === undefined)
  if (isText) return { type: 'text', value: text }
  return { type: 'content', value: parts.map(contentPart) }
}

/** A result can't contain reasoning, so it becomes text. */
function contentPart(part: Part): Extract<Part, { type: 'text' | 'provider' }> {
  if (part.type === 'text' || part.type === 'provider') return part
  return { type: 'text', text: part.type === 'reasoning' ? part.text : '' }
}

function about(id: string, message: JsonObject, content: ChatgptContent): Partial<NewMessage> {
  const { id: own, author, content: _, ...rest } = message
  const { role: __, ...speaker } = author as JsonObject
  const createdAt = moment(message.create_time)
  const kept: JsonObject = {
    ...rest,
    ...(own !== id && own !== undefined && { id: own }),
    ...(Object.keys(speaker).length > 0 && { author: speaker }),
    content: content.rest,
  }
  return {
    idempotencyKey: `${CHATGPT}:${id}`,
    ...(createdAt !== undefined && { createdAt }),
    metadata: { [CHATGPT]: kept },
  }
}
