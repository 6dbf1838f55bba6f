import { isUndertextError } from '../../../errors.ts'
import { isContextOverflowError } from '../../../overflow/overflow.ts'
import type { SqliteStore } from '../../../store/open.ts'
import { callFailure } from '../../../summarizers/model/call-failure.ts'
import type { Context } from '../../command.ts'
import { CliError, EXIT, type ExitCode, failureOf } from '../../errors.ts'
import type { BackendChoice, Reply } from './backend.ts'
import { MOST_WORDS, ServerError, withoutKey } from './chat-completions.ts'
import type { Prompts } from './prompts.ts'
import type { Reporter } from './reporter.ts'
import { isCut, usageWarning } from './reporter.ts'
import { runChatCommand } from './slash-commands.ts'
import { type Conversation, type Stop, type TurnOutcome, takeTurn } from './turn.ts'

type LoopOptions = {
  /** Whether a person types: then a failure is told and the chat goes on; else it ends there. */
  readonly isTyped: boolean
  /** Whether a prompt may be a command. */
  readonly hasCommands: boolean
}

/** Takes prompts until there are no more. Answers the exit code. */
export async function chatLoop(chat: Chat, prompts: Prompts, options: LoopOptions): Promise<ExitCode> {
  const { signal, readerLeft } = chat.context
  for (;;) {
    const said = await prompts.next()
    if (said === undefined || signal.aborted || readerLeft?.aborted === true)
      return signal.aborted ? EXIT.interrupted : EXIT.done
    try {
      const ran = options.hasCommands ? await command(chat, said, prompts) : undefined
      if (ran?.ends === true) return EXIT.done
      if (ran !== undefined) continue
      const text = options.hasCommands && said.startsWith('//') ? said.slice(1) : said
      const exit = await turn(chat, text, prompts)
      if (exit !== EXIT.done && !options.isTyped) return exit
    } catch (error) {
      // Somebody who types reads it and goes on; a script is to stop where it went wrong, and one that reads events is told by one.
      if (!isTellable(error) || !(options.isTyped || chat.context.json)) throw error
      const failure = failureOf(error, false)
      chat.reporter.failure(failure)
      if (!options.isTyped) return failure.exit
    }
  }
}

/** A command, where it is one; Ctrl-C ends it as it ends an answer. */
function command(chat: Chat, said: string, prompts: Prompts): ReturnType<typeof runChatCommand> {
  const own = new AbortController()
  const signal = AbortSignal.any([chat.context.signal, own.signal])
  return prompts.during(
    () => own.abort(),
    () => runChatCommand(chat, said, signal),
  )
}

function isTellable(error: unknown): boolean {
  return isUndertextError(error) || error instanceof CliError
}

/** One question and its answer, told as it comes. */
async function turn(chat: Chat, prompt: string, prompts: Prompts): Promise<ExitCode> {
  const { context, store, conversation, reporter } = chat
  const own = new AbortController()
  const { readerLeft = own.signal } = context
  const signal = AbortSignal.any([context.signal, own.signal, readerLeft])
  const outcome = await prompts.during(
    () => own.abort(),
    () => takeTurn(store, conversation, prompt, { signal, onText: (text) => reporter.text(text) }),
  )
  if (outcome.kind === 'nothing') return tellNothing(chat, outcome.stop)
  await tellAnswer(chat, outcome)
  return outcome.stop?.why === 'failed' ? tellFailed(chat, outcome.stop.error, AFTER_A_PART) : EXIT.done
}

async function tellAnswer(
  { store, conversation, reporter }: Chat,
  { reply, recorded, stop }: TurnOutcome & { readonly kind: 'answered' },
): Promise<void> {
  const { sessionId, autoCompact } = conversation
  const { settings } = await store.getConfig(sessionId)
  const warning = usageWarning(recorded.stats, autoCompact && settings.auto && settings.enabled)
  const { text, stopReason, model, usage } = reply
  const { stats, appended } = recorded
  const stopped = stop?.why
  reporter.answer({ sessionId, text, position: appended.position, stopReason, stopped, model, usage, stats })
  if (warning !== undefined) reporter.warning(warning)
}

const AFTER_A_PART = 'What came is stored; say "go on" to go on from there.'
const NOTHING_STORED = 'Nothing of it is stored; it can be asked again.'

function tellNothing(chat: Chat, stop: (TurnOutcome & { readonly kind: 'nothing' })['stop']): ExitCode {
  if (stop.why === 'failed') return tellFailed(chat, stop.error, NOTHING_STORED)
  if (stop.why === 'interrupted') {
    chat.reporter.failure({
      code: 'INTERRUPTED',
      message: 'Interrupted before anything came.',
      hint: NOTHING_STORED,
    })
    return EXIT.interrupted
  }
  chat.reporter.failure({ code: 'EMPTY_ANSWER', message: emptySentence(stop.reply), hint: NOTHING_STORED })
  return EXIT.failed
}

/** Why there is no answer. A model that thinks first can use up all it may write before it says a word. */
function emptySentence({ calledTools, stopReason }: Reply): string {
  if (calledTools.length > 0)
    return `The model wanted to call ${calledTools.join(', ')}; a chat runs no tools.`
  if (isCut(stopReason))
    return 'The model came to the limit of output tokens before it said a word; see --max-tokens.'
  if (stopReason === 'content_filter' || stopReason === 'content-filter')
    return 'A filter at the provider held the answer back.'
  return 'The model answered without a word.'
}

function tellFailed(
  { conversation, reporter }: Chat,
  error: (Stop & { why: 'failed' })['error'],
  hint: string,
): ExitCode {
  reporter.failure({
    code: 'MODEL_FAILED',
    message: failureSentence(error, conversation.backend.title),
    hint,
  })
  return EXIT.failed
}

/** What went wrong with a call of a model, as one sentence for the person at the terminal; nothing of it is stored. */
export function failureSentence(error: unknown, title: string): string {
  const code = callFailure(error)
  const words = wordsOf(error)
  if (isContextOverflowError(error)) return `${title} refused the request as too long: ${words}`
  if (code === 'CONNECTION_FAILED' && !(error instanceof ServerError))
    return `${title} cannot be reached${reasonOf(error)}.`
  if (code === 'NO_API_KEY') return `There is no API key for ${title}: ${words}`
  const status = /^HTTP_(\d+)$/.exec(code)?.[1]
  if (status === '401' || status === '403')
    return `${title} does not accept the API key (status ${status}): ${words}`
  if (status === '404') return `${title} does not know the model or the address (status 404): ${words}`
  if (status === '429') return `${title} asks to wait, or a limit is used up (status 429): ${words}`
  if (status !== undefined) return `${title} answered with status ${status}: ${words}`
  return `${title} failed: ${words}`
}

function wordsOf(error: unknown): string {
  // What a stream tells of an error comes from the AI SDK as the provider wrote it: a text, or an object with a message.
  const { message } = (typeof error === 'object' && error !== null ? error : {}) as {
    readonly message?: unknown
  }
  const words = typeof message === 'string' ? message : typeof error === 'string' ? error : ''
  return withoutKey(words).trim().slice(0, MOST_WORDS) || 'no reason given'
}

/** The system's word for it: ECONNREFUSED, ENOTFOUND. */
function reasonOf(error: unknown): string {
  const { cause } = (error ?? {}) as { readonly cause?: { readonly code?: unknown } }
  return typeof cause?.code === 'string' && /^[A-Z_]{2,40}$/.test(cause.code) ? ` (${cause.code})` : ''
}

/** A chat at work: what the loop and its commands share. */
export type Chat = {
  readonly context: Context
  readonly store: SqliteStore
  readonly conversation: Conversation
  readonly reporter: Reporter
  /** Who answers, as it was said last. */
  choice: BackendChoice
}
