import { createHash } from 'node:crypto'
import { defined, parsedJson, stringifyJson } from '../../core/messages/json.ts'
import type { Message, NewMessage, PositionRange } from '../../core/messages/message.ts'
import { isEdited } from '../../core/messages/text-removal.ts'
import { type BoundPrefix, frameOf, isSentAlike, markOf } from '../../core/rendering/bound-reasoning.ts'
import {
  RENDERER_VERSION,
  type RenderOptions,
  type ResizeImage,
  renderRecorded,
} from '../../core/rendering/render.ts'
import type { PriceOf } from '../../core/tokens/prices.ts'
import { withBytes, withoutBytes } from '../../storage/records/row-fields.ts'
import type { Redaction } from '../../storage/redaction.ts'
import type {
  AppendedMessage,
  BilledTokens,
  FoundRequest,
  NewRequest,
  Pieces,
  StoredRequest,
} from '../../storage/storage.ts'
import { asRows } from './draft.ts'
import type { PreparedFiles, PreparedRequest, RenderedMessage } from './prepared.ts'
import { boundPrefixOf, type ChangedFrame, changedFrameIn } from './reasoning.ts'

/*
 * Recorded requests. Their messages aren't stored: they are rendered again from the view at that moment, and a hash shows whether the bytes
 * are the same.
 */

/** A recorded request, without the messages that were sent. */
export type RecordedRequest = {
  readonly id: string
  readonly sessionId: string
  readonly provider: string
  readonly model?: string
  /** The moment of the view: the last position of the log, and the number of the last audit entry, 0 for none. */
  readonly position: number
  readonly audit: number
  /** How view and prompt were rendered, and the version of the renderer. */
  readonly rendering: RenderOptions
  readonly renderer: number
  /** SHA-256 of system prompt, tools and messages, in hexadecimal. */
  readonly hash: string
  /** First and last position of the prompt in the log; absent if it wasn't stored, or there was none. */
  readonly promptPositions?: PositionRange
  /** First and last position of the answer; absent if it was stored by another call. */
  readonly answerPositions?: PositionRange
  /** Tokens as the provider billed them; absent if it didn't report them. */
  readonly usage?: {
    readonly inputTokens: number
    readonly cacheReadTokens?: number
    readonly cacheCreationTokens?: number
    readonly outputTokens: number
  }
  /** The cost of the request in US dollars by list prices; `null` if no price is known, absent without `usage`. */
  readonly cost?: number | null
  /** What differed from the system prompt and the tools of the previous request; absent if nothing did, or the difference has no effect. */
  readonly changed?: ChangedFrame
  /** When the answer was recorded, milliseconds since 1970. */
  readonly at: number
}

/** The files of a recorded request, without their contents, which are in its messages. */
export type RecordedFiles = Omit<PreparedFiles, 'included' | 'dropped'> & {
  readonly included: readonly Omit<PreparedFiles['included'][number], 'content'>[]
  readonly dropped: readonly Omit<PreparedFiles['dropped'][number], 'content'>[]
}

/** A recorded request and what the model was sent, rendered again. */
export type RenderedRequest = RecordedRequest & {
  /** The system prompt with the injected texts; absent if it was empty. */
  readonly system?: string
  /** The definitions of tools. */
  readonly tools?: readonly unknown[]
  /** View and prompt, rendered as they were at that moment. */
  readonly messages: readonly RenderedMessage[]
  /** The messages that weren't in the log at that moment. */
  readonly prompt: readonly NewMessage[]
  readonly files?: RecordedFiles
  /** Whether the messages are the same bytes that were sent. */
  readonly matches: boolean
  /**
   * Why they differ: the store redacted what was sent (`redacted`), another version of the renderer (`renderer`), a stored text that has
   * been purged (`purged`), or other rows or settings, such as messages that the application changed before it sent them (`history`).
   */
  readonly reason?: 'redacted' | 'renderer' | 'purged' | 'history'
}

type Optional<T> = { readonly [K in keyof T]?: T[K] | undefined }

/** The part of a prepared request that is recorded; it may have been restored from JSON. */
export type RecordableRequest = Pick<PreparedRequest, 'provider' | 'position' | 'prompt'> &
  Optional<
    Pick<
      PreparedRequest,
      'model' | 'audit' | 'rendering' | 'messages' | 'system' | 'tools' | 'files' | 'bound' | 'changed'
    >
  >

/** The messages that were appended after a request. */
export type AppendedAfter = {
  /** Prompt and answer as they were passed to `append`, and its result. */
  readonly messages: readonly NewMessage[]
  readonly appended: readonly AppendedMessage[]
  /** The number of messages that belong to the prompt. */
  readonly prompt: number
}

const NOTHING: AppendedAfter = { messages: [], appended: [], prompt: 0 }

/**
 * Returns the record of a request; `undefined` if its moment or its rendering isn't known, or if JSON can't express its tools. Never
 * throws, because the answer has been paid for. If the store redacts a text of the request, the hash is that of the redacted request: the
 * hash of a password, whose surroundings are stored, could be guessed.
 */
export function newRequest(
  request: RecordableRequest,
  billed: BilledTokens | undefined,
  after = NOTHING,
  redaction?: Redaction,
): NewRequest | undefined {
  const { audit, rendering, messages, system, provider, model = '', position } = request
  if (audit === undefined || rendering === undefined || messages === undefined) return undefined
  // An answer comes after its request, unless the session was purged and created again.
  const first = after.appended.find(({ existing }) => !existing)
  if (first !== undefined && first.position <= position) return undefined
  try {
    const tools = request.tools === undefined ? undefined : JSON.stringify(request.tools)
    const promptRange = storedPrompt(request.prompt, after)
    const isStored = promptRange !== undefined || request.prompt.length === 0
    const redacted = redaction && redactedRequest(redaction, request, messages)
    return {
      ...{ position, audit, provider, model, renderer: RENDERER_VERSION },
      rendering: renderingText(rendering, {
        bound: boundOf(request, after, redacted === undefined),
        changed: request.changed,
        redacted: redacted && true,
      }),
      hash: redacted === undefined ? hashOf(system, tools, messages) : hashOf(...redacted),
      system: system === undefined ? undefined : hashedPieces(JSON.stringify(system)),
      tools: tools === undefined ? undefined : hashedPieces(tools),
      prompt: isStored ? undefined : promptPieces(request.prompt, request.files),
      files: request.files && hashedPieces(JSON.stringify(withoutContents(request.files))),
      promptRange,
      answer: rangeOf(after.appended.slice(after.prompt).filter(({ existing }) => !existing)),
      billed,
      at: Date.now(),
    }
  } catch {
    return undefined
  }
}

/** Returns the redacted system prompt, tools and messages of a request; `undefined` if what isn't from the log has nothing to redact. */
function redactedRequest(
  redaction: Redaction,
  { system, tools, prompt }: RecordableRequest,
  messages: readonly RenderedMessage[],
): Parameters<typeof hashOf> | undefined {
  const isClean = redaction.json(system) === system && redaction.json(tools) === tools
  if (isClean && prompt.every((message) => redaction.message(message) === message)) return undefined
  const redactedTools = tools && JSON.stringify(redaction.json(tools))
  return [redaction.json(system), redactedTools, messages.map((message) => redaction.message(message))]
}

/** Returns the hash of what was sent. Each message is a line of JSON, so that no text can be mistaken for another. */
function hashOf(
  system: string | undefined,
  tools: string | undefined,
  messages: readonly RenderedMessage[],
): Buffer {
  const hash = createHash('sha256').update(JSON.stringify([system ?? null, tools ?? null]))
  for (const message of messages) hash.update('\n').update(sentAs(message))
  return hash.digest()
}

/** Returns a message as a line of JSON, with base64 in place of bytes. */
function lineOf(message: NewMessage | RenderedMessage): string {
  const { content, bytes } = withoutBytes(message.content)
  return stringifyJson({ ...message, content, ...(bytes.length > 0 && { bytes }) })
}

function messageOf(line: string): NewMessage {
  const {
    content,
    bytes = [],
    ...message
  } = parsed(line) as NewMessage & {
    readonly bytes?: Parameters<typeof withBytes>[1]
  }
  return { ...message, content: withBytes(content, bytes) ?? content }
}

/** A prefix that matches nothing in the log. */
const NO_PREFIX = ''

/**
 * Returns the prefix of the answer, with the system prompt and the tools that are recorded. It counts the prompt as it is in the log, so it
 * is void if the application stored a different one.
 */
function boundOf(
  { bound, system, tools, prompt, position }: RecordableRequest,
  { messages, prompt: count }: AppendedAfter,
  isUnredacted: boolean,
): BoundPrefix | undefined {
  if (bound === undefined) return undefined
  const isStoredAsSent =
    count === 0 ||
    (isUnredacted &&
      count === prompt.length &&
      prompt.every((sent, at) => isSentAlike(sent as Message, messages[at] as Message)))
  const asked: BoundPrefix['prompt'] =
    count === 0 && prompt.length > 0 ? [position + 1, prompt.length, markOf(prompt as Message[])] : undefined
  return {
    ...bound,
    ...defined({ prompt: asked }),
    prefix: isStoredAsSent ? bound.prefix : NO_PREFIX,
    frame: frameOf(system, tools),
  }
}

/** What is recorded with the rendering settings: the prefix of bound reasoning, its changes, and whether something was redacted. */
type RenderingNotes = {
  readonly bound: BoundPrefix | undefined
  readonly changed: ChangedFrame | undefined
  readonly redacted: true | undefined
}

/** Returns the rendering settings, with notes, except the provider, which has its own column. */
function renderingText(
  { provider: _, preset, ...rest }: RenderOptions,
  notes: RenderingNotes,
): string | undefined {
  const settings = {
    ...(preset !== 'default' && defined({ preset })),
    ...defined({ ...rest, ...notes }),
  }
  return Object.keys(settings).length === 0 ? undefined : JSON.stringify(settings)
}

/** Returns the positions of a prompt that is in the log exactly as it was sent; `undefined` for any other. */
function storedPrompt(
  prompt: readonly NewMessage[],
  { messages, appended, prompt: count }: AppendedAfter,
): PositionRange | undefined {
  if (count === 0 || count !== prompt.length) return undefined
  const first = appended[0]!.position
  const isInOrder = appended.slice(0, count).every(({ position }, at) => position === first + at)
  const isSame = prompt.every((sent, at) => sent === messages[at] || sentAs(sent) === sentAs(messages[at]!))
  return isInOrder && isSame ? [first, first + count - 1] : undefined
}

/** Returns the fields of a message that a model is sent, in a fixed order. */
function sentAs({ role, content, metadata }: NewMessage | RenderedMessage): string {
  return lineOf({ role, content, ...defined({ metadata }) } as NewMessage)
}

/** New messages of one append have positions without gaps. A message that already existed is the answer to the previous request. */
function rangeOf(appended: readonly AppendedMessage[]): PositionRange | undefined {
  const [first, last] = [appended[0], appended.at(-1)]
  return first && last && [first.position, last.position]
}

/** Files shorter than this, in UTF-16 units, stay in the surrounding text. */
const MIN_FILE_LENGTH = 1_024

/** Each message, and each file in it, is a separate piece, so that identical pieces are stored once for all requests. */
function promptPieces(prompt: readonly NewMessage[], files: PreparedFiles | undefined): Pieces {
  const contents = (files?.included ?? []).map(({ content }) => content)
  const cuts = contents.filter(({ length }) => length >= MIN_FILE_LENGTH)
  return prompt.flatMap((message) =>
    hashedPieces(
      `${lineOf(message)}\n`,
      cuts.map((content) => JSON.stringify(content).slice(1, -1)),
    ),
  )
}

/** Divides a text into pieces, cut before and after each of the given texts in it, in order; joined, they are the same text. */
function hashedPieces(text: string, cuts: readonly string[] = []): Pieces {
  const texts: string[] = []
  let rest = text
  for (const cut of cuts) {
    const at = rest.indexOf(cut)
    if (at === -1) continue
    texts.push(rest.slice(0, at), cut)
    rest = rest.slice(at + cut.length)
  }
  return [...texts, rest]
    .filter((one) => one !== '')
    .map((one) => {
      const bytes = Buffer.from(one, 'utf8')
      return { hash: createHash('sha256').update(bytes).digest(), bytes }
    })
}

function withoutContents(files: PreparedFiles): RecordedFiles {
  const bare = <T extends { readonly content: string }>({ content: _, ...file }: T) => file
  return { ...files, included: files.included.map(bare), dropped: files.dropped.map(bare) }
}

/** Returns a stored request in its public form. `priceOf` is needed for a request with usage. */
export function recordedRequest(
  sessionId: string,
  stored: StoredRequest,
  priceOf: PriceOf | undefined,
): RecordedRequest {
  const { id, provider, model, position, audit, renderer, hash, promptRange, answer, billed, at } = stored
  return {
    ...{ id, sessionId, provider },
    ...(model !== '' && { model }),
    ...{ position, audit, rendering: renderingOf(stored), renderer, hash: hash.toString('hex') },
    ...defined({
      changed: changedFrameIn(stored.rendering),
      promptPositions: promptRange,
      answerPositions: answer,
      usage: billed && (defined(billed) as RecordedRequest['usage']),
      cost: priceOf && billed && costOf(stored, billed, priceOf),
    }),
    at,
  }
}

function costOf(
  { provider, model, at }: StoredRequest,
  billed: BilledTokens,
  priceOf: PriceOf,
): number | null {
  const { cacheReadTokens = 0, cacheCreationTokens = 0 } = billed
  const named = { provider, model: model === '' ? undefined : model, at }
  return priceOf({ ...billed, ...named, cacheReadTokens, cacheCreationTokens, requests: 1 })
}

function renderingOf({ rendering, provider }: StoredRequest): RenderOptions {
  const {
    bound: _bound,
    changed: _changed,
    edited: _edited,
    redacted: _redacted,
    ...settings
  } = rendering === undefined
    ? {}
    : (parsed(rendering) as Partial<RenderOptions> & {
        readonly [N in keyof RenderingNotes | 'edited']?: unknown
      })
  return { ...settings, provider }
}

/** Returns whether a text was removed from the texts of a request. */
function isEditedIn(rendering: string | undefined): boolean {
  return rendering !== undefined && (parsed(rendering) as { readonly edited?: unknown }).edited === true
}

/** Renders a recorded request again, and compares it with what was sent. */
export function renderedRequest(
  sessionId: string,
  found: FoundRequest,
  priceOf: PriceOf | undefined,
  resizeImage: ResizeImage | undefined,
): RenderedRequest {
  const { request, texts, stored, view } = found
  const rendering = renderingOf(request)
  const system = texts.system === undefined ? undefined : (parsed(texts.system) as string)
  const tools = texts.tools === undefined ? undefined : (parsed(texts.tools) as readonly unknown[])
  const lines = texts.prompt?.split('\n').slice(0, -1) ?? []
  const prompt = stored.length > 0 ? stored.map(sentMessage) : lines.map(messageOf)
  const shown = prompt.length === 0 ? view : view.concat(asRows(prompt))
  const bound = boundPrefixOf(request.rendering)
  const { messages } = renderRecorded(shown, { ...rendering, resizeImage }, request.position, bound)
  const isPurged = isEditedIn(request.rendering) || view.some(isEdited) || stored.some(isEdited)
  const reason = problemOf(found, isPurged, () => hashOf(system, texts.tools, messages))
  return {
    ...recordedRequest(sessionId, request, priceOf),
    ...defined({ system, tools }),
    messages,
    prompt,
    ...(texts.files !== undefined && { files: parsed(texts.files) as RecordedFiles }),
    matches: reason === undefined,
    ...defined({ reason }),
  }
}

function problemOf(
  { request, texts }: FoundRequest,
  isPurged: boolean,
  hash: () => Buffer,
): RenderedRequest['reason'] {
  const names = Object.keys(texts) as (keyof typeof texts)[]
  if (names.some((name) => request[name] !== undefined && texts[name] === undefined)) return 'purged'
  if (hash().equals(request.hash)) return isRedacted(request) ? 'redacted' : undefined
  if (isPurged) return 'purged'
  return request.renderer === RENDERER_VERSION ? 'history' : 'renderer'
}

function isRedacted({ rendering }: StoredRequest): boolean {
  return rendering !== undefined && (parsed(rendering) as Partial<RenderingNotes>).redacted === true
}

function sentMessage({ id, role, content, metadata, createdAt }: FoundRequest['stored'][number]): NewMessage {
  return { id, role, content, ...defined({ metadata }), createdAt } as NewMessage
}

/** Texts of blobs have the correct hash, so they are what was written. */
function parsed(text: string): unknown {
  return parsedJson(text)
}
