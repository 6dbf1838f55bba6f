import { v7 as uuidv7 } from 'uuid'
import type { z } from 'zod'
import { invalid, isUndertextError } from '../core/errors.ts'
import { taken } from '../core/messages/check.ts'
import { compactionBlock, lastBlockOf } from '../core/messages/compaction-block.ts'
import { type NewMessage, type ProviderPart, partsOf } from '../core/messages/message.ts'
import { checkMessages } from '../core/messages/message-check.ts'
import { unwrapped } from '../storage/also.ts'
import type {
  Also,
  Appended,
  AppendedMessage,
  AppendPreview,
  Previewing,
  Storage,
  TurnUse,
} from '../storage/storage.ts'
import {
  type ProviderCompactionResult,
  type ProviderRecord,
  recordProvider,
} from './compaction/direct-compactions.ts'
import type { providerCompactionSchema } from './config/store-options.ts'
import type { StoreContext } from './context.ts'
import { percentOf } from './events.ts'

/** The result of an append. */
export type AppendResult = {
  readonly sessionId: string
  /** One entry per message, in order. */
  readonly messages: AppendedMessage[]
  /** The session's last position. */
  readonly position: number
  /** The outcome of recording a provider's compaction block among the messages. */
  readonly providerCompaction?: ProviderCompactionResult
  /** The compaction that shortens large tool outputs among the messages; absent if there were none. */
  readonly preview?: AppendPreview
}

/** Writes messages that have already been checked. */
export async function appendMessages(
  context: StoreContext,
  sessionId: string,
  messages: readonly NewMessage[],
  expectedPosition: number | undefined,
  previewing: Previewing,
  also: Also | undefined,
  turn?: TurnUse,
): Promise<AppendResult> {
  const blockIndex = lastIndexWithBlock(messages)
  let written: Appended
  try {
    written = await context.storage.append(sessionId, messages, expectedPosition, previewing, also, turn)
  } catch (error) {
    if (!(error instanceof RangeError)) throw unwrapped(error)
    throw invalid('append: a message is too long for a JavaScript string')
  }
  const { messages: appended, preview } = written
  // The new message with the highest position is the last of the log; if all were already stored, the session row has the position.
  let position = 0
  let isNew = false
  for (const one of appended) {
    if (one.position > position) position = one.position
    if (!one.existing) isNew = true
  }
  if (!isNew) position = Math.max(position, (await context.requireSession(sessionId)).messageCount)
  const result = { sessionId, messages: appended, position, ...(preview !== undefined && { preview }) }
  const providerCompaction = await recordBlock(context, sessionId, blockIndex, appended)
  return providerCompaction === undefined ? result : { ...result, providerCompaction }
}

/**
 * Returns how an append shortens large tool outputs. `requested` is the option of the call; an explicit `true` applies even under `auto:
 * false`, because the shortening isn't automatic then.
 */
export function previewingFor(context: StoreContext, requested: boolean | undefined): Previewing {
  return {
    limitsFor: (config) => {
      const { settings } = context.configuration.ofSession(config)
      const isOn = requested ?? (settings.previewToolOutputs && settings.auto)
      if (!isOn || !settings.enabled) return undefined
      const { maxToolOutputBytes: maxBytes, maxToolOutputLines: maxLines, userTools } = settings
      return { maxBytes, maxLines, userTools }
    },
    begin: (session) => ({
      id: uuidv7(),
      runId: uuidv7(),
      provider: context.modelFor(session).key,
      trigger: requested === true ? 'manual' : 'auto',
      actor: undefined,
      reason: undefined,
    }),
  }
}

/**
 * Records the last compaction block among messages that were just appended. If this fails, the messages stay: without the record everything
 * is sent, and the block can be recorded later.
 */
export async function recordAppended(
  context: StoreContext,
  sessionId: string,
  messages: readonly NewMessage[],
  appended: readonly AppendedMessage[],
): Promise<ProviderCompactionResult | undefined> {
  return recordBlock(context, sessionId, lastIndexWithBlock(messages), appended)
}

async function recordBlock(
  context: StoreContext,
  sessionId: string,
  blockIndex: number,
  appended: readonly AppendedMessage[],
): Promise<ProviderCompactionResult | undefined> {
  if (blockIndex === -1) return undefined
  try {
    return await recordProviderWork(context, sessionId, {
      messageId: appended[blockIndex]!.id,
      provider: undefined,
      appliedEdits: [],
      excludeTools: [],
      actor: undefined,
      reason: undefined,
    })
  } catch (error) {
    if (isUndertextError(error)) return undefined
    throw error
  }
}

/** Returns the block of an answer that consists only of it. Throws `INVALID_INPUT`. */
export function requestedBlock(
  { redaction }: Storage,
  { answer, keepFrom }: z.output<typeof providerCompactionSchema>,
): ProviderRecord['requested'] {
  if (answer === undefined) return undefined
  checkMessages([answer], 'compactions.recordProvider: answer')
  const [block, ...others] = partsOf(answer)
  if (block === undefined || compactionBlock(block) === undefined)
    throw invalid('compactions.recordProvider: answer: has no compaction block; check its stop reason first')
  if (others.length > 0)
    throw invalid('compactions.recordProvider: answer: has more than a compaction block; append it instead')
  const taking = taken(block) as ProviderPart
  const [kept] =
    redaction === undefined ? [taking] : partsOf(redaction.message({ role: 'assistant', content: [taking] }))
  return { block: kept as ProviderPart, keepFrom }
}

/** Records what a provider did to the conversation, and notifies the listeners. */
export async function recordProviderWork(
  context: StoreContext,
  sessionId: string,
  record: ProviderRecord,
): Promise<ProviderCompactionResult> {
  const result = await recordProvider(context.storage, sessionId, record)
  if (result.runId === undefined || !context.events.hasListener('compaction')) return result
  // If the event's figures can't be read, no event is emitted, and the method doesn't fail.
  const stats = await (async () => context.stats(sessionId))().catch(() => null)
  if (stats === null) return result
  context.events.emit('compaction', {
    phase: 'recorded',
    sessionId,
    targetId: result.runId,
    compactionIds: [...result.compactionIds],
    tokensBefore: result.tokensBefore,
    tokensAfter: result.tokensAfter,
    percent: percentOf(stats.estimatedInputTokens, stats.availableInputTokens),
  })
  return result
}

function lastIndexWithBlock(messages: readonly NewMessage[]): number {
  return messages.findLastIndex(({ content }) => lastBlockOf(content) !== undefined)
}
