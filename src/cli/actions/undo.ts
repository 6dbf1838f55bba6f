import type { SqliteStore } from '../../open.ts'
import type { Compaction } from '../../storage/storage.ts'
import type { Context } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import { kindName, workOf } from '../log/compaction-words.ts'
import { count, counted } from '../output/figures.ts'
import { paragraph } from '../output/layout.ts'
import { safeLine } from '../output/safe-text.ts'

export type UndoOptions = { readonly cascade?: boolean; readonly reason?: string; readonly actor?: string }

/** Undoes or redoes, and shows what came of it. */
export async function undoOrRedo(
  context: Context,
  verb: 'undo' | 'redo',
  givenSession: string,
  givenId: string,
  { cascade = false, reason, actor }: UndoOptions,
): Promise<number> {
  const store = await context.open('change')
  const session = await context.session(store, givenSession)
  const id = await context.compaction(store, session, givenId)
  const options = { cascade, ...(reason !== undefined && { reason }), ...(actor !== undefined && { actor }) }
  const before = await figuresOf(store, session)
  const { changed, compactionIds, rows, parts } =
    verb === 'undo'
      ? await store.undoCompaction(session, id, options)
      : await store.redoCompaction(session, id, options)
  const after = await figuresOf(store, session)
  const compactions = await namedIn(store, session, compactionIds)
  if (context.json)
    context.printJson({ session, changed, compactions: compactionIds, rows, parts, before, after })
  else {
    const undone = changed ? [] : await undoneOf(store, session, id)
    write(context, verb, { changed, compactions, undone }, before, after)
  }
  return EXIT.done
}

type Figures = { readonly visible: number; readonly tokens: number }

async function figuresOf(store: SqliteStore, session: string): Promise<Figures> {
  const stats = await store.getContextStats(session)
  return { visible: stats?.messageCount ?? 0, tokens: stats?.estimatedInputTokens ?? 0 }
}

type Outcome = {
  readonly changed: boolean
  readonly compactions: readonly Compaction[]
  /** Where nothing was changed: members of the run that are out of force. */
  readonly undone: readonly string[]
}

async function undoneOf(store: SqliteStore, session: string, run: string): Promise<string[]> {
  const members = await store.listCompactions(session, { runId: run })
  return members.filter(({ status }) => status === 'undone').map(({ id }) => id)
}

/** In the order in which it happened. */
async function namedIn(store: SqliteStore, session: string, ids: readonly string[]): Promise<Compaction[]> {
  const byId = new Map((await store.listCompactions(session)).map((one) => [one.id, one] as const))
  return ids.flatMap((id) => byId.get(id) ?? [])
}

function write(
  { out, style }: Context,
  verb: 'undo' | 'redo',
  { changed, compactions, undone }: Outcome,
  before: Figures,
  after: Figures,
): void {
  if (!changed) {
    const lines = paragraph(safeLine(`Nothing to ${verb}: ${whyNothing(verb, undone)}`), out)
    out.write(`${lines.join('\n')}\n`)
    return
  }
  const done = verb === 'undo' ? 'Undone' : 'Put back'
  const lines = compactions.flatMap((one) =>
    paragraph(safeLine(`${done}: ${kindName(one)} ${one.id} (${broughtBy(one, verb)})`), out),
  )
  const view = `The view: ${count(before.visible)} → ${counted(after.visible, 'row')}, ${count(before.tokens)} → ${count(after.tokens)} tokens.`
  out.write(`${[...lines.map((line) => style.green(line)), ...paragraph(view, out)].join('\n')}\n`)
}

/** A run is put back as its last undo took it down; members that went by their own ids come back by them. */
function whyNothing(verb: 'undo' | 'redo', undone: readonly string[]): string {
  if (verb === 'undo') return 'it is out of force already.'
  if (undone.length === 0) return 'it is in force already.'
  return `of this run these were undone by their own ids, and are put back by them: ${undone.join(', ')}`
}

/** What an undo brought back, or a redo did again. */
function broughtBy(compaction: Compaction, verb: 'undo' | 'redo'): string {
  if (verb === 'redo') return workOf(compaction)
  const { rowsHidden, partsReplaced, rowsInserted } = compaction
  const said = [
    ...(rowsHidden > 0 ? [`${counted(rowsHidden, 'row')} back`] : []),
    ...(partsReplaced > 0 ? [`${counted(partsReplaced, 'part')} as before`] : []),
    ...(rowsInserted > 0 ? [`${counted(rowsInserted, 'row')} hidden`] : []),
  ]
  return said.join(', ')
}
