import { isUndertextError } from '../../../core/errors.ts'
import type { PrepareRequestOptions } from '../../../store/requests/options.ts'
import type { PreparedRequest } from '../../../store/requests/prepared.ts'
import type { RecordedResponse } from '../../../store/requests/record.ts'
import type { Store } from '../../../store/store.ts'
import type { Context } from '../../command.ts'
import { type Backend, type Reply, textReply } from './backend.ts'
import type { BackendChoice } from './choose-backend.ts'
import type { Reporter } from './reporter.ts'

/** The state that the loop of a chat shares with its commands. */
export type Chat = {
  readonly context: Context
  readonly store: Store
  readonly conversation: Conversation
  readonly reporter: Reporter
  /** The options that selected the backend. */
  choice: BackendChoice
}

type Conversation = {
  readonly sessionId: string
  /** A new session is stored with its first answer. */
  isStored: boolean
  readonly title: string | undefined
  backend: Backend
  system: string | undefined
  readonly maxOutputTokens: number | undefined
  /** Usage at which compaction is due; by default the threshold of the settings. */
  readonly threshold: number | undefined
  /** Whether compaction runs automatically, and usage is reported. */
  readonly autoCompact: boolean
}

/** Why an answer is not complete. */
type Stop = { readonly why: 'interrupted' } | { readonly why: 'failed'; readonly error: unknown }

export type TurnOutcome =
  | {
      readonly kind: 'answered'
      readonly reply: Reply
      readonly recorded: RecordedResponse
      /** Absent for a complete answer. */
      readonly stop: Stop | undefined
    }
  /** There was no answer, and nothing is stored. `empty`: the model answered without a word. */
  | { readonly kind: 'nothing'; readonly stop: Stop | { readonly why: 'empty'; readonly reply: Reply } }

type TurnIo = { readonly signal: AbortSignal; onText(text: string): void }

/**
 * Asks the backend one question: makes the request fit, shortens the history and asks again after an overflow, and stores question and
 * answer in one append. Without an answer nothing is stored. An answer that broke off after something was shown is stored as it was shown,
 * with `metadata.chat.stopped`.
 *
 * Throws the errors of `prepareRequest` and `recordResponse`, except `ABORTED` for this turn.
 */
export async function takeTurn(
  store: Store,
  conversation: Conversation,
  prompt: string,
  { signal, onText }: TurnIo,
): Promise<TurnOutcome> {
  const { sessionId } = conversation
  let answer: Answer
  try {
    answer = await store.withOverflowRecovery(
      sessionId,
      (request) => ask(request, conversation, { signal, onText }),
      requestOptions(conversation, prompt, signal),
    )
  } catch (error) {
    if (signal.aborted) return { kind: 'nothing', stop: { why: 'interrupted' } }
    if (isUndertextError(error)) throw error
    return { kind: 'nothing', stop: { why: 'failed', error } }
  }
  const { request, reply, stop } = answer
  if (reply.messages.length === 0) return { kind: 'nothing', stop: { why: 'empty', reply } }
  await ensureStored(store, conversation)
  const recorded = await store.recordResponse(sessionId, {
    request,
    messages: reply.messages,
    usage: reply.usage,
    stopReason: reply.stopReason ?? null,
  })
  return { kind: 'answered', reply, recorded, stop }
}

type Answer = { readonly request: PreparedRequest; readonly reply: Reply; readonly stop?: Stop }

/** Calls the model once. If the call breaks off after text was shown, that text is the answer, and the question is not repeated. */
async function ask(
  request: PreparedRequest,
  { backend, maxOutputTokens }: Conversation,
  { signal, onText }: TurnIo,
): Promise<Answer> {
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
    const metadata = { chat: { stopped: stop.why } }
    const messages = [{ role: 'assistant' as const, content: seen, metadata }]
    return { request, reply: { ...textReply(seen, { stopReason: stop.why }), messages }, stop }
  }
}

function requestOptions(
  { backend, system, maxOutputTokens, threshold, autoCompact }: Conversation,
  prompt: string,
  signal: AbortSignal,
): PrepareRequestOptions {
  const { provider, model } = backend
  const auto = autoCompact ? undefined : false
  return { prompt, signal, provider, model, system, maxOutputTokens, threshold, auto }
}

/** Creates the session of a new chat, and records the provider and the model of an existing one. */
async function ensureStored(store: Store, conversation: Conversation): Promise<void> {
  const { sessionId, title, backend, isStored } = conversation
  const { provider, model } = backend
  if (!isStored) await store.sessions.create({ id: sessionId, provider, model, title })
  else if (provider !== undefined || model !== undefined)
    await store.sessions.update(sessionId, {
      ...(provider !== undefined && { provider }),
      ...(model !== undefined && { model }),
    })
  conversation.isStored = true
}
