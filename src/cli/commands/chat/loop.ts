import { isUndertextError } from '../../../core/errors.ts'
import { readOverflow } from '../../../core/overflow/read-overflow.ts'
import { callFailure } from '../../../core/summarizers/model/call-failure.ts'
import { CliError, EXIT, type ExitCode, failureOf } from '../../errors.ts'
import type { Reply } from './backend.ts'
import { MAX_ERROR_LENGTH, ServerError, withoutKey } from './chat-completions.ts'
import type { Prompts } from './prompts.ts'
import { isAtOutputLimit, usageWarning } from './reporter.ts'
import { runSlashCommand } from './slash-commands.ts'
import { type Chat, type TurnOutcome, takeTurn } from './turn.ts'

type LoopOptions = {
  /** Whether prompts are typed. If so, the chat continues after a failure; otherwise it ends. */
  readonly isTyped: boolean
  /** Whether a prompt may be a slash command. */
  readonly hasCommands: boolean
}

/** Takes prompts until there are no more, and returns the exit code. */
export async function chatLoop(
  chat: Chat,
  prompts: Prompts,
  { isTyped, hasCommands }: LoopOptions,
): Promise<ExitCode> {
  const { signal, readerLeft, json } = chat.context
  for (;;) {
    const prompt = await prompts.next()
    if (prompt === undefined || signal.aborted || readerLeft?.aborted === true)
      return signal.aborted ? EXIT.interrupted : EXIT.done
    try {
      const ran = hasCommands ? await command(chat, prompt, prompts) : undefined
      if (ran?.ends === true) return EXIT.done
      if (ran !== undefined) continue
      const text = hasCommands && prompt.startsWith('//') ? prompt.slice(1) : prompt
      const exit = await turn(chat, text, prompts)
      if (exit !== EXIT.done && !isTyped) return exit
    } catch (error) {
      // A person reads the error and continues; a script ends at the failure, and a script that reads events gets it as an event.
      const isExpected = isUndertextError(error) || error instanceof CliError
      if (!isExpected || !(isTyped || json)) throw error
      const failure = failureOf(error, false)
      chat.reporter.failure(failure)
      if (!isTyped) return failure.exit
    }
  }
}

/** Runs a slash command; Ctrl-C ends it as it ends an answer. */
function command(chat: Chat, prompt: string, prompts: Prompts): ReturnType<typeof runSlashCommand> {
  const own = new AbortController()
  const signal = AbortSignal.any([chat.context.signal, own.signal])
  return prompts.during(
    () => own.abort(),
    () => runSlashCommand(chat, prompt, signal),
  )
}

/** Asks one question and reports the answer as it arrives. */
async function turn(chat: Chat, prompt: string, prompts: Prompts): Promise<ExitCode> {
  const { context, store, conversation, reporter } = chat
  const own = new AbortController()
  const signals = [context.signal, own.signal, ...(context.readerLeft ? [context.readerLeft] : [])]
  const signal = AbortSignal.any(signals)
  const outcome = await prompts.during(
    () => own.abort(),
    () => takeTurn(store, conversation, prompt, { signal, onText: (text) => reporter.text(text) }),
  )
  if (outcome.kind === 'answered') await reportAnswer(chat, outcome)
  const { stop } = outcome
  const hint =
    outcome.kind === 'answered'
      ? 'The part that arrived is stored. Send "go on" to continue it.'
      : "Your message wasn't stored. Send it again."
  if (stop?.why === 'failed') {
    const message = failureSentence(stop.error, conversation.backend.title)
    reporter.failure({ code: 'MODEL_FAILED', message, hint })
    return EXIT.failed
  }
  if (outcome.kind === 'answered') return EXIT.done
  if (stop?.why === 'empty') {
    reporter.failure({ code: 'EMPTY_ANSWER', message: emptySentence(stop.reply), hint })
    return EXIT.failed
  }
  reporter.failure({ code: 'INTERRUPTED', message: 'Interrupted before an answer arrived.', hint })
  return EXIT.interrupted
}

async function reportAnswer(
  { store, conversation, reporter }: Chat,
  { reply, recorded, stop }: TurnOutcome & { readonly kind: 'answered' },
): Promise<void> {
  const { sessionId, autoCompact } = conversation
  const { settings } = await store.sessions.config(sessionId)
  const { text, stopReason, model, usage } = reply
  const { stats, appended } = recorded
  const stopped = stop?.why
  reporter.answer({ sessionId, text, position: appended.position, stopReason, stopped, model, usage, stats })
  const warning = usageWarning(stats, autoCompact && settings.auto && settings.enabled)
  if (warning !== undefined) reporter.warning(warning)
}

/** Why there is no answer. A model that thinks first can use up its output tokens before it writes a word. */
function emptySentence({ calledTools, stopReason }: Reply): string {
  if (calledTools.length > 0)
    return `The model tried to call ${calledTools.join(', ')}, but a chat doesn't run tools.`
  if (isAtOutputLimit(stopReason))
    return 'The model reached the output token limit before it wrote any text; see --max-tokens.'
  if (stopReason === 'content_filter' || stopReason === 'content-filter')
    return "The provider's content filter blocked the answer."
  return 'The model returned an empty answer.'
}

const STATUS_TEXTS: { readonly [status: string]: string } = {
  401: 'rejected the API key',
  403: 'rejected the API key',
  404: "doesn't recognize the model or the address",
  429: 'is limiting requests, or a quota is used up',
}

/** What went wrong with a call of a model, as a sentence for the terminal. It is not stored. */
export function failureSentence(error: unknown, title: string): string {
  const code = callFailure(error)
  const words = messageOf(error)
  if (readOverflow(error) !== undefined) return `${title} rejected the request as too long: ${words}`
  if (code === 'CONNECTION_FAILED' && !(error instanceof ServerError))
    return `${title} can't be reached${systemCode(error)}.`
  if (code === 'NO_API_KEY') return `There is no API key for ${title}: ${words}`
  const status = /^HTTP_(\d+)$/.exec(code)?.[1]
  if (status === undefined) return `${title} failed: ${words}`
  const text = STATUS_TEXTS[status]
  if (text === undefined) return `${title} returned status ${status}: ${words}`
  return `${title} ${text} (status ${status}): ${words}`
}

/** An error's message. The AI SDK passes errors of a stream on as the provider wrote them: a text, or an object with a message. */
function messageOf(error: unknown): string {
  const { message } = (typeof error === 'object' && error !== null ? error : {}) as {
    readonly message?: unknown
  }
  const words = typeof message === 'string' ? message : typeof error === 'string' ? error : ''
  return withoutKey(words).trim().slice(0, MAX_ERROR_LENGTH) || 'no reason given'
}

/** The system's error code: ECONNREFUSED, ENOTFOUND. */
function systemCode(error: unknown): string {
  const { cause } = (error ?? {}) as { readonly cause?: { readonly code?: unknown } }
  return typeof cause?.code === 'string' && /^[A-Z_]{2,40}$/.test(cause.code) ? ` (${cause.code})` : ''
}
