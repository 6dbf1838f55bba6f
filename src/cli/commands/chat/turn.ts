import { isUndertextError } from '../../../errors.ts'
import type { PrepareRequestOptions } from '../../../requests/options.ts'
import type { PreparedRequest } from '../../../requests/prepared.ts'
import type { RecordedResponse } from '../../../requests/record.ts'
import type { SqliteStore } from '../../../store/open.ts'
import { type Backend, type Reply, textReply } from './backend.ts'

/** What a chat knows besides its session. */
export type Conversation = {
  readonly sessionId: string
  /** Whether the session is stored; a new one is made with its first answer. */
  isStored: boolean
  readonly title: string | undefined
  backend: Backend
  system: string | undefined
  readonly maxOutputTokens: number | undefined
  /** Usage at which compaction is due; absent: as the settings say. */
  readonly threshold: number | undefined
  /** False: nothing is compacted unless asked for, and nothing is said of usage. */
  readonly autoCompact: boolean
}

/** Why an answer is not whole. */
export type Stop = { readonly why: 'interrupted' } | { readonly why: 'failed'; readonly error: unknown }

/** What became of a turn. */
export type TurnOutcome =
  | {
      readonly kind: 'answered'
      readonly reply: Reply
      readonly recorded: RecordedResponse
      /** Absent: the answer is whole. */
      readonly stop?: Stop
    }
  /** Nothing came, and nothing is stored. `empty`: the model answered without a word. */
  | { readonly kind: 'nothing'; readonly stop: Stop | { readonly why: 'empty'; readonly reply: Reply } }

type TurnIo = { readonly signal: AbortSignal; onText(text: string): void }

/**
 * Asks the backend one question, with all that goes before and after it: the request is made to fit, an overflow makes the history
 * shorter and is asked again, question and answer are stored in one append. Nothing is stored of a question without any answer. An answer
 * that broke off after something was shown is stored as far as it came, with `metadata.chat.stopped`: what was seen is what there is.
 *
 * Throws what `prepareRequest` and `recordResponse` throw, but for `ABORTED` of this turn.
 */
export async function takeTurn(
  store: SqliteStore,
  conversation: Conversation,
  prompt: string,
  { signal, onText }: TurnIo,
): Promise<TurnOutcome> {
  const { sessionId } = conversation
  let asked: Asked
  try {
    asked = await store.withOverflowRecovery(
      sessionId,
      (request) => answer(request, conversation, { signal, onText }),
      optionsOf(conversation, prompt, signal),
    )
  } catch (error) {
    if (signal.aborted) return { kind: 'nothing', stop: { why: 'interrupted' } }
    if (isUndertextError(error)) throw error
    return { kind: 'nothing', stop: { why: 'failed', error } }
  }
  const { request, reply, stop } = asked
  if (reply.messages.length === 0) return { kind: 'nothing', stop: { why: 'empty', reply } }
  await ensureStored(store, conversation)
  const recorded = await store.recordResponse(sessionId, {
    request,
    messages: reply.messages,
    ...(reply.usage !== undefined && { usage: reply.usage }),
    stopReason: reply.stopReason ?? null,
  })
  return { kind: 'answered', reply, recorded, ...(stop !== undefined && { stop }) }
}

type Asked = { readonly request: PreparedRequest; readonly reply: Reply; readonly stop?: Stop }

/** One call. What broke off after a text was seen is an answer, and no reason to ask again. */
async function answer(
  request: PreparedRequest,
  { backend, maxOutputTokens }: Conversation,
  { signal, onText }: TurnIo,
): Promise<Asked> {
  let seen = ''
  try {
    const reply = await backend.ask({
      system: request.system,
      messages: request.messages,
      maxOutputTokens,
      signal,
      onText(text) {
        if (signal.aborted) return
        seen += text
        onText(text)
      },
    })
    return { request, reply }
  } catch (error) {
    if (seen === '') throw error
    const stop: Stop = signal.aborted ? { why: 'interrupted' } : { why: 'failed', error }
    return { request, reply: brokenOff(seen, stop), stop }
  }
}

function brokenOff(text: string, { why }: Stop): Reply {
  const message = { role: 'assistant' as const, content: text, metadata: { chat: { stopped: why } } }
  return { ...textReply(text, { stopReason: why }), messages: [message] }
}

function optionsOf(conversation: Conversation, prompt: string, signal: AbortSignal): PrepareRequestOptions {
  const { backend, system, maxOutputTokens, threshold, autoCompact } = conversation
  return {
    prompt,
    signal,
    ...(backend.provider !== undefined && { provider: backend.provider }),
    ...(backend.model !== undefined && { model: backend.model }),
    ...(system !== undefined && { system }),
    ...(maxOutputTokens !== undefined && { maxOutputTokens }),
    ...(threshold !== undefined && { threshold }),
    ...(!autoCompact && { auto: false }),
  }
}

/** Makes the session of a new chat, and notes with whom one goes on. */
async function ensureStored(store: SqliteStore, conversation: Conversation): Promise<void> {
  const { sessionId: id, title, backend, isStored } = conversation
  const names = {
    ...(backend.provider !== undefined && { provider: backend.provider }),
    ...(backend.model !== undefined && { model: backend.model }),
  }
  if (!isStored) await store.createSession({ id, ...names, ...(title !== undefined && { title }) })
  else if (Object.keys(names).length > 0) await store.updateSession(id, names)
  conversation.isStored = true
}
