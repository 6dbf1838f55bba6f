import { isObject, type Json, type JsonObject } from '../../messages/json.ts'
import type { ProviderPart, ReasoningPart, TextPart } from '../../messages/message.ts'

/** The name under which everything of ChatGPT's is kept. */
export const CHATGPT = 'chatgpt'

/** What a message of ChatGPT's says. */
export type ChatgptContent = {
  readonly parts: readonly (TextPart | ReasoningPart | ProviderPart)[]
  /** The same as one text. */
  readonly text: string
  /** Fields of the content that the parts do not say. */
  readonly rest: JsonObject
  readonly notes: readonly string[]
  /** Whether it is something a tool is called with. */
  readonly isCallable: boolean
  readonly isError: boolean
  /** Whether it is context about the user, which speaks for nobody. */
  readonly isContext: boolean
}

/** Reads a content by its `content_type`. What is of a type not known here and has no text is kept whole. */
export function contentOf(content: JsonObject): ChatgptContent {
  const { content_type: type } = content
  switch (type) {
    case 'text':
    case 'multimodal_text':
      return fromParts(content, type === 'text')
    case 'code':
      return said(content, ['text'], { isCallable: true })
    case 'execution_output':
    case 'tether_browsing_code':
      return said(content, ['text'])
    case 'system_error':
      return said(content, ['name', 'text'], { isError: true })
    case 'tether_quote':
      return said(content, ['title', 'url', 'text'])
    case 'tether_browsing_display':
      return said(content, ['result', 'summary'])
    case 'user_editable_context':
      return said(content, ['user_profile', 'user_instructions'], { isContext: true })
    case 'model_editable_context':
      return said(content, ['model_set_context'], { isContext: true })
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

/** The texts of some fields, one under the other. */
function said(content: JsonObject, names: readonly string[], marks: Marks = {}): ChatgptContent {
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

/** Words for what the export has only a pointer to. */
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
    notes.push(`content.parts[${i}]: the file has only a pointer to it, so a word stands for it`)
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

/** Content nobody is sent. */
function kept(content: JsonObject): ChatgptContent {
  return made(
    [{ type: 'provider', provider: CHATGPT, data: { content } }],
    without(content, Object.keys(content)),
    {
      notes: ['content: it is shown to people and sent nowhere'],
    },
  )
}

function fromUnknown(content: JsonObject): ChatgptContent {
  const byParts = fromParts(content, false)
  if (byParts.parts.length > 0) return byParts
  const byText = said(content, ['text'])
  if (byText.parts.length > 0) return byText
  return made(
    [{ type: 'provider', provider: CHATGPT, data: { content } }],
    {},
    {
      notes: ['content: the neutral form has no part for its type'],
    },
  )
}

/** The fields the parts do not say; the type always stays. */
function without(content: JsonObject, names: readonly string[]): JsonObject {
  const entries = Object.entries(content).filter(([name]) => name === 'content_type' || !names.includes(name))
  return Object.fromEntries(entries)
}
