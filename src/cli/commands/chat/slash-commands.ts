import { type Message, mediaWord, outputText, type Part, partsOf } from '../../../messages/message.ts'
import type { Compaction, UndoOutcome } from '../../../storage/storage.ts'
import type { Style } from '../../command.ts'
import { CliError } from '../../errors.ts'
import { share } from '../../options.ts'
import { count, counted, percent } from '../../output/figures.ts'
import { shortIds } from '../../output/ids.ts'
import { clipped } from '../../output/layout.ts'
import { safeLine } from '../../output/safe-text.ts'
import { makePlan, planJson, planRows, WHY_NOTHING } from '../compact/plan.ts'
import { shortPlanText } from '../compact/plan-text.ts'
import { logLines, readTimeline } from '../log.ts'
import { chooseBackend } from './backend.ts'
import type { Chat } from './loop.ts'

/** What can be said to the chat itself. */
type ChatCommand = {
  readonly name: string
  /** What may follow. */
  readonly takes: string
  readonly does: string
  /** Whether there must be a stored session. */
  readonly needsSession?: true
  /** `'end'` ends the chat. The signal is aborted by Ctrl-C while the command is at work. */
  run(chat: Chat, argument: string, signal: AbortSignal): Promise<'end' | undefined>
}

/** Rows that `/show` and `/history` show when nobody says how many. */
const FEW = 20

export const CHAT_COMMANDS: readonly ChatCommand[] = [
  { name: '/help', takes: '', does: 'this list', run: help },
  { name: '/stats', takes: '', does: 'how full the context is', needsSession: true, run: stats },
  {
    name: '/compact',
    takes: '[target]',
    does: 'make room now, down to a share of the window',
    needsSession: true,
    run: compact,
  },
  {
    name: '/undo',
    takes: '[id]',
    does: 'take a compaction back; the newest in force',
    needsSession: true,
    run: undo,
  },
  { name: '/redo', takes: '[id]', does: 'put one back; the one undone last', needsSession: true, run: redo },
  { name: '/log', takes: '', does: 'the compactions, newest first', needsSession: true, run: log },
  {
    name: '/show',
    takes: '[count]',
    does: 'the newest rows as the model gets them',
    needsSession: true,
    run: show,
  },
  {
    name: '/history',
    takes: '[count]',
    does: 'the newest rows of the log, hidden ones dim',
    needsSession: true,
    run: history,
  },
  { name: '/model', takes: '[name]', does: 'who answers; another model from now on', run: model },
  {
    name: '/system',
    takes: '[text | -]',
    does: 'the system prompt; another one, or none with -',
    run: system,
  },
  { name: '/exit', takes: '', does: 'end; so do Ctrl-D and Ctrl-C on an empty line', run: async () => 'end' },
]

/**
 * Runs what begins with a slash. Answers `undefined` for what is meant for the model: everything else, and `//…`, of which one slash goes.
 * Throws `WRONG_USE` for a command there is not, and what the store throws.
 */
export async function runChatCommand(
  chat: Chat,
  said: string,
  signal: AbortSignal,
): Promise<{ readonly ends: boolean } | undefined> {
  const [, typed, argument = ''] = /^(\/[a-z]+)(?:\s+([\s\S]*))?$/i.exec(said.trim()) ?? []
  if (typed === undefined) return undefined
  const name = typed.toLowerCase()
  const command = CHAT_COMMANDS.find((one) => one.name === name || (name === '/quit' && one.name === '/exit'))
  if (command === undefined)
    throw new CliError('WRONG_USE', `There is no ${typed}.`, {
      hint: '/help lists what there is; begin with // to say it to the model.',
    })
  if (command.needsSession === true && !chat.conversation.isStored) {
    chat.reporter.note('Nothing is stored yet.')
    return { ends: false }
  }
  return { ends: (await command.run(chat, argument.trim(), signal)) === 'end' }
}

async function help({ reporter }: Chat): Promise<undefined> {
  const width = Math.max(...CHAT_COMMANDS.map(({ name, takes }) => `${name} ${takes}`.length))
  const lines = CHAT_COMMANDS.map(({ name, takes, does }) => `  ${`${name} ${takes}`.padEnd(width)}  ${does}`)
  const more =
    'A backslash at the end of a line goes on with the next. // at the beginning stands for one slash.'
  reporter.result(
    '/help',
    CHAT_COMMANDS.map(({ name, takes, does }) => ({ name, takes, does })),
    [...lines, `  ${more}`],
  )
}

async function stats({ store, conversation, reporter }: Chat): Promise<undefined> {
  const { sessionId, backend, system, maxOutputTokens, threshold } = conversation
  const stats = await store.getContextStats(sessionId, backend.provider, backend.model, {
    ...(system !== undefined && { systemPrompt: system }),
    ...(maxOutputTokens !== undefined && { maxTokens: maxOutputTokens }),
    ...(threshold !== undefined && { threshold }),
  })
  if (stats === null) {
    reporter.note('There is nothing to count.')
    return
  }
  const { estimatedInputTokens: tokens, availableInputTokens: available, breakdown, hidden } = stats
  const away = hidden.condensed + hidden.truncated + hidden.byHand
  reporter.result('/stats', stats, [
    `${count(tokens)} of ${count(available)} tokens (${percent(stats.usageRatio)}), ${stats.source}; compaction at ${percent(stats.threshold)}`,
    `history ${count(breakdown.conversationHistory)}, system prompt ${count(breakdown.systemPrompt)}; window of ${count(stats.contextWindow.tokens)} for ${[stats.provider, stats.model].filter(Boolean).join('/')}`,
    `${counted(stats.messageCount, 'row')} of ${counted(stats.storedMessages, 'message')}${away > 0 ? `, ${count(away)} hidden` : ''}; ${counted(stats.activeCompactions, 'compaction')} in force`,
  ])
}

async function compact(
  { context, store, conversation, reporter }: Chat,
  argument: string,
  signal: AbortSignal,
): Promise<undefined> {
  const { sessionId, backend, system, maxOutputTokens } = conversation
  const shown = await makePlan(store, sessionId, {
    ...(backend.provider !== undefined && { provider: backend.provider }),
    ...(backend.model !== undefined && { model: backend.model }),
    ...(system !== undefined && { systemPrompt: system }),
    ...(maxOutputTokens !== undefined && { maxTokens: maxOutputTokens }),
    ...(argument !== '' && { target: targetOf(argument) }),
    reason: 'asked for in the chat',
    signal,
  })
  const json = shown !== undefined && context.json ? planJson(shown, await planRows(store, shown)) : null
  if (shown === undefined || !shown.preview.compacted) {
    const reason = shown === undefined ? 'NO_MESSAGES' : (shown.preview.reason ?? 'NOTHING_TO_COMPACT')
    reporter.result('/compact', json, [`Nothing to compact: ${WHY_NOTHING[reason]}.`])
    return
  }
  reporter.result('/compact', json, shortPlanText(shown, context).trimEnd().split('\n'))
  await store.compactSession(sessionId, shown.preview)
}

function targetOf(argument: string): number {
  const text = argument.endsWith('%') ? String(Number(argument.slice(0, -1)) / 100) : argument
  try {
    return share(text)
  } catch {
    throw new CliError('WRONG_USE', 'The target must be a share from 0 to 1, or a percentage such as 40%.')
  }
}

async function log({ context, store, conversation, reporter }: Chat): Promise<undefined> {
  const { sessionId } = conversation
  const compactions = await store.listCompactions(sessionId)
  const timeline = await readTimeline(store, sessionId)
  reporter.result('/log', compactions, logLines(context, sessionId, timeline, timeline.runs.length))
}

async function show({ context, store, conversation, reporter }: Chat, argument: string): Promise<undefined> {
  const view = (await store.getEffectiveHistory(conversation.sessionId)).slice(-countOf(argument))
  const { style, out } = context
  reporter.result(
    '/show',
    view,
    view.map((message) => briefMessage(message, style, out.columns)),
  )
}

async function history(
  { context, store, conversation, reporter }: Chat,
  argument: string,
): Promise<undefined> {
  const rows = await store.getMessages(conversation.sessionId, {
    limit: countOf(argument),
    order: 'backward',
  })
  const { style, out } = context
  reporter.result(
    '/history',
    rows.toReversed(),
    rows.toReversed().map((row) => briefMessage(row, style, out.columns)),
  )
}

function countOf(argument: string): number {
  if (argument === '') return FEW
  if (!/^[1-9]\d{0,6}$/.test(argument))
    throw new CliError('WRONG_USE', 'How many must be a whole number from 1 up.')
  return Number(argument)
}

async function model(chat: Chat, argument: string): Promise<undefined> {
  const { context, conversation, reporter } = chat
  if (argument !== '') {
    const choice = {
      ...chat.choice,
      model: argument,
      ...(/\//.test(argument) && chat.choice.url === undefined && { provider: undefined }),
    }
    conversation.backend = await chooseBackend(choice, conversation.backend, context)
    chat.choice = choice
  }
  const { kind, title, provider, model } = conversation.backend
  reporter.result('/model', { backend: kind, provider: provider ?? null, model: model ?? null }, [
    `Answers come from ${safeLine(title)}.`,
  ])
}

async function system({ conversation, reporter }: Chat, argument: string): Promise<undefined> {
  if (argument !== '') conversation.system = argument === '-' ? undefined : argument
  const { system } = conversation
  reporter.result('/system', { system: system ?? null }, [system ?? 'There is no system prompt.'])
}

/** `/undo [id]`: takes a run out of force; the newest one when none is named. */
async function undo(chat: Chat, argument: string): Promise<undefined> {
  const { store, conversation } = chat
  const target = await targetRun(chat, argument, 'active')
  if (target === undefined) {
    chat.reporter.note('No compaction is in force.')
    return
  }
  tellOutcome(chat, '/undo', target, await store.undoCompaction(conversation.sessionId, target))
}

/** `/redo [id]`: puts a run back in force; the one undone last when none is named. */
async function redo(chat: Chat, argument: string): Promise<undefined> {
  const { store, conversation } = chat
  const target = await targetRun(chat, argument, 'undone')
  if (target === undefined) {
    chat.reporter.note('No compaction was undone.')
    return
  }
  tellOutcome(chat, '/redo', target, await store.redoCompaction(conversation.sessionId, target))
}

/** The run that is meant: the one named, else the newest in that state. */
async function targetRun(
  { context, store, conversation: { sessionId } }: Chat,
  argument: string,
  status: Compaction['status'],
): Promise<string | undefined> {
  if (argument !== '') return context.compaction(store, sessionId, argument)
  const found = (await store.listCompactions(sessionId)).filter((one) => one.status === status)
  const newest =
    status === 'active' ? found.at(-1) : found.toSorted((a, b) => a.changedAt - b.changedAt).at(-1)
  return newest?.runId
}

function tellOutcome(
  { reporter }: Chat,
  command: '/undo' | '/redo',
  target: string,
  outcome: UndoOutcome,
): void {
  const name = shortIds([target, ...outcome.compactionIds]).get(target) ?? target
  const [did, back] = command === '/undo' ? ['Undone', `/redo ${name}`] : ['Put back', `/undo ${name}`]
  const what = `${counted(outcome.compactionIds.length, 'compaction')}: ${counted(outcome.rows, 'row')}, ${counted(outcome.parts, 'part')}`
  const line = outcome.changed
    ? `${did}: ${what}. The other way: ${back}`
    : outcome.notTurned === undefined
      ? 'It is so already; nothing was changed.'
      : `Nothing was changed: ${outcome.notTurned.map(({ compactionId, status }) => `${compactionId} is ${status}`).join(', ')}.`
  reporter.result(command, { target, ...outcome }, [line])
}

type Shown = Pick<Message, 'role' | 'content'> & {
  readonly kind: 'message' | 'summary' | 'marker'
  readonly position?: number
  readonly hidden?: boolean
}

/** A message on one line, to tell where one is: position, who speaks, and how it begins. Hidden ones are dim. */
export function briefMessage(message: Shown, style: Style, columns: number): string {
  const place = String(message.position ?? '·').padStart(4)
  const who = (message.kind === 'message' ? message.role : message.kind).padEnd(9)
  const words = safeLine(wordsOf(message))
  const text = clipped(words, Math.max(20, columns - place.length - who.length - 4))
  if (message.hidden === true) return style.dim(`${place}  ${who}  ${text}`)
  return `${style.dim(place)}  ${lookOf(message, style)(who)}  ${text}`
}

function lookOf({ kind, role }: Shown, style: Style): (text: string) => string {
  if (kind !== 'message') return style.magenta
  return role === 'user' ? style.cyan : role === 'assistant' ? style.green : style.dim
}

/** The words of a message on one line; tools by name, and what has no words by a word of ours. */
function wordsOf(message: Shown): string {
  return partsOf(message)
    .map(wordOf)
    .filter((word) => word !== '')
    .join(' ')
    .replace(/\s+/g, ' ')
    .trim()
}

function wordOf(part: Part): string {
  switch (part.type) {
    case 'text':
      return part.text
    case 'tool-call':
      return `→ ${part.toolName}`
    case 'tool-result':
      return `← ${outputText(part.output)}`
    case 'image':
    case 'file':
      return mediaWord(part)
    case 'reasoning':
    case 'provider':
      return ''
  }
}
