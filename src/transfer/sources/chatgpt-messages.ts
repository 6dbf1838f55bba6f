import { isObject, type Json, type JsonObject, jsonProblem } from '../../messages/json.ts'
import type { NewMessage, Part, Role, ToolResultOutput } from '../../messages/message.ts'
import type { NoteEvent, Place, SourceEvent } from '../source.ts'
import { CHATGPT, type ChatgptContent, contentOf } from './chatgpt-content.ts'
import { moment } from './moment.ts'
import type { BranchReader } from './tree-conversations.ts'

const ROLES: ReadonlySet<unknown> = new Set<Role>(['system', 'user', 'assistant', 'tool'])

/** A call that no tool has answered yet: the tool it was made of, and its id. */
type OpenCall = { readonly tool: string; readonly id: string }

/** Reads the messages of one branch, in order. */
export class ChatgptMessages implements BranchReader {
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
    const at = { ...(this.#at.line !== undefined && { line: this.#at.line }), element: this.#count }
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
    const notes = message.weight === 0 ? ['it has the weight 0, so it is sent nowhere'] : content.notes
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

  /** The first answer of the tool that was called belongs to the call; another one stands for itself. */
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
  return problem === undefined ? undefined : `message: holds ${problem}`
}

/** A tool may be named with the function that was called (`web.run`) or without (`web`). */
function isSameTool(called: string, name: string): boolean {
  return called === name || called.startsWith(`${name}.`) || name.startsWith(`${called}.`)
}

/** A message ChatGPT does not send: kept whole, for nobody to read. */
function unsent(message: JsonObject): Pick<NewMessage, 'role' | 'content'> {
  const { role } = message.author as JsonObject
  const data = { message: { content: message.content ?? null } }
  return {
    role: role === 'tool' ? 'assistant' : (role as Role),
    content: [{ type: 'provider', provider: CHATGPT, data }],
  }
}

/** What is called with: JSON where the text is an object of it, else the text as code. */
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

/** A result holds no reasoning: it is a text there. */
function contentPart(part: Part): Extract<Part, { type: 'text' | 'provider' }> {
  if (part.type === 'text' || part.type === 'provider') return part
  return { type: 'text', text: part.type === 'reasoning' ? part.text : '' }
}

/** The key, the time, and everything of a message that has no place elsewhere. */
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
