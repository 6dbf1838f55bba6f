import type { Compaction, UndoOutcome } from '../../storage/storage.ts'
import type { ReasoningChange } from '../../store/requests/reasoning.ts'
import type { Store } from '../../store/store.ts'
import type { Context, Output } from '../command.ts'
import type { Given } from '../declarations.ts'
import { EXIT } from '../errors.ts'
import { count, counted, fromTo, listing, reasoningText } from '../output/figures.ts'
import { sentence, writeLines } from '../output/layout.ts'
import { findCompaction, openSession } from '../references.ts'
import { kindName, workOf } from './log.ts'

type UndoOptions = Given<'undo'>

export async function undo(
  context: Context,
  session: string,
  id: string,
  options: UndoOptions,
): Promise<number> {
  return change(context, 'undo', session, id, options)
}

export async function redo(
  context: Context,
  session: string,
  id: string,
  options: UndoOptions,
): Promise<number> {
  return change(context, 'redo', session, id, options)
}

/** Undoes or redoes, and reports the outcome. */
async function change(
  context: Context,
  verb: 'undo' | 'redo',
  givenSession: string,
  givenId: string,
  options: UndoOptions,
): Promise<number> {
  const { store, id: session } = await openSession(context, 'change', givenSession)
  const id = await findCompaction(store, session, givenId)
  const { outcome, before, after, lines } = await changeCompaction(context, verb, store, session, id, options)
  const { changed, compactionIds, rows, parts, alsoChanged = [], unchanged = [] } = outcome
  if (context.json) {
    const turned = { compactions: compactionIds, alsoChanged, unchanged }
    const reasoning = {
      invalidatedReasoning: outcome.invalidatedReasoning ?? null,
      restoredReasoning: outcome.restoredReasoning ?? null,
    }
    context.printJson({ session, changed, ...turned, rows, parts, before, after, ...reasoning })
    return EXIT.done
  }
  writeLines(context.out, lines)
  return EXIT.done
}

/** Undoes or redoes a compaction or a run. `lines` describe the outcome. */
export async function changeCompaction(
  output: Output,
  verb: 'undo' | 'redo',
  store: Store,
  session: string,
  id: string,
  { cascade = false, both = false, showRetired = false, reason, actor }: UndoOptions = {},
): Promise<{
  readonly outcome: Outcome
  readonly before: Figures
  readonly after: Figures
  readonly lines: readonly string[]
}> {
  const authorship = { cascade, showRetired, reason, actor }
  const before = await figuresOf(store, session)
  const outcome =
    verb === 'undo'
      ? await store.undoCompaction(session, id, { ...authorship, both })
      : await store.redoCompaction(session, id, authorship)
  const after = await figuresOf(store, session)
  const compactions = new Map<string, Compaction>()
  for (const one of [...outcome.compactionIds, ...(outcome.alsoChanged ?? [])])
    compactions.set(one, await store.compactions.get(session, one))
  return { outcome, before, after, lines: outcomeLines(output, verb, outcome, compactions, before, after) }
}

type Outcome = UndoOutcome & ReasoningChange
type Figures = { readonly visible: number; readonly tokens: number }

async function figuresOf(store: Store, session: string): Promise<Figures> {
  const stats = await store.getContextStats(session)
  return { visible: stats?.messageCount ?? 0, tokens: stats?.estimatedInputTokens ?? 0 }
}

function outcomeLines(
  { out, style }: Output,
  verb: 'undo' | 'redo',
  outcome: Outcome,
  compactions: ReadonlyMap<string, Compaction>,
  before: Figures,
  after: Figures,
): string[] {
  const { changed, compactionIds, alsoChanged = [], unchanged = [] } = outcome
  const reasoning = reasoningText(outcome)
  const reasons = unchanged.flatMap((one) => sentence(whyUnchanged(verb, one), out))
  if (!changed) {
    const why = verb === 'undo' ? ' it is already undone, or was never in force.' : ' it is already in force.'
    return [...sentence(`Nothing to ${verb}:${reasons.length > 0 ? '' : why}`, out), ...reasons]
  }
  return [
    ...compactionIds.flatMap((id) => {
      const one = compactions.get(id)!
      const text =
        verb === 'undo'
          ? `Undone: ${kindName(one)} ${id} (${restoredBy(one)})`
          : `Redone: ${kindName(one)} ${id} (${workOf(one)})`
      return sentence(text, out, style.green)
    }),
    ...alsoChanged.flatMap((id) => {
      const one = compactions.get(id)!
      const state = one.status === 'active' ? 'in force again' : 'out of force again'
      return sentence(`With the rewind: ${kindName(one)} ${id} is ${state}.`, out)
    }),
    ...reasons,
    ...sentence(
      `The view: ${count(before.visible)} → ${counted(after.visible, 'row')}, ${fromTo(before.tokens, after.tokens)}.`,
      out,
    ),
    ...(reasoning === '' ? [] : sentence(`Reasoning: it ${reasoning}.`, out)),
  ]
}

/** A redo of a run restores what the last undo of the run removed; a compaction that was never in force is neither undone nor redone. */
function whyUnchanged(
  verb: 'undo' | 'redo',
  { compactionId, status }: NonNullable<UndoOutcome['unchanged']>[number],
): string {
  if (status !== 'undone') return `${compactionId} was never in force (${status}).`
  if (verb === 'undo') return `${compactionId} isn't in force.`
  return `${compactionId} wasn't undone with this run. To redo it, pass its own id to \`undertext redo\`, or the id of the run or rewind that it was undone with.`
}

/** What the undo of a compaction restored. */
function restoredBy({ rowsHidden, partsReplaced, rowsInserted }: Compaction): string {
  return listing(
    rowsHidden > 0 && `${counted(rowsHidden, 'row')} visible again`,
    partsReplaced > 0 && `${counted(partsReplaced, 'part')} restored`,
    rowsInserted > 0 && `${counted(rowsInserted, 'row')} hidden`,
  )
}
