import { createInterface } from 'node:readline'
import { v7 as uuidv7 } from 'uuid'
import { textsOf } from '../../core/messages/message.ts'
import type { Session } from '../../storage/storage.ts'
import type { Settings } from '../../store/config/settings.ts'
import type { Store } from '../../store/store.ts'
import type { Context } from '../command.ts'
import type { Given } from '../declarations.ts'
import { CliError } from '../errors.ts'
import { systemPromptOf } from '../options.ts'
import { count, counted } from '../output/figures.ts'
import { shellWord } from '../output/ids.ts'
import { sentence, writeLines } from '../output/layout.ts'
import { safeLine } from '../output/safe-text.ts'
import { findSession } from '../references.ts'
import { type Backend, summarizerBy } from './chat/backend.ts'
import { chooseBackend } from './chat/choose-backend.ts'
import { chatLoop } from './chat/loop.ts'
import { onePrompt, type Prompts, pipedPrompts, terminalPrompts } from './chat/prompts.ts'
import { jsonReporter, textReporter } from './chat/reporter.ts'
import { briefMessage, SLASH_COMMANDS } from './chat/slash-commands.ts'
import type { Chat } from './chat/turn.ts'

type ChatOptions = Given<'chat'>

/** Messages that are shown when a session continues. */
const SHOWN_AT_RESUME = 4
/** Earlier prompts that the up arrow recalls. */
const REMEMBERED = 100

/** Takes prompts and shows answers until there are no more prompts. */
export async function chat(
  context: Context,
  given: string | undefined,
  options: ChatOptions,
): Promise<number> {
  const { message, title, maxTokens, compactThreshold, disableCompaction } = options
  const { json, input, err, out, cwd } = context
  if (message?.trim() === '') throw new CliError('WRONG_USE', '--message is empty.')
  const isTyped = message === undefined && input.isTTY === true && err.isTerminal && !json
  const known = given === undefined ? undefined : await knownSession(context, given)
  const backend = await chooseBackend(options, known ?? {}, context)
  const store = await context.open(known === undefined ? 'write' : 'change', {
    config: await settingsOf(context, options, backend),
  })
  const reporter = json ? jsonReporter(out) : textReporter(context, isTyped)
  const conversation: Chat['conversation'] = {
    sessionId: known?.id ?? uuidv7(),
    isStored: known !== undefined,
    title,
    backend,
    system: await systemPromptOf(options, cwd),
    maxOutputTokens: maxTokens,
    threshold: compactThreshold,
    autoCompact: disableCompaction !== true,
  }
  const chat: Chat = { context, store, reporter, choice: options, conversation }
  const stopListening = store.on('compaction', (event) => {
    if (event.sessionId === conversation.sessionId && event.phase !== 'undone' && event.phase !== 'redone')
      reporter.compaction(event)
  })
  const stopWarning = store.on('windowAssumed', ({ provider, model, tokens }) => {
    const name = safeLine(`${provider}/${model}`)
    const text = `The context window of ${name} is unknown; ${count(tokens)} tokens are assumed. --context-window sets it.`
    writeLines(context.err, sentence(text, context.err, context.style.yellow))
  })
  await begin(chat, known, isTyped)
  const prompts = await promptsOf(chat, message, isTyped)
  try {
    return await chatLoop(chat, prompts, { isTyped, hasCommands: message === undefined })
  } finally {
    prompts.close()
    stopListening()
    stopWarning()
    reporter.end(conversation.isStored ? conversation.sessionId : undefined)
  }
}

/** The session to continue, looked up before anything else is opened or asked. */
async function knownSession(context: Context, given: string): Promise<Session> {
  const store = await context.open('change')
  return store.sessions.get(await findSession(store, given))
}

async function settingsOf(
  context: Context,
  { contextWindow: tokens, summaryModel, ...choice }: ChatOptions,
  { provider = 'openai', model }: Backend,
): Promise<Settings> {
  const windows = tokens === undefined || model === undefined ? tokens : { [model]: tokens, _default: tokens }
  const summarizer =
    summaryModel === undefined
      ? undefined
      : summarizerBy(await chooseBackend({ ...choice, model: summaryModel }, {}, context))
  return {
    ...(windows !== undefined && { contextWindows: { [provider]: windows } }),
    // A chat continues if the model that writes summaries fails.
    ...(summarizer !== undefined && { summarizer, offlineFallback: true }),
  }
}

async function begin(
  { context, store, conversation, reporter }: Chat,
  known: Session | undefined,
  isTyped: boolean,
): Promise<void> {
  const { sessionId, backend } = conversation
  const { kind, title, provider, model } = backend
  const messages =
    known === undefined ? 0 : (await store.sessions.get(known.id, { counts: true })).counts.messages
  reporter.session({ sessionId, isNew: known === undefined, messages, backend: kind, provider, model })
  if (!isTyped) return
  const { err, style } = context
  const what = known === undefined ? 'A new session' : `Session ${sessionId}, ${counted(messages, 'message')}`
  const view = known === undefined ? [] : await store.getEffectiveHistory(sessionId)
  writeLines(err, [
    `${style.bold(what)}; answers come from ${safeLine(title)}. /help lists the commands.`,
    ...(kind === 'echo' ? [style.dim(echoHint(known))] : []),
    ...view.slice(-SHOWN_AT_RESUME).map((message) => briefMessage(message, style, err.columns)),
  ])
}

/** How to ask a model, in case the echo is not intended. */
function echoHint(known: Session | undefined): string {
  if (known?.provider === undefined)
    return 'No model is called. Name one with --provider and --model, or with --url.'
  const model = known.model === undefined ? '' : ` --model ${shellWord(known.model)}`
  return safeLine(
    `No model is called. The session used ${known.provider}: --provider ${shellWord(known.provider)}${model} continues it there.`,
  )
}

async function promptsOf(
  { context, store, conversation }: Chat,
  message: string | undefined,
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
    isColored: style.cyan('>') !== '>',
    history: conversation.isStored ? await earlierPrompts(store, conversation.sessionId) : [],
    words: SLASH_COMMANDS.map(({ name }) => name),
  })
}

/** The user's prompts, newest first. */
async function earlierPrompts(store: Store, sessionId: string): Promise<string[]> {
  const rows = await store.getMessages(sessionId, { limit: REMEMBERED, order: 'backward' })
  return rows.flatMap((row) => {
    if (row.role !== 'user' || row.kind !== 'message') return []
    const texts = textsOf(row)
    return texts.length === 0 ? [] : [texts.join('\n').replace(/[^\P{Cc}\n]/gu, '')]
  })
}
