import { addedParts, turnOfAdded, withAddedParts } from '../../core/messages/added.ts'
import { defined } from '../../core/messages/json.ts'
import {
  type Message,
  type NewMessage,
  type Part,
  partsOf,
  textsOf,
  type ViewMessage,
} from '../../core/messages/message.ts'
import { type BoundPrefix, frameOf } from '../../core/rendering/bound-reasoning.ts'
import { type Mend, type RenderOptions, renderBoundView, renderView } from '../../core/rendering/render.ts'
import type { Estimator } from '../../core/tokens/estimators/estimator-schema.ts'
import { measureMessage, type Sizes, SizesSum, tokensOf, tokensOfText } from '../../core/tokens/measure.ts'
import type { MediaFigures } from '../../core/tokens/media-limits.ts'
import { providerProfile } from '../../core/tokens/providers.ts'
import type { ReasoningRecord } from '../../storage/storage.ts'
import type { ContextStats } from '../compaction/stats.ts'
import type { ChosenModel } from '../config/model.ts'
import type { ResolvedSettings } from '../config/settings.ts'
import { RENDERING_KEYS } from '../config/settings.ts'
import type { CheckedStats } from '../config/store-options.ts'
import { fileRoom, type RequestFiles } from './files.ts'
import type { CheckedPrepare, Prompt } from './options.ts'
import type { CutMessage, PreparedFiles, RenderedMessage } from './prepared.ts'
import type { ChangedFrame } from './reasoning.ts'
import { reasoningFacts } from './reasoning.ts'
import type { ResizedImages } from './resized-images.ts'

/** Maximum attempts to fit the files, with the lines around them, before the files are left out. */
const MAX_FITTINGS = 8

/** A session at one moment: view, figures and position belong together. An unknown session counts as empty. */
export type SessionSnapshot = {
  /** The last position of the log, 0 for none. */
  readonly position: number
  /** The number of the last entry of the audit, 0 for none. */
  readonly audit: number
  readonly viewEpoch: number
  readonly view: readonly ViewMessage[]
  /** Messages with parts that were cut because the request didn't fit otherwise. */
  readonly cut: readonly CutMessage[]
  /** Number of rows of the view, and their sizes as the session counts them. */
  readonly rows: number
  readonly sizes: Sizes
  readonly estimator: Estimator
  readonly chosen: ChosenModel
  readonly settings: ResolvedSettings
  /** How the session renders its view. */
  readonly manner: RenderOptions
  /** Images that the application resized. */
  readonly images: ResizedImages | undefined
  /** Present for a model that binds its reasoning to what precedes it. */
  readonly reasoning: ReasoningRecord | undefined
  readonly stats: (request: CheckedStats) => ContextStats
}

/** The parts of a request besides its history. */
export type RequestParts = {
  readonly sessionId: string
  readonly options: CheckedPrepare
  readonly prompt: readonly NewMessage[]
  readonly files: RequestFiles | undefined
  /** Texts appended to the request, for a model that binds its reasoning to what precedes it. */
  readonly added: AddedTexts | undefined
}

/** Texts that a request adds; empty strings add nothing. */
export type AddedTexts = {
  /** The persistent context, with notes. It holds until another one follows. */
  readonly context: string
  /** The texts of an injector, for one turn only. */
  readonly injected: string
  /** The number of that turn, if known. */
  readonly turn: number | undefined
}

/** A request as it would be sent, with its size. */
export type Draft = {
  readonly snapshot: SessionSnapshot
  readonly messages: readonly RenderedMessage[]
  readonly mends: readonly Mend[]
  readonly rendering: RenderOptions
  readonly bound: BoundPrefix | undefined
  readonly changed: ChangedFrame | undefined
  /** The messages that aren't stored, including the section of files. */
  readonly prompt: readonly NewMessage[]
  readonly files: PreparedFiles | undefined
  readonly stats: ContextStats
  /** The pending part as it was counted, so that the stats of a run match the rendering. */
  readonly request: CheckedStats
  readonly pendingTokens: number
}

/** Returns `undefined` if the reasoning is needed and the snapshot doesn't have all of it. */
export function draftFrom(
  snapshot: SessionSnapshot,
  parts: RequestParts,
  request: CheckedStats,
): Omit<Draft, 'changed'> | undefined {
  const { options, files, prompt, added } = parts
  const complete = (given: readonly NewMessage[]): readonly NewMessage[] =>
    added === undefined ? given : withAdded(given, added, snapshot.view)
  const draft = (section: string, fitted?: PreparedFiles): Omit<Draft, 'changed'> | undefined => {
    const whole = complete(withSection(prompt, section, added !== undefined))
    const drafted = rendered(snapshot, options, whole, section, request)
    return drafted && { ...drafted, files: fitted }
  }
  if (files === undefined) return draft('')
  let room = roomForFiles({ ...parts, prompt: complete(prompt) }, snapshot, request)
  for (let attempt = 1; ; attempt++) {
    const fitted = files.fit(room)
    const drafted = draft(fitted.section, fitted.files)
    if (drafted === undefined) return undefined
    const over = drafted.stats.estimatedInputTokens - drafted.stats.availableInputTokens
    if (over <= 0) return drafted
    // There is no room even for the lines that name the omitted files: only the result names them.
    if (room === 0) return draft('', withoutFiles(fitted.files))
    // The lines around the files take room too, and a rendering may be longer than the stored text.
    room = attempt < MAX_FITTINGS ? Math.max(0, Math.min(room - 1, fitted.files.tokens - over)) : 0
  }
}

function withoutFiles({ included, dropped, notices }: PreparedFiles): PreparedFiles {
  const all = [
    ...included.map((file) => ({ ...file, content: '', how: 'dropped' as const, tokensAfter: 0 })),
    ...dropped,
  ]
  return {
    included: [],
    budgetTokens: 0,
    tokens: 0,
    dropped: all.toSorted((a, b) => a.index - b.index),
    notices,
  }
}

/** Returns the tokens that files may take besides a request. */
export function roomForFiles(
  { options, prompt }: RequestParts,
  snapshot: SessionSnapshot,
  request: CheckedStats,
): number {
  const stats = snapshot.stats({ ...request, ...promptSize(snapshot, prompt) })
  return fileRoom(stats, snapshot.settings.fileReadBudgetPercent, options.summarizeFile !== undefined)
}

/** Returns the size that a prompt adds to a view: tokens, by the estimator, and media. */
export function promptSize(
  snapshot: SessionSnapshot,
  prompt: readonly NewMessage[],
): { readonly pendingTokens: number; readonly pendingMedia?: MediaFigures } {
  const { images, mediaBytes, largeImages } = sizesOf(prompt, snapshot.estimator)
  const pendingTokens = promptTokens(snapshot, prompt)
  if (images === 0 && mediaBytes === 0) return { pendingTokens }
  return { pendingTokens, pendingMedia: { images, bytes: mediaBytes, largeImages } }
}

/** Returns the tokens that a prompt adds to a view, by the estimator. */
export function promptTokens(
  { estimator, chosen, rows }: SessionSnapshot,
  prompt: readonly NewMessage[],
): number {
  if (prompt.length === 0) return 0
  const tokens = tokensOf(sizesOf(prompt, estimator), prompt.length, estimator, chosen.key)
  return rows === 0 ? tokens : tokens - estimator.tokensPerConversation
}

/**
 * Renders a request and counts the rendering text by text, including mends, headers of summaries and marks between files. If rendering
 * makes a request shorter, the longer figure is used.
 */
function rendered(
  snapshot: SessionSnapshot,
  options: CheckedPrepare,
  prompt: readonly NewMessage[],
  section: string,
  request: CheckedStats,
): Omit<Draft, 'files' | 'changed'> | undefined {
  const { view, estimator, chosen } = snapshot
  const given = Object.fromEntries(
    [...RENDERING_KEYS, 'preset', 'pendingCalls', 'toolUse', 'alsoReads'].map((name) => [
      name,
      options[name as keyof CheckedPrepare],
    ]),
  )
  const shown = prompt.length === 0 ? view : view.concat(asRows(prompt))
  const hasNoTools = request.tools === undefined || request.tools.length === 0
  const asText = hasNoTools && providerProfile(chosen.provider).toolUseNeedsTools === true
  const rendering: RenderOptions = {
    ...snapshot.manner,
    ...(asText && { toolUse: 'text' }),
    ...defined(given),
  }
  const sent = renderedFor(snapshot, shown, rendering, request)
  if (sent === undefined) return undefined
  const { messages, mends, bound } = sent
  const history = tokensOf(snapshot.sizes, snapshot.rows, estimator, chosen.key)
  const whole = tokensOf(sizesOf(messages, estimator), messages.length, estimator, chosen.key)
  const own = promptSize(snapshot, prompt)
  const pendingTokens = Math.max(0, own.pendingTokens, whole - history)
  const fileTokens = section === '' ? 0 : tokensOfText(section, estimator, chosen.key)
  const counted = {
    ...request,
    ...own,
    pendingTokens: Math.max(0, pendingTokens - fileTokens),
    ...(section !== '' && { files: [{ content: section }] }),
  }
  const stats = snapshot.stats(counted)
  return { snapshot, messages, mends, rendering, bound, prompt, stats, request: counted, pendingTokens }
}

function renderedFor(
  { reasoning, position, images }: SessionSnapshot,
  shown: readonly ViewMessage[],
  rendering: RenderOptions,
  { system, tools }: CheckedStats,
) {
  const how = { ...rendering, resizeImage: images?.lookup }
  if (reasoning === undefined) return { ...renderView(shown, how), bound: undefined }
  return renderBoundView(shown, how, reasoningFacts(reasoning, position, frameOf(system, tools)))
}

function sizesOf(messages: readonly Pick<NewMessage, 'content'>[], estimator: Estimator): Sizes {
  const sum = new SizesSum()
  for (const message of messages) sum.add(measureMessage(message, estimator))
  return sum.value
}

/** Returns the messages of a prompt; an empty list for an empty text. */
export function promptMessages(prompt: Prompt | undefined): readonly NewMessage[] {
  if (prompt === undefined || prompt === '') return []
  if (typeof prompt === 'string') return [{ role: 'user', content: prompt }]
  return Array.isArray(prompt) ? (prompt as readonly NewMessage[]) : [prompt as NewMessage]
}

/**
 * Returns the prompt with a section of files, placed before the text of its last user message, because models read documents before the
 * question; or as a separate message if there is no user message.
 */
function withSection(
  prompt: readonly NewMessage[],
  section: string,
  isMarked: boolean,
): readonly NewMessage[] {
  if (section === '') return prompt
  const at = prompt.findLastIndex(({ role }) => role === 'user')
  const asked = prompt[at] ?? { role: 'user', content: [] }
  const parts = partsOf(asked)
  // Results of tools stay first: they belong to the calls before the message.
  const results = parts.findLastIndex(({ type }) => type === 'tool-result') + 1
  const text: Part = { type: 'text', text: section }
  const full = isMarked
    ? withAddedParts(asked, results, [text])
    : ({ ...asked, content: at === -1 ? section : parts.toSpliced(results, 0, text) } as NewMessage)
  return at === -1 ? [...prompt, full] : prompt.with(at, full)
}

/** The elements around texts that a request adds. Clients recognize them, so that their content isn't taken for the user's words. */
const CONTEXT = 'session_context'
const REMINDER = 'system-reminder'

function framed(text: string, element: string): string {
  if (text === '') return ''
  return `<${element}>\n${text.replaceAll(`</${element}>`, `<\\/${element}>`)}\n</${element}>`
}

/** Returns the prompt with the texts of a request at its end. Texts stored with an earlier prompt stay where they are. */
function withAdded(
  prompt: readonly NewMessage[],
  texts: AddedTexts,
  view: readonly ViewMessage[],
): readonly NewMessage[] {
  const parts = missingParts(texts, view, prompt.some(isSpoken))
  if (parts.length === 0) return prompt
  const last = prompt.at(-1)
  if (last?.role !== 'user') return [...prompt, messageOfAdded(parts, texts)]
  return prompt.with(-1, withAddedParts(last, partsOf(last).length, parts, texts.turn))
}

/**
 * Returns the texts of a request as a message; `undefined` if the view already has them. `beginsTurn`: the request contains a message from
 * the user.
 */
export function addedMessage(
  texts: AddedTexts,
  view: readonly ViewMessage[],
  beginsTurn: boolean,
): NewMessage | undefined {
  const parts = missingParts(texts, view, beginsTurn)
  return parts.length === 0 ? undefined : messageOfAdded(parts, texts)
}

function messageOfAdded(parts: readonly Part[], { turn }: AddedTexts): NewMessage {
  return withAddedParts({ role: 'user', content: [] }, 0, parts, turn)
}

/** Returns the context, if it differs from the one in the view, and the injected texts, once per turn. */
function missingParts(
  { context, injected, turn }: AddedTexts,
  view: readonly ViewMessage[],
  beginsTurn: boolean,
): readonly Part[] {
  const [standing, reminder] = [framed(context, CONTEXT), framed(injected, REMINDER)]
  const texts = [
    newestContext(view) === standing ? '' : standing,
    !beginsTurn && isInTurn(view, reminder, turn) ? '' : reminder,
  ]
  return texts.filter((text) => text !== '').map((text) => ({ type: 'text', text }))
}

function addedTexts(row: ViewMessage): readonly string[] {
  const added = addedParts(row)
  return partsOf(row).flatMap((part, index) => (part.type === 'text' && added.has(index) ? [part.text] : []))
}

function newestContext(view: readonly ViewMessage[]): string | undefined {
  for (const row of view.toReversed()) {
    const context = addedTexts(row).findLast((text) => text.startsWith(`<${CONTEXT}>`))
    if (context !== undefined) return context
  }
  return undefined
}

/** Whether a text was added since the last message from the user. */
function isInTurn(view: readonly ViewMessage[], text: string, turn: number | undefined): boolean {
  for (const row of view.toReversed()) {
    if (addedTexts(row).includes(text)) return turnOfAdded(row) === turn
    if (row.kind === 'message' && isSpoken(row)) return false
  }
  return false
}

/** Whether a message contains words of the user. */
function isSpoken(message: Message | NewMessage): boolean {
  if (message.role !== 'user') return false
  const added = addedParts(message)
  return partsOf(message).some(({ type }, index) => type !== 'tool-result' && !added.has(index))
}

/** Returns unstored messages as rows after a view. */
export function asRows(prompt: readonly NewMessage[]): ViewMessage[] {
  return prompt.map(({ idempotencyKey: _key, id, createdAt = 0, ...message }, index) => ({
    ...(message as Message),
    id: id ?? `prompt-${index + 1}`,
    kind: 'message' as const,
    createdAt,
  }))
}

/** Returns the user's question as text. */
export function questionOf(prompt: readonly NewMessage[]): string | undefined {
  const asked = prompt.findLast(({ role }) => role === 'user')
  if (asked === undefined) return undefined
  return textsOf(asked).join('\n')
}
