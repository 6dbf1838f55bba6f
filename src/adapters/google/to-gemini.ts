import { isBlank } from '../../core/messages/characters.ts'
import { isObject, type Json, type JsonObject, objectInput } from '../../core/messages/json.ts'
import {
  isResult,
  type Message,
  type Part,
  type ProviderPart,
  partsOf,
  type ReasoningPart,
  type TextPart,
  type ToolCallPart,
  type ToolResultContent,
  type ToolResultOutput,
  type ToolResultPart,
} from '../../core/messages/message.ts'
import { readMessages } from '../../core/messages/message-check.ts'
import { DUMMY_SIGNATURE } from '../../core/tokens/reasoning-bindings.ts'
import { type Conversion, type ConversionOptions, omissionReason, unknownPart } from '../conversion.ts'
import {
  answeredRunsOf,
  beginTurn,
  beginWriting,
  omit,
  placesOf,
  resultsFirst,
  type Writing,
} from '../runs.ts'
import { keptFor } from '../wire.ts'
import {
  type GeminiContent,
  type GeminiConversation,
  type GeminiInstruction,
  type GeminiPart,
  type GeminiPlace,
  type GeminiResponsePart,
  GOOGLE,
  mediaPart,
  orderOf,
  ownOf,
  partOptions,
  responseOfItems,
  toResponse,
} from './gemini-parts.ts'

/** Provider names of parts of Gemini: of this format, and of the AI SDK for other ways to reach it. */
const PROVIDERS: ReadonlySet<string> = new Set(['google', 'google-ai', 'vertex'])

/** A part to send; `undefined` for a part without a place there, which is reported. */
function writePart(part: Part, place: GeminiPlace, writing: Writing): GeminiPart | undefined {
  switch (part.type) {
    case 'text':
      return writeText(part, writing)
    case 'reasoning':
      return writeReasoning(part, writing)
    case 'image':
    case 'file':
      return place === 'system'
        ? omit(writing, 'a system instruction can only contain text')
        : mediaPart(part)
    case 'tool-call':
      return writeCall(part, writing)
    case 'tool-result':
      return writeAnswer(part, writing)
    case 'provider':
      return writeWhole(part, writing)
    default:
      throw unknownPart(writing.path)
  }
}

function writeText({ text, providerOptions }: TextPart, writing: Writing): GeminiPart | undefined {
  const options = partOptions(providerOptions)
  if (options === undefined && isBlank(text))
    return omit(writing, 'the API rejects text without visible characters')
  const { form: _, ...fields } = options?.fields ?? {}
  return { text, ...fields }
}

function writeReasoning({ text, providerOptions }: ReasoningPart, writing: Writing): GeminiPart | undefined {
  const options = partOptions(providerOptions)
  if (options === undefined) return omit(writing, 'Gemini accepts only its own reasoning')
  return { text, thought: true, ...options.fields }
}

/** A part that was kept whole. Parts that the AI SDK keeps whole are in its own form. */
function writeWhole({ provider, data }: ProviderPart, writing: Writing): GeminiPart | undefined {
  if (!PROVIDERS.has(provider)) return omit(writing, omissionReason(provider, GOOGLE))
  if (!isObject(data) || 'ai-sdk' in data || 'type' in data)
    return omit(writing, omissionReason(GOOGLE, GOOGLE))
  return { ...data } as GeminiPart
}

function writeCall(part: ToolCallPart, writing: Writing): GeminiPart {
  const options = partOptions(part.providerOptions)
  const args = argsOf(part, writing)
  if (options?.serverTool !== undefined)
    return { toolCall: { ...options.serverTool, args }, ...options.fields }
  if (part.providerExecuted === true)
    writing.conversion.note(
      'changed',
      writing.path,
      "a call that a provider ran itself is sent as one of the application's functions",
    )
  const { own, rest } = ownOf(options?.fields ?? {}, 'functionCall')
  const { id, args: argsMark, ...more } = own
  const hadNone = argsMark === null && Object.keys(args).length === 0
  return {
    functionCall: {
      ...idOf(part.toolCallId, id),
      name: part.toolName,
      ...(!hadNone && { args }),
      ...more,
    },
    ...rest,
  }
}

/** The id to send: none if none was given, another if another was given. */
function idOf(toolCallId: string, mark: Json | undefined): { id?: string } {
  return mark === null ? {} : { id: typeof mark === 'string' ? mark : toolCallId }
}

function argsOf({ input }: ToolCallPart, { conversion, path }: Writing): JsonObject {
  if (isObject(input)) return input
  conversion.note('changed', `${path}.input`, "the input isn't an object, so it is sent as one")
  return objectInput(input)
}

function writeAnswer(part: ToolResultPart, writing: Writing): GeminiPart {
  const options = partOptions(part.providerOptions)
  if (options?.serverTool !== undefined) return serverAnswer(part, options.serverTool, options.fields)
  const { own, rest } = ownOf(options?.fields ?? {}, 'functionResponse')
  const { id, name: nameMark, response: shape, parts: noParts, ...more } = own
  const { response, parts } = writeOutput(part.output, shape, writing)
  return {
    functionResponse: {
      ...idOf(part.toolCallId, id),
      ...(nameMark !== null && { name: nameOf(part, writing) }),
      ...(response !== undefined && { response }),
      ...(parts.length > 0 ? { parts } : Array.isArray(noParts) && { parts: [] }),
      ...more,
    },
    ...rest,
  }
}

/** The API requires a name with every response. */
function nameOf({ toolName, toolCallId }: ToolResultPart, { conversion, path }: Writing): string {
  const name = toolName ?? conversion.toolNames.get(toolCallId)
  if (name === undefined)
    conversion.note('changed', path, 'the name of the function is unknown, so the name unknown is sent')
  return name ?? 'unknown'
}

function serverAnswer(
  { output }: ToolResultPart,
  serverTool: { readonly id: string; readonly toolType: string },
  fields: JsonObject,
): GeminiPart {
  const response = output.type === 'content' ? {} : (toResponse(output, undefined) ?? {})
  return { toolResponse: { ...serverTool, response }, ...fields }
}

function writeOutput(
  output: ToolResultOutput,
  shape: Json | undefined,
  writing: Writing,
): { response: JsonObject | undefined; parts: GeminiResponsePart[] } {
  if (output.type !== 'content') return { response: toResponse(output, shape), parts: [] }
  const response = responseOfItems(output.value, output.isError === true, shape === null)
  const path = `${writing.path}.output.value`
  return {
    response,
    parts: output.value.flatMap((item, i) => writePiece(item, { ...writing, path: `${path}[${i}]` })),
  }
}

function writePiece(item: ToolResultContent, writing: Writing): GeminiResponsePart[] {
  if (item.type === 'text') return []
  if (item.type !== 'provider') return [mediaPart(item)]
  const piece = writeWhole(item, writing)
  return piece === undefined ? [] : [piece]
}

/** Options of `toGemini`. */
export type GeminiOptions = ConversionOptions & {
  /**
   * Sends `DUMMY_SIGNATURE` with the first call of a content that was not generated by Gemini, because Gemini 3 rejects calls without a
   * signature. Default: true. Models before Gemini 3 need none.
   */
  readonly dummySignatures?: boolean | undefined
}

/**
 * Converts neutral messages to contents of Gemini: `toGemini(fromGemini(x))` is x. Leading system messages
 * become `systemInstruction`, which the SDK accepts within `config`.
 *
 * For messages from elsewhere: roles become `user` and `model`, later system messages user contents; consecutive tool results become one
 * content, in the order of their calls; failures are sent as `{ error }`, texts as `{ output }`; a result within an assistant message
 * splits it in two; an input that isn't an object is sent as an object: an empty one if there is no input, the parsed one if its text is
 * JSON, else `{ arguments: input }`; an unpaired surrogate is sent as U+FFFD; the first call of a content gets `DUMMY_SIGNATURE`
 * (`dummySignatures`). Not sent: parts of other providers and unread ones, reasoning that is not Gemini's, blank texts, empty messages, and
 * metadata other than `metadata.google`. Each of these is reported.
 *
 * Messages and their order are not changed; `renderView` makes them acceptable. Throws `INVALID_INPUT` for a
 * part of an unknown type, and for invalid options.
 */
export function toGemini(given: readonly Message[], options: GeminiOptions = {}): GeminiConversation {
  return readMessages(given, 'toGemini', () => {
    const begun = beginWriting(given, options, GOOGLE, 'dummySignatures', true)
    const { conversion, isSet: dummySignatures, leading, messages } = begun
    const systemInstruction = writeInstruction(messages.slice(0, leading), conversion)
    const drafts = messages.slice(leading).flatMap((message, i) => {
      for (const part of partsOf(message))
        if (part.type === 'tool-call') conversion.toolNames.set(part.toolCallId, part.toolName)
      return writeMessage(message, leading + i, conversion, dummySignatures)
    })
    const contents = withAnswersTogether(withIdsOfCalls(drafts))
    return systemInstruction === undefined ? { contents } : { systemInstruction, contents }
  })
}

/** A part to send, and the neutral part it was. */
type Sent = { readonly part: GeminiPart; readonly source: Part }

/** A result from elsewhere gets the id with which its call is sent, or none if the call was read without one. */
function withIdsOfCalls(drafts: readonly Draft[]): Draft[] {
  const ids = new Map<string, string | undefined>()
  const answered = (sent: Sent): Sent => {
    const { part, source } = sent
    if (source.type === 'tool-call') ids.set(source.toolCallId, part.functionCall?.id)
    const { functionResponse } = part
    if (source.type !== 'tool-result' || functionResponse === undefined || !ids.has(source.toolCallId))
      return sent
    const { own } = ownOf(partOptions(source.providerOptions)?.fields ?? {}, 'functionResponse')
    const id = ids.get(source.toolCallId)
    if (own.id !== undefined || id === functionResponse.id) return sent
    const { id: _, ...rest } = functionResponse
    return { part: { ...part, functionResponse: { ...(id !== undefined && { id }), ...rest } }, source }
  }
  return drafts.map((draft) =>
    draft.parts === undefined ? draft : { ...draft, parts: draft.parts.map(answered) },
  )
}

/** A content being written. */
type Draft = {
  readonly fields: Omit<GeminiContent, 'parts'>
  readonly parts: readonly Sent[] | undefined
  /** Whether it was read from Gemini and is sent unchanged. */
  readonly isOwn: boolean
  /** Whether it holds results from within an assistant message: the next user content joins them. */
  readonly isWithin: boolean
}

function writeInstruction(
  messages: readonly Message[],
  conversion: Conversion,
): GeminiInstruction | undefined {
  const [first, ...others] = messages
  if (first === undefined) return undefined
  const own = keptFor(GOOGLE, first.metadata)
  if (
    others.length === 0 &&
    typeof first.content === 'string' &&
    (own !== undefined || !isBlank(first.content))
  )
    return first.content
  const sent = messages.flatMap((message, i) => {
    conversion.at(i)
    const parts = partsOf(message)
    return writeParts(parts, 'system', placesOf(parts, `[${i}].content`), conversion)
  })
  const isOwnNothing = others.length === 0 && own !== undefined && first.content.length === 0
  if (sent.length === 0 && !isOwnNothing) return undefined
  const parts = sent.map(({ part }) => part)
  const { form, ...fields } = (others.length === 0 ? own : undefined) ?? {}
  if (form === 'part' && parts.length === 1) return parts[0]
  return form === 'parts' ? sent.map(asGiven) : { parts, ...fields }
}

/** A text that was given as a string is written as a string. */
function asGiven({ part, source }: Sent): string | GeminiPart {
  const isText = source.type === 'text' && partOptions(source.providerOptions)?.fields.form === 'text'
  return isText ? source.text : part
}

function writeMessage(
  message: Message,
  index: number,
  conversion: Conversion,
  dummySignatures: boolean,
): Draft[] {
  beginTurn(message, index, conversion)
  const path = `[${index}].content`
  const own = message.role === 'system' ? undefined : keptFor(GOOGLE, message.metadata)
  const all = partsOf(message)
  if (all.length === 0 && own === undefined) conversion.omit(path, 'the API rejects a content without parts')
  const arranged = message.role === 'tool' && own === undefined ? resultsFirst(all) : all
  const runs = message.role === 'assistant' ? runsOfAnswers(all) : [arranged]
  const places = placesOf(all, path)
  if (runs.length > 1)
    conversion.note('changed', path, 'results within an assistant message become user contents')
  return (runs.length === 0 ? [[]] : runs).flatMap((run, i): Draft[] => {
    const isModel = message.role === 'assistant' && !isApplicationResult(run[0])
    const sent = writeParts(run, isModel ? 'model' : 'user', places, conversion)
    if (sent.length === 0 && !(own !== undefined && all.length === 0)) return []
    const { role, parts: noParts, ...extra } = (i === 0 ? own : undefined) ?? {}
    const text = typeof role === 'string' ? role : isModel ? 'model' : 'user'
    const fields = { ...(role !== null && { role: text }), ...extra }
    const parts = isModel && dummySignatures ? withSignature(sent, path, conversion) : sent
    return [
      {
        fields,
        parts: noParts === null && sent.length === 0 ? undefined : parts,
        isOwn: own !== undefined,
        isWithin: message.role === 'assistant' && !isModel,
      },
    ]
  })
}

/** Splits an assistant message at its tool results; results of Gemini's own tools stay in it. */
function runsOfAnswers(parts: readonly Part[]): (readonly Part[])[] {
  if (!parts.some(isApplicationResult)) return [parts]
  return answeredRunsOf(parts)
}

function isApplicationResult(part: Part | undefined): boolean {
  return isResult(part) && partOptions(part.providerOptions)?.serverTool === undefined
}

function writeParts(
  parts: readonly Part[],
  place: 'system' | 'user' | 'model',
  places: ReadonlyMap<Part, string>,
  conversion: Conversion,
): Sent[] {
  return parts.flatMap((source): Sent[] => {
    const part = writePart(source, place, { conversion, path: places.get(source)! })
    return part === undefined ? [] : [{ part, source }]
  })
}

/**
 * Gemini 3 requires a signature with the first call of a content. A call that was read from Gemini has one, or comes from an older model.
 */
function withSignature(sent: readonly Sent[], path: string, conversion: Conversion): readonly Sent[] {
  const first = sent.findIndex(
    ({ part, source }) => source.type === 'tool-call' && part.functionCall !== undefined,
  )
  const call = sent[first]?.source
  if (call?.type !== 'tool-call' || partOptions(call.providerOptions) !== undefined) return sent
  conversion.note('changed', path, 'the first call has no signature, so the documented placeholder is sent')
  return sent.map((entry, i) =>
    i === first ? { ...entry, part: { ...entry.part, thoughtSignature: DUMMY_SIGNATURE } } : entry,
  )
}

/** Joins the results for the calls of one content in one content, in the order of the calls. */
function withAnswersTogether(drafts: readonly Draft[]): GeminiContent[] {
  const together: Draft[][] = []
  let last: Draft[] = []
  let isOpen = false
  for (const draft of drafts) {
    const isContinued: boolean =
      isOpen &&
      !draft.isOwn &&
      (isResult(draft.parts?.[0]?.source) ||
        (last[0]!.isWithin && !draft.isWithin && draft.fields.role === 'user'))
    if (isContinued) last.push(draft)
    else together.push([draft])
    last = together.at(-1)!
    const isOfAnswers = !draft.isOwn && (draft.parts ?? []).every(({ source }) => isResult(source))
    isOpen = isOfAnswers && (isContinued || (draft.parts ?? []).length > 0)
  }
  let calls: readonly string[] = []
  return together.map((group) => {
    const { fields, isOwn, parts: first } = group[0]!
    const sent = group.flatMap(({ parts }) => parts ?? [])
    const made = sent.flatMap(({ source }) => (source.type === 'tool-call' ? [source.toolCallId] : []))
    if (made.length > 0) calls = made
    const parts = isOwn ? first : inOrder(sent, calls)
    return { ...fields, ...(parts !== undefined && { parts: parts.map(({ part }) => part) }) }
  })
}

/** Sorts the results among parts into the order of their calls; other parts stay in place. */
function inOrder(parts: readonly Sent[], calls: readonly string[]): readonly Sent[] {
  const answers = parts.filter(({ source }) => isResult(source))
  const ids = answers.map(({ source }) => (isResult(source) ? source.toolCallId : ''))
  const ordered = orderOf(ids, calls).map((index) => answers[index] as Sent)
  let next = 0
  return parts.map((sent) => (isResult(sent.source) ? (ordered[next++] as Sent) : sent))
}
