import { z } from 'zod'
import { errorName, invalid } from '../core/errors.ts'
import { check } from '../core/messages/check.ts'
import { defined, stringifyJson } from '../core/messages/json.ts'
import type { Message } from '../core/messages/message.ts'
import { checkMessageList } from '../core/messages/message-check.ts'
import { SUMMARY_SEPARATOR } from '../core/rendering/summary-heading.ts'
import { filesOf } from '../core/summarizers/digest.ts'
import { SUMMARY_SECTIONS, type Summarizer } from '../core/summarizers/summarizer.ts'
import { estimatePromptfleetTokens } from '../core/tokens/estimators/promptfleet.ts'

/** Default maximum number of memories in a request. */
export const RECALL_TOP_K = 5
/** Default maximum tokens of recalled memories. */
export const MEMORY_TOKEN_BUDGET = 2_000

const SUMMARIES_HEADING = 'Previously in this conversation:\n'
const LATEST_HEADING = 'Previously: '
const MEMORIES_HEADING = 'Relevant context from memory:\n'

/** A memory from another conversation. */
export type Memory = {
  /** `summary`, `fact`, `instruction`, `tool_result`, or the caller's own type. */
  readonly type: string
  readonly content: string
}

const historySettingsSchema = {
  /** Whether memories are looked up. Default false. */
  enableLongTermMemory: z.boolean().default(false),
  /** Maximum number of memories. Default 5. */
  recallTopK: z.int().nonnegative().default(RECALL_TOP_K),
  /** Maximum tokens (of `promptfleet`) of the memories; the summaries get half of that. Default 2,000. */
  memoryTokenBudget: z.int().nonnegative().default(MEMORY_TOKEN_BUDGET),
}
const enrichedSchema = z.strictObject({
  systemMessage: z.string().nullish(),
  /** Oldest first. */
  summaries: z.array(z.string()).default([]),
  /** Best first; used only with `enableLongTermMemory`, and when the current turn has a user message. */
  memories: z.array(z.looseObject({ type: z.string(), content: z.string() })).default([]),
  currentTurn: z.array(z.looseObject({ role: z.string() })).default([]),
  ...historySettingsSchema,
})
/** The parts of an enriched system message. */
export type EnrichedSystemInput = z.input<typeof enrichedSchema>

/**
 * Returns the system text of a request: the system message, the summaries so far, and memories, separated by blank lines; `null` if there
 * are none of them. If the summaries exceed half the budget, only the latest is used; memories stop at the budget. Throws `INVALID_INPUT`.
 */
export function buildEnrichedSystem(input: EnrichedSystemInput): string | null {
  const checked = check(enrichedSchema, input, 'buildEnrichedSystem')
  const { systemMessage, summaries, memoryTokenBudget } = checked
  const usesMemories = checked.enableLongTermMemory && queryOf(checked.currentTurn) !== ''
  const parts = [
    systemMessage ?? '',
    summariesText(summaries, memoryTokenBudget),
    usesMemories ? memoriesText(checked.memories.slice(0, checked.recallTopK), memoryTokenBudget) : '',
  ].filter((part) => part !== '')
  return parts.length === 0 ? null : parts.join('\n\n')
}

/** Returns the search text for memories: the user's last text in the current turn, or an empty text. */
function queryOf(currentTurn: readonly { readonly role: string }[]): string {
  const { content } = (currentTurn.findLast(({ role }) => role === 'user') ?? {}) as { content?: unknown }
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return (content as readonly { readonly type?: unknown; readonly text?: unknown }[])
    .flatMap((part) => (part?.type === 'text' && typeof part.text === 'string' ? [part.text] : []))
    .join('\n')
}

function summariesText(summaries: readonly string[], budget: number): string {
  if (summaries.length === 0) return ''
  const all = SUMMARIES_HEADING + summaries.join(SUMMARY_SEPARATOR)
  return estimatePromptfleetTokens(all) <= Math.floor(budget / 2) ? all : LATEST_HEADING + summaries.at(-1)!
}

function memoriesText(memories: readonly Memory[], budget: number): string {
  let text = MEMORIES_HEADING
  let tokens = estimatePromptfleetTokens(MEMORIES_HEADING)
  for (const { type, content } of memories) {
    const line = `- [${type}] ${content}\n`
    tokens += estimatePromptfleetTokens(line)
    if (tokens > budget) break
    text += line
  }
  return text === MEMORIES_HEADING ? '' : text
}

/** Shortens a list of messages: any strategy of this package, or an object with this method. */
export interface HistoryStrategy<B> {
  readonly name?: string
  /** Returns the messages that fit, in order, as a list or in an object. */
  apply(messages: readonly Message[], budget: B): Applied | Promise<Applied>
}
type Applied = readonly Message[] | { readonly messages: readonly Message[] }

/** Writes summaries: a summarizer of this package, or a function from messages to a text. */
export type HistorySummarizer = Summarizer | ((messages: readonly Message[]) => string | Promise<string>)

/** Stores memories across conversations. */
export interface LongTermMemory {
  /** Memories that are relevant to a text, best first. */
  recall(query: string, topK: number, filters?: unknown): readonly Memory[] | Promise<readonly Memory[]>
  /** Stores a summary as a memory. If this method is absent, nothing is stored. */
  store?(memory: Memory & { readonly sessionId?: string }): unknown
}

const configSchema = z.strictObject({
  /** Whether evicted messages are summarized. Default: true if a summarizer is given. */
  enableSummarization: z.boolean().optional(),
  ...historySettingsSchema,
  /** Earlier summaries, oldest first, as returned by `summaries`. */
  summaries: z.array(z.string()).default([]),
})
/** Options of `HistoryManager`. */
export type HistoryManagerConfig<B> = z.input<typeof configSchema> & {
  readonly strategy: HistoryStrategy<B>
  readonly summarizer?: HistorySummarizer
  readonly memory?: LongTermMemory
}

/** A request to prepare. */
export type HistoryRequest<B> = {
  readonly history: readonly Message[]
  /** The new messages: the prompt and its attachments. */
  readonly currentTurn?: readonly Message[]
  readonly systemMessage?: string | null
  /** Passed to the strategy unchanged. */
  readonly budget: B
  /** Passed to the memory unchanged. */
  readonly filters?: unknown
}

/** The messages to send, and the removed ones. */
export type PreparedMessages = {
  /** The system text, if any, is first. */
  readonly messages: readonly Message[]
  /** The messages that the strategy removed, in order, for `onTurnComplete`. */
  readonly evicted: readonly Message[]
  readonly systemMessage: string | null
}

/** The result of summarizing the evicted messages. */
export type HistorySummary = {
  readonly summary: string | null
  /** The code or name of the error of the summarizer or of the memory. */
  readonly failed?: string
}

/**
 * Combines a strategy and a summarizer over plain arrays: prepares the messages of a request, and summarizes those that were left out; the
 * system text of later requests includes the summaries. Use a separate manager for each conversation.
 */
export class HistoryManager<B = unknown> {
  readonly #strategy: HistoryStrategy<B>
  readonly #summarize: Summarize | undefined
  readonly #memory: LongTermMemory | undefined
  readonly #config: z.output<typeof configSchema>
  readonly #summaries: string[]

  /** Throws `INVALID_INPUT`. */
  constructor({ strategy, summarizer, memory, ...config }: HistoryManagerConfig<B>) {
    if (typeof strategy?.apply !== 'function')
      throw invalid('HistoryManager: strategy must have the method apply')
    this.#summarize = summarizer && summarizeWith(summarizer)
    if (summarizer !== undefined && this.#summarize === undefined)
      throw invalid('HistoryManager: summarizer must be a summarizer or a function')
    if (memory !== undefined && typeof memory?.recall !== 'function')
      throw invalid('HistoryManager: memory must have the method recall')
    this.#strategy = strategy
    this.#memory = memory
    this.#config = check(configSchema, config, 'HistoryManager')
    this.#summaries = [...this.#config.summaries]
  }

  /** The summaries so far, oldest first, to be passed to a manager that continues the conversation. */
  get summaries(): readonly string[] {
    return [...this.#summaries]
  }

  /**
   * Returns the messages of a request, shortened by the strategy: the system text with summaries and memories, the history, and the current
   * turn. Throws `INVALID_INPUT` and the errors of the strategy; errors of the memory are ignored.
   */
  async prepareMessages(request: HistoryRequest<B>): Promise<PreparedMessages> {
    const { history, currentTurn = [], systemMessage = null, budget } = request
    checkMessageList(history, 'prepareMessages: history')
    checkMessageList(currentTurn, 'prepareMessages: currentTurn')
    const { enableSummarization: _, ...settings } = this.#config
    const [before, turn] = [[...history], [...currentTurn]]
    const system = buildEnrichedSystem({
      ...settings,
      systemMessage,
      summaries: this.#summaries,
      memories: (await this.#recall(turn, request.filters)) as Memory[],
      currentTurn: turn as unknown as { role: string }[],
    })
    const head: Message[] = system === null ? [] : [{ role: 'system', content: system }]
    const all = [...head, ...before, ...turn]
    const applied = await this.#strategy.apply(all, budget)
    if (typeof applied !== 'object' || applied === null)
      throw invalid('prepareMessages: apply must return a list of messages')
    const messages = 'messages' in applied ? applied.messages : applied
    checkMessageList(messages, `prepareMessages: ${this.#strategy.name ?? 'the strategy'}`)
    const evicted = evictedOf(all, messages).filter((message) => message !== head[0])
    return { messages, evicted, systemMessage: system }
  }

  /**
   * Summarizes the messages that a request left out. The summary is kept, and stored as a memory of type `summary` if the memory has
   * `store`. If there are no evicted messages, or the summary is empty or fails, nothing changes. Throws `INVALID_INPUT`.
   */
  async onTurnComplete(
    evicted: readonly Message[],
    of: { readonly sessionId?: string; readonly signal?: AbortSignal } = {},
  ): Promise<HistorySummary> {
    checkMessageList(evicted, 'onTurnComplete')
    const { sessionId = '', signal } = of
    const { enableSummarization, memoryTokenBudget, enableLongTermMemory } = this.#config
    if (enableSummarization === false || this.#summarize === undefined || evicted.length === 0)
      return { summary: null }
    let summary: unknown
    try {
      const maxTokens = Math.max(1, Math.floor(memoryTokenBudget / 2))
      summary = await this.#summarize(evicted, { sessionId, maxTokens, signal })
    } catch (error) {
      return { summary: null, failed: errorName(error) }
    }
    if (typeof summary !== 'string' || summary.trim() === '') return { summary: null }
    this.#summaries.push(summary)
    if (!enableLongTermMemory) return { summary }
    try {
      await this.#memory?.store?.({ type: 'summary', content: summary, ...(sessionId && { sessionId }) })
    } catch (error) {
      return { summary, failed: errorName(error) }
    }
    return { summary }
  }

  async #recall(currentTurn: readonly Message[], filters: unknown): Promise<readonly Memory[]> {
    const { enableLongTermMemory, recallTopK } = this.#config
    const query = queryOf(currentTurn)
    if (!enableLongTermMemory || this.#memory === undefined || recallTopK === 0 || query === '') return []
    try {
      return await this.#memory.recall(query, recallTopK, filters)
    } catch {
      // A request without memories is better than no request.
      return []
    }
  }
}

type Summarize = (
  messages: readonly Message[],
  request: {
    readonly sessionId: string
    readonly maxTokens: number
    readonly signal: AbortSignal | undefined
  },
) => unknown

/** Returns `undefined` for a value that is neither a function nor a summarizer. */
function summarizeWith(summarizer: HistorySummarizer): Summarize | undefined {
  if (typeof summarizer === 'function') return (messages) => summarizer(messages)
  if (typeof summarizer?.summarize !== 'function') return undefined
  return async (messages, { sessionId, maxTokens, signal }) => {
    const answer = await summarizer.summarize({
      sessionId,
      messages: messages.map((message) => ({ ...message, kind: 'message' })),
      sections: SUMMARY_SECTIONS,
      maxTokens,
      files: filesOf(messages),
      ...defined({ signal }),
    })
    return answer?.text
  }
}

/**
 * Returns the messages of a list that a shorter list lacks, in order. A message is recognized by identity, else by id; a copy without an id
 * by its content, the newest of equal messages first, each counted once.
 */
export function evictedOf<M extends object>(all: readonly M[], kept: readonly M[]): M[] {
  const objects = new Set<M>(kept)
  const ids = new Set<unknown>(kept.map(idOf).filter((id) => id !== undefined))
  const missing = all.filter((message) => !objects.has(message) && !ids.has(idOf(message)))
  if (missing.length === 0) return missing
  const originals = new Set<M>(all)
  const copies = new Map<string, number>()
  for (const message of kept) {
    if (originals.has(message) || idOf(message) !== undefined) continue
    const text = stringifyJson(message)
    copies.set(text, (copies.get(text) ?? 0) + 1)
  }
  if (copies.size === 0) return missing
  const evicted: M[] = []
  for (const message of missing.toReversed()) {
    const text = stringifyJson(message)
    const left = copies.get(text) ?? 0
    if (left > 0) copies.set(text, left - 1)
    else evicted.push(message)
  }
  return evicted.reverse()
}

function idOf(message: object): unknown {
  return (message as { readonly id?: unknown }).id
}
