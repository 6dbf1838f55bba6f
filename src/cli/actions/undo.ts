import type { Compaction, UndoOutcome } from '../../storage/storage.ts'
import type { SqliteStore } from '../../store/open.ts'
import type { Context } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import { kindName, workOf } from '../log/compaction-words.ts'
import { count, counted } from '../output/figures.ts'
import { paragraph } from '../output/layout.ts'
import { safeLine } from '../output/safe-text.ts'

export type UndoOptions = {
  readonly cascade?: boolean
  /** Of an undo only. */
  readonly both?: boolean
  readonly reason?: string
  readonly actor?: string
}

/** Undoes or redoes, and shows what came of it. */
export async function undoOrRedo(
  context: Context,
  verb: 'undo' | 'redo',
  givenSession: string,
  givenId: string,
  { cascade = false, both = false, reason, actor }: UndoOptions,
): Promise<number> {
  const store = await context.open('change')
  const session = await context.session(store, givenSession)
  const id = await context.compaction(store, session, givenId)
  const options = { cascade, ...(reason !== undefined && { reason }), ...(actor !== undefined && { actor }) }
  const before = await figuresOf(store, session)
  const outcome =
    verb === 'undo'
      ? await store.undoCompaction(session, id, { ...options, both })
      : await store.redoCompaction(session, id, options)
  const after = await figuresOf(store, session)
  const { changed, compactionIds, rows, parts, turnedWith = [], notTurned = [] } = outcome
  const named = await namedIn(store, session, [...compactionIds, ...turnedWith])
  if (context.json) {
    const turned = { compactions: compactionIds, turnedWith, notTurned }
    context.printJson({ session, changed, ...turned, rows, parts, before, after })
  } else write(context, verb, outcome, named, before, after)
  return EXIT.done
}

type Figures = { readonly visible: number; readonly tokens: number }

async function figuresOf(store: SqliteStore, session: string): Promise<Figures> {
  const stats = await store.getContextStats(session)
  return { visible: stats?.messageCount ?? 0, tokens: stats?.estimatedInputTokens ?? 0 }
}

/** Compactions by their ids. */
async function namedIn(
  store: SqliteStore,
  session: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, Compaction>> {
  const found = await Promise.all(ids.map((id) => store.getCompaction(session, id)))
  return new Map(found.map((one) => [one.id, one] as const))
}

function write(
  { out, style }: Context,
  verb: 'undo' | 'redo',
  { changed, compactionIds, turnedWith = [], notTurned = [] }: UndoOutcome,
  named: ReadonlyMap<string, Compaction>,
  before: Figures,
  after: Figures,
): void {
  const left = notTurned.flatMap((one) => paragraph(safeLine(whyNotTurned(verb, one)), out))
  if (!changed) {
    const why =
      left.length > 0 ? [] : [verb === 'undo' ? 'it is out of force already.' : 'it is in force already.']
    const lines = paragraph(safeLine([`Nothing to ${verb}:`, ...why].join(' ')), out)
    out.write(`${[...lines, ...left].join('\n')}\n`)
    return
  }
  const done = verb === 'undo' ? 'Undone' : 'Put back'
  const lines = compactionIds.flatMap((id) => {
    const one = named.get(id)!
    return paragraph(safeLine(`${done}: ${kindName(one)} ${id} (${broughtBy(one, verb)})`), out)
  })
  const turned = turnedWith.flatMap((id) => {
    const one = named.get(id)!
    const state = one.status === 'active' ? 'in force again' : 'out of force again'
    return paragraph(safeLine(`With the rewind: ${kindName(one)} ${id} is ${state}.`), out)
  })
  const view = `The view: ${count(before.visible)} → ${counted(after.visible, 'row')}, ${count(before.tokens)} → ${count(after.tokens)} tokens.`
  const told = [...lines.map((line) => style.green(line)), ...turned, ...left, ...paragraph(view, out)]
  out.write(`${told.join('\n')}\n`)
}

/** A redo of a run restores what the last undo of the run removed; what was never in force is neither undone nor redone. */
function whyNotTurned(
  verb: 'undo' | 'redo',
  { compactionId, status }: NonNullable<UndoOutcome['notTurned']>[number],
): string {
  if (status !== 'undone') return `${compactionId} was never in force (${status}).`
  if (verb === 'undo') return `${compactionId} is out of force already.`
  return `${compactionId} was not undone with this run: \`undertext redo\` with its own id, or that of the run or rewind it was undone with, puts it back.`
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
