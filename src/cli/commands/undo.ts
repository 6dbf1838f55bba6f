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
  { cascade = false, both = false, reason, actor }: UndoOptions,
): Promise<number> {
  return change(context, 'undo', session, id, (store, session, id) =>
    store.undoCompaction(session, id, { cascade, both, reason, actor }),
  )
}

export async function redo(
  context: Context,
  session: string,
  id: string,
  { cascade = false, reason, actor }: UndoOptions,
): Promise<number> {
  return change(context, 'redo', session, id, (store, session, id) =>
    store.redoCompaction(session, id, { cascade, reason, actor }),
  )
}

/** Undoes or redoes, and reports the outcome. */
async function change(
  context: Context,
  verb: 'undo' | 'redo',
  givenSession: string,
  givenId: string,
  run: (store: Store, session: string, id: string) => Promise<Outcome>,
): Promise<number> {
  const { store, id: session } = await openSession(context, 'change', givenSession)
  const id = await findCompaction(store, session, givenId)
  const before = await figuresOf(store, session)
  const outcome = await run(store, session, id)
  const after = await figuresOf(store, session)
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
  const compactions = new Map<string, Compaction>()
  for (const one of [...compactionIds, ...alsoChanged])
    compactions.set(one, await store.compactions.get(session, one))
  writeLines(context.out, outcomeLines(context, verb, outcome, compactions, before, after))
  return EXIT.done
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
  if (verb === 'undo') return `${compactionId} is not in force.`
  return `${compactionId} was not undone with this run. To redo it, pass its own id to \`undertext redo\`, or the id of the run or rewind that it was undone with.`
}

/** What the undo of a compaction restored. */
function restoredBy({ rowsHidden, partsReplaced, rowsInserted }: Compaction): string {
  return listing(
    rowsHidden > 0 && `${counted(rowsHidden, 'row')} visible again`,
    partsReplaced > 0 && `${counted(partsReplaced, 'part')} restored`,
    rowsInserted > 0 && `${counted(rowsInserted, 'row')} hidden`,
  )
}
