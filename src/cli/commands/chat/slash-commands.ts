import { type Message, partsOf } from '../../../core/messages/message.ts'
import type { Style } from '../../command.ts'
import { CliError } from '../../errors.ts'
import { share } from '../../options.ts'
import { clipped } from '../../output/layout.ts'
import { beginningOf, rowStyle } from '../../output/message-text.ts'
import { safeLine } from '../../output/safe-text.ts'
import { findCompaction } from '../../references.ts'
import { IDLE_REASONS, makePlan, planJson, planRows, shortPlanLines } from '../compact/plan.ts'
import { logLines, readTimeline } from '../log.ts'
import { requestFigures, statsLines } from '../stats.ts'
import { changeCompaction } from '../undo.ts'
import { chooseBackend } from './choose-backend.ts'
import type { Chat } from './turn.ts'

/** A command for the chat itself. */
type SlashCommand = {
  readonly name: string
  /** The argument it takes. */
  readonly takes: string
  readonly does: string
  /** Whether there must be a stored session. */
  readonly needsSession?: true
  /** The signal is aborted by Ctrl-C while the command runs. */
  run(chat: Chat, argument: string, signal: AbortSignal): Promise<void>
}

const EXIT_COMMAND = '/exit'

export const SLASH_COMMANDS: readonly SlashCommand[] = [
  { name: '/help', takes: '', does: 'this list', run: help },
  { name: '/stats', takes: '', does: 'how full the context is', needsSession: true, run: stats },
  {
    name: '/compact',
    takes: '[target]',
    does: 'compact now, to a share of the available input',
    needsSession: true,
    run: compact,
  },
  {
    name: '/undo',
    takes: '[id]',
    does: 'undo a compaction or a run (default: the newest run in force)',
    needsSession: true,
    run: (chat, argument) => undoOrRedo(chat, 'undo', argument),
  },
  {
    name: '/redo',
    takes: '[id]',
    does: 'redo a compaction or a run (default: the run undone last)',
    needsSession: true,
    run: (chat, argument) => undoOrRedo(chat, 'redo', argument),
  },
  { name: '/log', takes: '', does: 'the compactions, newest first', needsSession: true, run: log },
  {
    name: '/show',
    takes: '[count]',
    does: 'the newest rows, as sent to the model',
    needsSession: true,
    run: show,
  },
  {
    name: '/history',
    takes: '[count]',
    does: 'the newest rows of the log, with hidden rows dimmed',
    needsSession: true,
    run: history,
  },
  { name: '/model', takes: '[name]', does: 'show or change the model', run: model },
  {
    name: '/system',
    takes: '[text | -]',
    does: 'show or change the system prompt; - removes it',
    run: system,
  },
  {
    name: EXIT_COMMAND,
    takes: '',
    does: 'end the chat (also Ctrl-D, or Ctrl-C on an empty line)',
    run: async () => {},
  },
]

/**
 * Runs a prompt that begins with a slash. Returns `undefined` for prompts to the model: all others, and `//…`. Throws `WRONG_USE` for an
 * unknown command, and the store's errors.
 */
export async function runSlashCommand(
  chat: Chat,
  prompt: string,
  signal: AbortSignal,
): Promise<{ readonly ends: boolean } | undefined> {
  const [, typed, argument = ''] = /^(\/[a-z]+)(?:\s+([\s\S]*))?$/i.exec(prompt.trim()) ?? []
  if (typed === undefined) return undefined
  const name = typed.toLowerCase() === '/quit' ? EXIT_COMMAND : typed.toLowerCase()
  const command = SLASH_COMMANDS.find((one) => one.name === name)
  if (command === undefined)
    throw new CliError('WRONG_USE', `Unknown command ${typed}.`, {
      hint: '/help lists the commands. To send the text to the model, begin it with //.',
    })
  if (command.needsSession === true && !chat.conversation.isStored)
    chat.reporter.note('Nothing is stored yet.')
  else await command.run(chat, argument.trim(), signal)
  return { ends: name === EXIT_COMMAND }
}

async function help({ reporter }: Chat): Promise<void> {
  const listed = SLASH_COMMANDS.map(({ name, takes, does }) => ({ name, takes, does }))
  const width = listed.reduce((most, { name, takes }) => Math.max(most, `${name} ${takes}`.length), 0)
  reporter.result('/help', listed, [
    ...listed.map(({ name, takes, does }) => `  ${`${name} ${takes}`.padEnd(width)}  ${does}`),
    '  A backslash at the end of a line continues it on the next. // at the beginning is sent as one slash.',
  ])
}

async function stats({ context, store, conversation, reporter }: Chat): Promise<void> {
  const { sessionId, backend, system, maxOutputTokens, threshold } = conversation
  const stats = await store.getContextStats(sessionId, backend.provider, backend.model, {
    system,
    maxOutputTokens,
    threshold,
  })
  if (stats === null) {
    reporter.note('There is nothing to count.')
    return
  }
  const { settings } = await store.sessions.config(sessionId)
  const session = await store.sessions.get(sessionId, { counts: true })
  const figures = [requestFigures(stats, settings)]
  const usage = await store.requests.usage(sessionId)
  reporter.result('/stats', stats, statsLines(context, session, figures, usage))
}

async function compact(
  { context, store, conversation, reporter }: Chat,
  argument: string,
  signal: AbortSignal,
): Promise<void> {
  const { sessionId, backend, system, maxOutputTokens, threshold } = conversation
  const shown = await makePlan(store, sessionId, {
    threshold,
    provider: backend.provider,
    model: backend.model,
    system,
    maxOutputTokens,
    target: argument === '' ? undefined : targetOf(argument),
    reason: 'requested in the chat',
    signal,
  })
  const json = shown !== undefined && context.json ? planJson(shown, await planRows(store, shown)) : null
  if (shown === undefined || !shown.preview.compacted) {
    const reason = shown === undefined ? 'NO_MESSAGES' : (shown.preview.reason ?? 'NOTHING_TO_COMPACT')
    reporter.result('/compact', json, [`Nothing to compact: ${IDLE_REASONS[reason]}.`])
    return
  }
  reporter.result('/compact', json, shortPlanLines(shown, context))
  await store.compactSession(sessionId, shown.preview)
}

function targetOf(argument: string): number {
  try {
    return share(argument)
  } catch {
    throw new CliError('WRONG_USE', 'The target must be a share from 0 to 1, or a percentage such as 40%.')
  }
}

async function log({ context, store, conversation, reporter }: Chat): Promise<void> {
  const { sessionId } = conversation
  const compactions = await store.listCompactions(sessionId)
  const timeline = await readTimeline(store, sessionId)
  reporter.result('/log', compactions, logLines(context, sessionId, timeline, timeline.runs.length))
}

async function show(chat: Chat, argument: string): Promise<void> {
  const view = await chat.store.getEffectiveHistory(chat.conversation.sessionId)
  reportRows(chat, '/show', view.slice(-countOf(argument)))
}

async function history(chat: Chat, argument: string): Promise<void> {
  const options = { limit: countOf(argument), order: 'backward' } as const
  const rows = await chat.store.getMessages(chat.conversation.sessionId, options)
  reportRows(chat, '/history', rows.toReversed())
}

function reportRows({ context, reporter }: Chat, command: string, rows: readonly ShownMessage[]): void {
  const { style, out } = context
  reporter.result(
    command,
    rows,
    rows.map((row) => briefMessage(row, style, out.columns)),
  )
}

/** The number of rows to show; 20 by default. */
function countOf(argument: string): number {
  if (argument === '') return 20
  if (!/^[1-9]\d{0,6}$/.test(argument))
    throw new CliError('WRONG_USE', 'The number of rows must be a whole number, at least 1.')
  return Number(argument)
}

async function model(chat: Chat, argument: string): Promise<void> {
  const { context, conversation, reporter } = chat
  if (argument !== '') {
    const { kind } = conversation.backend
    if (kind === 'echo' && chat.choice.echo !== true && !argument.includes('/'))
      throw new CliError('WRONG_USE', 'The echo has no provider. Name one: /model PROVIDER/MODEL.')
    const namesProvider = argument.includes('/') && chat.choice.url === undefined
    const choice = { ...chat.choice, model: argument, ...(namesProvider && { provider: undefined }) }
    conversation.backend = await chooseBackend(choice, conversation.backend, context)
    chat.choice = choice
  }
  const { kind, title, provider, model } = conversation.backend
  reporter.result('/model', { backend: kind, provider: provider ?? null, model: model ?? null }, [
    `Answers come from ${safeLine(title)}.`,
  ])
}

async function system({ conversation, reporter }: Chat, argument: string): Promise<void> {
  if (argument !== '') conversation.system = argument === '-' ? undefined : argument
  const { system } = conversation
  reporter.result('/system', { system: system ?? null }, [system ?? 'There is no system prompt.'])
}

/** Undoes or redoes the named run; by default the newest in force, or the one undone last. */
async function undoOrRedo(chat: Chat, verb: 'undo' | 'redo', argument: string): Promise<void> {
  const { context, store, reporter } = chat
  const { sessionId } = chat.conversation
  const target =
    argument === '' ? await defaultRun(chat, verb) : await findCompaction(store, sessionId, argument)
  if (target === undefined) {
    reporter.note(verb === 'undo' ? 'No compaction is in force.' : 'No compaction was undone.')
    return
  }
  const { outcome, lines } = await changeCompaction(context, verb, store, sessionId, target)
  reporter.result(`/${verb}`, { target, ...outcome }, lines)
}

async function defaultRun({ store, conversation }: Chat, verb: 'undo' | 'redo'): Promise<string | undefined> {
  const compactions = await store.listCompactions(conversation.sessionId)
  if (verb === 'undo') return compactions.findLast(({ status }) => status === 'active')?.runId
  const undone = compactions.filter(({ status }) => status === 'undone')
  return undone.toSorted((a, b) => a.changedAt - b.changedAt).at(-1)?.runId
}

type ShownMessage = Pick<Message, 'role' | 'content'> & {
  readonly kind: 'message' | 'summary' | 'marker'
  readonly position?: number
  readonly hidden?: boolean
}

/** A message on one line: its position, role and beginning. Hidden messages are dimmed. */
export function briefMessage(message: ShownMessage, style: Style, columns: number): string {
  const { kind, role, position = '·', hidden } = message
  const who = `${String(position).padStart(4)}  ${(kind === 'message' ? role : kind).padEnd(9)}  `
  const text = clipped(beginningOf(partsOf(message)), Math.max(20, columns - who.length))
  return hidden === true ? style.dim(who + text) : rowStyle(message, style)(who) + text
}
