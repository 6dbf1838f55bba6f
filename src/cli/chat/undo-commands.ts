import type { Compaction, UndoOutcome } from '../../storage/storage.ts'
import { counted } from '../output/figures.ts'
import { shortIds } from '../output/short-ids.ts'
import type { Chat } from './chat.ts'

/** `/undo [id]`: takes a run out of force; the newest one when none is named. */
export async function undo(chat: Chat, argument: string): Promise<undefined> {
  const { store, conversation } = chat
  const target = await targetRun(chat, argument, 'active')
  if (target === undefined) {
    chat.reporter.note('No compaction is in force.')
    return
  }
  tellOutcome(chat, '/undo', target, await store.undoCompaction(conversation.sessionId, target))
}

/** `/redo [id]`: puts a run back in force; the one undone last when none is named. */
export async function redo(chat: Chat, argument: string): Promise<undefined> {
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
