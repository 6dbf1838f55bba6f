import { createInterface } from 'node:readline'
import { v7 as uuidv7 } from 'uuid'
import type { Settings } from '../../config/settings.ts'
import { partsOf } from '../../messages/message.ts'
import type { Session } from '../../storage/storage.ts'
import type { SqliteStore } from '../../store/open.ts'
import type { Context, Sink } from '../command.ts'
import { CliError } from '../errors.ts'
import { type SystemPromptOptions, systemPromptOf } from '../options.ts'
import { counted } from '../output/figures.ts'
import { shellWord } from '../output/ids.ts'
import { safeJson, safeLine } from '../output/safe-text.ts'
import type { Backend } from './chat/backend.ts'
import { type BackendChoice, chooseBackend, summarizerBy } from './chat/backend.ts'
import type { Chat } from './chat/loop.ts'
import { chatLoop } from './chat/loop.ts'
import { onePrompt, type Prompts, pipedPrompts, terminalPrompts } from './chat/prompts.ts'
import type { Reporter } from './chat/reporter.ts'
import { textReporter } from './chat/reporter.ts'
import { briefMessage, CHAT_COMMANDS } from './chat/slash-commands.ts'

export type ChatOptions = BackendChoice &
  SystemPromptOptions & {
    readonly contextWindow?: number
    readonly compactThreshold?: number
    readonly disableCompaction?: boolean
    readonly summaryModel?: string
    readonly maxTokens?: number
    readonly title?: string
    readonly message?: string
  }

/** Messages that are shown when a session goes on. */
const SHOWN_AT_RESUME = 4
/** Earlier prompts that the arrow up finds. */
const REMEMBERED = 100

/** Talks until there is nothing more to say. */
export async function chat(
  context: Context,
  given: string | undefined,
  options: ChatOptions,
): Promise<number> {
  if (options.message?.trim() === '') throw new CliError('WRONG_USE', '--message says nothing.')
  const isTyped =
    options.message === undefined && context.input.isTTY === true && context.err.isTerminal && !context.json
  const known = given === undefined ? undefined : await knownSession(context, given)
  const backend = await chooseBackend(options, known ?? {}, context)
  const store = await context.open(known === undefined ? 'write' : 'change', {
    config: await settingsOf(context, options, backend),
  })
  const reporter = context.json ? jsonReporter(context.out) : textReporter(context, isTyped)
  const talk: Chat = {
    context,
    store,
    reporter,
    choice: options,
    conversation: await conversationOf(context, options, backend, known),
  }
  const { conversation } = talk
  const stopListening = store.on('compaction', (event) => {
    if (event.sessionId === conversation.sessionId && event.phase !== 'undone' && event.phase !== 'redone')
      reporter.compaction(event)
  })
  await begin(talk, known, isTyped)
  const prompts = await promptsOf(talk, options, isTyped)
  try {
    return await chatLoop(talk, prompts, { isTyped, hasCommands: options.message === undefined })
  } finally {
    prompts.close()
    stopListening()
    reporter.end(conversation.isStored ? conversation.sessionId : undefined)
  }
}

/** The session to go on with, looked up before anything else is opened or asked. */
async function knownSession(context: Context, given: string): Promise<Session> {
  const store = await context.open('change')
  return store.getSession(await context.session(store, given))
}

async function settingsOf(
  context: Context,
  { contextWindow, summaryModel, ...choice }: ChatOptions,
  { provider, model }: Backend,
): Promise<Settings> {
  const summarizer =
    summaryModel === undefined
      ? undefined
      : summarizerBy(await chooseBackend({ ...choice, model: summaryModel }, {}, context))
  return {
    ...(contextWindow !== undefined && {
      contextWindows: { [provider ?? 'openai']: windowsOf(model, contextWindow) },
    }),
    // A chat must go on where the model that writes summaries fails.
    ...(summarizer !== undefined && { summarizer, offlineFallback: true }),
  }
}

function windowsOf(model: string | undefined, tokens: number): number | { readonly [model: string]: number } {
  return model === undefined ? tokens : { [model]: tokens, _default: tokens }
}

async function conversationOf(
  { cwd }: Context,
  options: ChatOptions,
  backend: Backend,
  known: Session | undefined,
): Promise<Chat['conversation']> {
  const { title, maxTokens, compactThreshold, disableCompaction } = options
  return {
    sessionId: known?.id ?? uuidv7(),
    isStored: known !== undefined,
    title,
    backend,
    system: await systemPromptOf(options, cwd),
    maxOutputTokens: maxTokens,
    threshold: compactThreshold,
    autoCompact: disableCompaction !== true,
  }
}

async function begin(
  { context, store, conversation, reporter }: Chat,
  known: Session | undefined,
  isTyped: boolean,
): Promise<void> {
  const { sessionId, backend } = conversation
  const { kind, title, provider, model } = backend
  const messages = known?.messageCount ?? 0
  reporter.session({ sessionId, isNew: known === undefined, messages, backend: kind, provider, model })
  if (!isTyped) return
  const { err, style } = context
  const what = known === undefined ? 'A new session' : `Session ${sessionId}, ${counted(messages, 'message')}`
  err.write(`${style.bold(what)}; answers come from ${safeLine(title)}. /help lists what there is.\n`)
  if (kind === 'echo') err.write(style.dim(`${howToAsk(known)}\n`))
  if (known === undefined) return
  const view = await store.getEffectiveHistory(sessionId)
  for (const message of view.slice(-SHOWN_AT_RESUME))
    err.write(`${briefMessage(message, style, err.columns)}\n`)
}

/** What to say of an echo that may not be meant. */
function howToAsk(known: Session | undefined): string {
  if (known?.provider === undefined)
    return 'No model is asked: name one with --provider and --model, or with --url.'
  const model = known.model === undefined ? '' : ` --model ${shellWord(known.model)}`
  return safeLine(
    `No model is asked. It was with ${known.provider}: --provider ${shellWord(known.provider)}${model} goes on there.`,
  )
}

async function promptsOf(
  { context, store, conversation }: Chat,
  { message }: ChatOptions,
  isTyped: boolean,
): Promise<Prompts> {
  if (message !== undefined) return onePrompt(message)
  const { input, signal, style } = context
  if (!isTyped) {
    const lines = createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })
    signal.addEventListener('abort', () => lines.close(), { once: true })
    return pipedPrompts(lines[Symbol.asyncIterator](), () => lines.close())
  }
  return terminalPrompts(context, {
    prompt: '> ',
    continuation: '… ',
    isColoured: style.cyan('>') !== '>',
    history: conversation.isStored ? await earlierPrompts(store, conversation.sessionId) : [],
    words: CHAT_COMMANDS.map(({ name }) => name),
  })
}

/** What the user said before, newest first. */
async function earlierPrompts(store: SqliteStore, sessionId: string): Promise<string[]> {
  const rows = await store.getMessages(sessionId, { limit: REMEMBERED, order: 'backward' })
  return rows.flatMap((row) => {
    if (row.role !== 'user' || row.kind !== 'message') return []
    const text = partsOf(row).flatMap((part) => (part.type === 'text' ? [part.text] : []))
    return text.length === 0 ? [] : [text.join('\n').replace(/[^\P{Cc}\n]/gu, '')]
  })
}

/** Each event as one line of JSON. Remarks for people are left out. */
export function jsonReporter(out: Sink): Reporter {
  const tell = (event: string, fields: object): void =>
    out.write(`${safeJson(JSON.stringify({ event, ...fields }))}\n`)
  return {
    session: ({ sessionId: session, ...told }) => tell('session', { session, ...told }),
    text: (text) => tell('text', { text }),
    answer: ({ sessionId: session, stats, ...told }) =>
      tell('answer', { session, ...told, context: stats === null ? null : contextOf(stats) }),
    warning: (warning) => tell('warning', warning),
    compaction: ({ sessionId: session, ...told }) => tell('compaction', { session, ...told }),
    failure: ({ code, message, hint }) => tell('error', { code, message, hint }),
    note: () => {},
    result: (command, value) => tell('result', { command, value }),
    end: (session) => tell('end', { session: session ?? null }),
  }
}

function contextOf({
  estimatedInputTokens: tokens,
  availableInputTokens: availableTokens,
  usageRatio,
  shouldCompact,
  source,
}: Parameters<Reporter['answer']>[0]['stats'] & object) {
  return { tokens, availableTokens, usageRatio, shouldCompact, source }
}
