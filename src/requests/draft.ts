import type { ContextStats } from '../compaction/stats.ts'
import type { ChosenModel } from '../config/model.ts'
import type { ResolvedSettings } from '../config/resolve.ts'
import { RENDERING_KEYS } from '../config/settings.ts'
import type { CheckedStats } from '../config/store-options.ts'
import { defined } from '../messages/defined.ts'
import { type Message, type NewMessage, type Part, partsOf, type ViewMessage } from '../messages/message.ts'
import { type BoundPrefix, frameOf } from '../rendering/bound-reasoning.ts'
import { type Mend, type RenderOptions, renderBoundView, renderView } from '../rendering/render.ts'
import type { ReasoningRecord } from '../storage/storage.ts'
import type { Estimator } from '../tokens/estimators/estimator-schema.ts'
import { measureMessage, type Sizes, SizesSum, tokensOf, tokensOfText } from '../tokens/measure.ts'
import type { MediaFigures } from '../tokens/media-limits.ts'
import { type ChangedFrame, changedFrame } from './changed-frame.ts'
import { fileRoom, type RequestFiles } from './files.ts'
import type { CheckedPrepare, Prompt } from './options.ts'
import type { PreparedFiles, RenderedMessage } from './prepared.ts'
import { reasoningFacts } from './reasoning.ts'

/** How often files are made smaller for the lines around them before they are left out. */
const MOST_FITTINGS = 8

/** A session at one moment: view, figures and position belong together. An unknown session is an empty one. */
export type SessionSnapshot = {
  /** The last position of the log, 0 for none. */
  readonly position: number
  /** The number of the last entry of the audit, 0 for none. */
  readonly audit: number
  readonly viewEpoch: number
  readonly view: readonly ViewMessage[]
  /** Rows of the view and their sizes, as the session counts them. */
  readonly rows: number
  readonly sizes: Sizes
  readonly estimator: Estimator
  readonly chosen: ChosenModel
  readonly settings: ResolvedSettings
  /** How the session renders its view. */
  readonly manner: RenderOptions
  /** For a model that binds its reasoning to what precedes it. */
  readonly reasoning: ReasoningRecord | undefined
  readonly stats: (request: CheckedStats) => ContextStats
}

/** Reads a session at one moment; with `whole`, all that is known of its reasoning. */
export type ReadSnapshot = (
  sessionId: string,
  provider: string | undefined,
  model: string | undefined,
  how?: { readonly whole: boolean },
) => Promise<SessionSnapshot>

/** The parts of a request besides its history. */
export type RequestParts = {
  readonly sessionId: string
  readonly options: CheckedPrepare
  readonly prompt: readonly NewMessage[]
  readonly files: RequestFiles | undefined
  /** Text for the end of the request, for a model that binds its reasoning to what precedes it. */
  readonly added: string
}

/** A request as it would be sent, and its size. */
export type Draft = {
  readonly snapshot: SessionSnapshot
  readonly messages: readonly RenderedMessage[]
  readonly mends: readonly Mend[]
  readonly rendering: RenderOptions
  readonly bound: BoundPrefix | undefined
  readonly changed: ChangedFrame | undefined
  /** The messages that are not stored, with the section of files. */
  readonly prompt: readonly NewMessage[]
  readonly files: PreparedFiles | undefined
  readonly stats: ContextStats
  /** The pending part as it was counted, so that a run's stats are those of the rendering. */
  readonly request: CheckedStats
  readonly pendingTokens: number
}

/** Reads the session once, or again for all of its reasoning; renders and counts; files are fitted to the room that is left. */
export async function draftRequest(
  read: ReadSnapshot,
  parts: RequestParts,
  request: CheckedStats,
): Promise<Draft> {
  const { sessionId, options } = parts
  const snapshot = await read(sessionId, options.provider, options.model)
  const drafted = draftFrom(snapshot, parts, request)
  const draft =
    drafted ??
    draftFrom(await read(sessionId, options.provider, options.model, { whole: true }), parts, request)!
  return { ...draft, changed: changedFrame(draft) }
}

/** `undefined` when the snapshot does not have all that is known of the reasoning, and it is needed. */
function draftFrom(
  snapshot: SessionSnapshot,
  parts: RequestParts,
  request: CheckedStats,
): Omit<Draft, 'changed'> | undefined {
  const { options, files } = parts
  const prompt = withAdded(parts.prompt, parts.added, snapshot.view)
  const draft = (section: string, fitted?: PreparedFiles): Omit<Draft, 'changed'> | undefined => {
    const drafted = rendered(snapshot, options, withSection(prompt, section), section, request)
    if (drafted === undefined) return undefined
    const hasOwnText = prompt !== parts.prompt || section !== ''
    const bound = drafted.bound && { ...drafted.bound, ...(hasOwnText && { hasOwnText }) }
    return { ...drafted, bound, files: fitted }
  }
  if (files === undefined) return draft('')
  let room = roomForFiles({ ...parts, prompt }, snapshot, request)
  for (let attempt = 1; ; attempt++) {
    const fitted = files.fit(room)
    const drafted = draft(fitted.section, fitted.files)
    if (drafted === undefined) return undefined
    const over = drafted.stats.estimatedInputTokens - drafted.stats.availableInputTokens
    if (over <= 0) return drafted
    // Not even the lines that name the files left out fit: only the result names them.
    if (room === 0) return draft('', withoutFiles(fitted.files))
    // The lines around the files take room too, and a rendering may be longer than what is stored.
    room = attempt < MOST_FITTINGS ? Math.max(0, Math.min(room - 1, fitted.files.tokens - over)) : 0
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

/** Tokens that files may take besides a request. */
export function roomForFiles(
  { options, prompt }: RequestParts,
  snapshot: SessionSnapshot,
  request: CheckedStats,
): number {
  const stats = snapshot.stats({ ...request, ...promptSize(snapshot, prompt) })
  return fileRoom(stats, snapshot.settings.fileReadBudgetPercent, options.summarizeFile !== undefined)
}

/** What a prompt adds to a view: its tokens, by the estimator, and its media. */
export function promptSize(
  snapshot: SessionSnapshot,
  prompt: readonly NewMessage[],
): { readonly pendingTokens: number; readonly pendingMedia?: MediaFigures } {
  const { images, mediaBytes, largeImages } = sizesOf(prompt, snapshot.estimator)
  const pendingTokens = promptTokens(snapshot, prompt)
  if (images === 0 && mediaBytes === 0) return { pendingTokens }
  return { pendingTokens, pendingMedia: { images, bytes: mediaBytes, largeImages } }
}

/** Tokens that a prompt adds to a view, by the estimator. */
export function promptTokens(
  { estimator, chosen, rows }: SessionSnapshot,
  prompt: readonly NewMessage[],
): number {
  if (prompt.length === 0) return 0
  const tokens = tokensOf(sizesOf(prompt, estimator), prompt.length, estimator, chosen.key)
  return rows === 0 ? tokens : tokens - estimator.tokensPerConversation
}

/**
 * Renders a request and counts the rendering, text by text: mends, headers of summaries and marks between files are in the
 * figures. Where rendering makes a request shorter, the longer figure is used.
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
    [...RENDERING_KEYS, 'preset', 'pendingCalls', 'alsoReads'].map((name) => [
      name,
      options[name as keyof CheckedPrepare],
    ]),
  )
  const shown = prompt.length === 0 ? view : view.concat(asRows(prompt))
  const rendering: RenderOptions = { ...snapshot.manner, ...defined(given) }
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
  { reasoning, position }: SessionSnapshot,
  shown: readonly ViewMessage[],
  rendering: RenderOptions,
  { system, tools }: CheckedStats,
) {
  if (reasoning === undefined) return { ...renderView(shown, rendering), bound: undefined }
  return renderBoundView(shown, rendering, reasoningFacts(reasoning, position, frameOf(system, tools)))
}

function sizesOf(messages: readonly Pick<NewMessage, 'content'>[], estimator: Estimator): Sizes {
  const sum = new SizesSum()
  for (const message of messages) sum.add(measureMessage(message, estimator))
  return sum.value
}

/** The messages of a prompt; none for an empty text. */
export function promptMessages(prompt: Prompt | undefined): readonly NewMessage[] {
  if (prompt === undefined || prompt === '') return []
  if (typeof prompt === 'string') return [{ role: 'user', content: prompt }]
  return Array.isArray(prompt) ? (prompt as readonly NewMessage[]) : [prompt as NewMessage]
}

/**
 * The prompt with a section of files: before the text of its last user message, because models read documents before the
 * question; as a message of its own where there is no user message.
 */
function withSection(prompt: readonly NewMessage[], section: string): readonly NewMessage[] {
  if (section === '') return prompt
  const at = prompt.findLastIndex(({ role }) => role === 'user')
  if (at === -1) return [...prompt, { role: 'user', content: section }]
  const asked = prompt[at]!
  const parts = partsOf(asked)
  // Results of tools stay first: they belong to the calls before the message.
  const results = parts.findLastIndex(({ type }) => type === 'tool-result') + 1
  const content: Part[] = [
    ...parts.slice(0, results),
    { type: 'text', text: section },
    ...parts.slice(results),
  ]
  return prompt.with(at, { ...asked, content })
}

/** The tags around texts that a request adds to a prompt. Clients use them, so their content is not taken for the user's words. */
const ADDED_OPEN = '<system-reminder>'
const ADDED_CLOSE = '</system-reminder>'

/** What a request adds to a system prompt, after it; empty for nothing. */
export function addedTo(given: string | undefined, full: string | undefined): string {
  if (full === undefined || full === given) return ''
  return given === undefined || given === '' ? full : full.slice(given.length).replace(/^\n\n/, '')
}

/** The prompt with a text at its end; the same prompt for an empty text, and for one that the view shows. */
function withAdded(
  prompt: readonly NewMessage[],
  added: string,
  view: readonly ViewMessage[],
): readonly NewMessage[] {
  if (added === '') return prompt
  const text = `${ADDED_OPEN}\n${added.replaceAll(ADDED_CLOSE, '<\\/system-reminder>')}\n${ADDED_CLOSE}`
  const isShown = view.some(
    ({ role, content }) =>
      role === 'user' &&
      (typeof content === 'string'
        ? content === text
        : content.some((part) => part.type === 'text' && part.text === text)),
  )
  if (isShown) return prompt
  const last = prompt.at(-1)
  if (last?.role !== 'user') return [...prompt, { role: 'user', content: text }]
  return prompt.with(-1, { ...last, content: [...partsOf(last), { type: 'text', text }] })
}

/** Messages that are not stored, as rows after a view. */
export function asRows(prompt: readonly NewMessage[]): ViewMessage[] {
  return prompt.map(({ idempotencyKey: _key, id, createdAt = 0, ...message }, index) => ({
    ...(message as Message),
    id: id ?? `prompt-${index + 1}`,
    kind: 'message' as const,
    createdAt,
  }))
}

/** The user's question, as text. */
export function questionOf(prompt: readonly NewMessage[]): string | undefined {
  const asked = prompt.findLast(({ role }) => role === 'user')
  if (asked === undefined) return undefined
  return partsOf(asked)
    .flatMap((part) => (part.type === 'text' ? [part.text] : []))
    .join('\n')
}
