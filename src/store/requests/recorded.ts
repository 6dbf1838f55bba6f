import { createHash } from 'node:crypto'
import { defined, parsedJson, stringifyJson } from '../../core/messages/json.ts'
import type { Message, NewMessage, PositionRange } from '../../core/messages/message.ts'
import { type BoundPrefix, frameOf, isSentAlike, markOf } from '../../core/rendering/bound-reasoning.ts'
import {
  RENDERER_VERSION,
  type RenderOptions,
  type ResizeImage,
  renderRecorded,
} from '../../core/rendering/render.ts'
import { withBytes, withoutBytes } from '../../storage/records/row-fields.ts'
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
 * Recorded requests. The messages of a request are not stored: they are rendered again from the view of its moment, and a hash tells
 * whether they are the same bytes.
 */

/** A request that was recorded, without what was sent. */
export type RecordedRequest = {
  readonly id: string
  readonly sessionId: string
  readonly provider: string
  readonly model?: string
  /** The moment of the view: the last position of the log, and the number of the last entry of the audit, 0 for none. */
  readonly position: number
  readonly audit: number
  /** How view and prompt were rendered, and the version of the renderer. */
  readonly rendering: RenderOptions
  readonly renderer: number
  /** SHA-256 of system prompt, tools and messages, in hexadecimal. */
  readonly hash: string
  /** Positions of the prompt in the log, first and last; absent when it was not stored, or none was sent. */
  readonly promptPositions?: PositionRange
  /** Positions of the answer, first and last; absent when it was stored by another call. */
  readonly answerPositions?: PositionRange
  /** Tokens as the provider billed them; absent when it did not report them. */
  readonly usage?: {
    readonly inputTokens: number
    readonly cacheReadTokens?: number
    readonly cacheCreationTokens?: number
    readonly outputTokens: number
  }
  /** What differed from the system prompt and the tools of the request before it; absent where nothing did, or it does not matter. */
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
  /** The system prompt with the injected texts; absent when it was empty. */
  readonly system?: string
  /** The definitions of tools. */
  readonly tools?: readonly unknown[]
  /** View and prompt, rendered as they were then. */
  readonly messages: readonly RenderedMessage[]
  /** The messages that were not in the log at that moment. */
  readonly prompt: readonly NewMessage[]
  readonly files?: RecordedFiles
  /** Whether these are the same bytes that were sent. */
  readonly matches: boolean
  /**
   * Why they are not: another version of the renderer (`renderer`), a stored text that is gone (`purged`), or other rows or settings, such
   * as messages that the application changed before it sent them (`history`).
   */
  readonly reason?: 'renderer' | 'purged' | 'history'
}

type Optional<T> = { readonly [K in keyof T]?: T[K] | undefined }

/** The part of a prepared request that is recorded; it may come back from JSON. */
export type RecordableRequest = Pick<PreparedRequest, 'provider' | 'position' | 'prompt'> &
  Optional<
    Pick<
      PreparedRequest,
      'model' | 'audit' | 'rendering' | 'messages' | 'system' | 'tools' | 'files' | 'bound' | 'changed'
    >
  >

/** What was appended after a request. */
export type AppendedAfter = {
  /** Prompt and answer as they were given to `append`, and what it returned. */
  readonly messages: readonly NewMessage[]
  readonly appended: readonly AppendedMessage[]
  /** How many of them are the prompt. */
  readonly prompt: number
}

const NOTHING: AppendedAfter = { messages: [], appended: [], prompt: 0 }

/**
 * The record of a request; `undefined` where its moment or its rendering is not known, and for tools that JSON cannot express. Never throws,
 * because the answer was paid for.
 */
export function newRequest(
  request: RecordableRequest,
  billed: BilledTokens | undefined,
  after = NOTHING,
): NewRequest | undefined {
  const { audit, rendering, messages, system, provider, model = '', position } = request
  if (audit === undefined || rendering === undefined || messages === undefined) return undefined
  // What answers a request comes after it, unless the session was purged and created again.
  const first = after.appended.find(({ existing }) => !existing)
  if (first !== undefined && first.position <= position) return undefined
  try {
    const tools = request.tools === undefined ? undefined : JSON.stringify(request.tools)
    const promptRange = storedPrompt(request.prompt, after)
    const isStored = promptRange !== undefined || request.prompt.length === 0
    return {
      ...{ position, audit, provider, model, renderer: RENDERER_VERSION },
      rendering: renderingText(rendering, boundOf(request, after), request.changed),
      hash: hashOf(system, tools, messages),
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

/** The hash of what was sent. Each message is a line of JSON, so that no text can be mistaken for another. */
function hashOf(
  system: string | undefined,
  tools: string | undefined,
  messages: readonly RenderedMessage[],
): Buffer {
  const hash = createHash('sha256').update(JSON.stringify([system ?? null, tools ?? null]))
  for (const message of messages) hash.update('\n').update(sentAs(message))
  return hash.digest()
}

/** A message as a line of JSON, with base64 in place of bytes. */
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

/** The prefix of nothing that is in the log. */
const NO_PREFIX = ''

/**
 * The prefix of the answer, with the system prompt and the tools that are recorded. It counts the prompt as it is in the log, so it is
 * void where the application stored another one.
 */
function boundOf(
  { bound, system, tools, prompt, position }: RecordableRequest,
  { messages, prompt: count }: AppendedAfter,
): BoundPrefix | undefined {
  if (bound === undefined) return undefined
  const isStoredAsSent =
    count === 0 ||
    (count === prompt.length &&
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

/** Rendering settings besides the provider, which has a column of its own; the prefix of bound reasoning, and what changed in it. */
function renderingText(
  { provider: _, preset, ...rest }: RenderOptions,
  bound: BoundPrefix | undefined,
  changed: ChangedFrame | undefined,
): string | undefined {
  const settings = {
    ...(preset !== 'default' && defined({ preset })),
    ...defined({ ...rest, bound, changed }),
  }
  return Object.keys(settings).length === 0 ? undefined : JSON.stringify(settings)
}

/** The positions of a prompt that is in the log exactly as it was sent; `undefined` for any other. */
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

/** What a model is sent of a message, in one order of fields. */
function sentAs({ role, content, metadata }: NewMessage | RenderedMessage): string {
  return lineOf({ role, content, ...defined({ metadata }) } as NewMessage)
}

/** New messages of one append, which have positions without gaps. A message that existed is the answer of the request before. */
function rangeOf(appended: readonly AppendedMessage[]): PositionRange | undefined {
  const [first, last] = [appended[0], appended.at(-1)]
  return first && last && [first.position, last.position]
}

/** Files below this size, in UTF-16 units, stay in the text around them. */
const MIN_FILE_LENGTH = 1_024

/** Each message is a piece, and each file in it, so that the same ones are stored once for all requests. */
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

/** A text as pieces that are together the same, cut before and after each of some texts that are in it, in order. */
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

/** A stored request in its public form. */
export function recordedRequest(sessionId: string, stored: StoredRequest): RecordedRequest {
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
    }),
    at,
  }
}

function renderingOf({ rendering, provider }: StoredRequest): RenderOptions {
  const {
    bound: _bound,
    changed: _changed,
    ...settings
  } = rendering === undefined
    ? {}
    : (parsed(rendering) as Partial<RenderOptions> & { readonly bound?: unknown; readonly changed?: unknown })
  return { ...settings, provider }
}

/** Renders a recorded request again, and compares it with what was sent. */
export function renderedRequest(
  sessionId: string,
  found: FoundRequest,
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
  const reason = problemOf(found, () => hashOf(system, texts.tools, messages))
  return {
    ...recordedRequest(sessionId, request),
    ...defined({ system, tools }),
    messages,
    prompt,
    ...(texts.files !== undefined && { files: parsed(texts.files) as RecordedFiles }),
    matches: reason === undefined,
    ...defined({ reason }),
  }
}

function problemOf({ request, texts }: FoundRequest, hash: () => Buffer): RenderedRequest['reason'] {
  const names = Object.keys(texts) as (keyof typeof texts)[]
  if (names.some((name) => request[name] !== undefined && texts[name] === undefined)) return 'purged'
  if (hash().equals(request.hash)) return undefined
  return request.renderer === RENDERER_VERSION ? 'history' : 'renderer'
}

function sentMessage({ id, role, content, metadata, createdAt }: FoundRequest['stored'][number]): NewMessage {
  return { id, role, content, ...defined({ metadata }), createdAt } as NewMessage
}

/** Texts of blobs have the right hash, so they are what was written. */
function parsed(text: string): unknown {
  return parsedJson(text)
}
