import { type CompactionResult, isUndertextError, type Store, type UndoOutcome } from '../../src/index.ts'
import { showCompactions, showLog } from './audit-chapter.ts'
import { claim, heading, paint, say, table, tell } from './screen.ts'
import { type Standing, shortHash, standingOf } from './standing.ts'
import { figure, glimpse } from './text.ts'

const WHO = { actor: 'demo' }

type Step = { readonly name: string; readonly standing: Standing; readonly remark: string }

/** One stage taken back and put in force again, each in turn; then all of the run. */
export async function undoAndRedo(
  store: Store,
  sessionId: string,
  before: Standing,
  { runId, compactions }: CompactionResult,
): Promise<void> {
  heading(6, 'Undo and redo')
  tell('Each undo or redo is one transaction and calls no model. The same hash means the same bytes.')
  say()
  const compacted = await standingOf(store, sessionId)
  const steps: Step[] = [
    { name: 'before the compaction', standing: before, remark: '' },
    { name: 'compacted', standing: compacted, remark: '' },
  ]
  const redoes: boolean[] = []

  for (const { id, kind } of worthShowing(compactions)) {
    const { outcome, cascade } = await undo(store, sessionId, id)
    const undone = await standingOf(store, sessionId)
    const beneath = undone.hash === compacted.hash ? 'nothing visible' : ''
    const remark = cascade ? `with ${outcome.compactionIds.length - 1} upon it` : beneath
    steps.push({ name: `undo ${kind}`, standing: undone, remark })
    for (const taken of [...outcome.compactionIds].reverse())
      await store.redoCompaction(sessionId, taken, WHO)
    const redone = await standingOf(store, sessionId)
    redoes.push(redone.hash === compacted.hash)
    steps.push({ name: `redo ${kind}`, standing: redone, remark: sameText(redone, compacted, 'compacted') })
  }

  await store.undoCompaction(sessionId, runId, { ...WHO, reason: 'end of the demo' })
  const after = await standingOf(store, sessionId)
  steps.push({ name: 'undo the whole run', standing: after, remark: sameText(after, before, 'before') })
  table(
    [
      { title: 'step' },
      { title: 'messages', side: 'right' },
      { title: 'tokens', side: 'right' },
      { title: 'sha256 of the view', colour: paint.cyan },
      { title: '', elastic: true },
    ],
    steps.map(({ name, standing, remark }) => [
      name,
      figure(standing.messages),
      figure(standing.tokens),
      shortHash(standing.hash),
      remark,
    ]),
  )
  say()
  claim(redoes.every(Boolean), 'Every redo gave the compacted view again.')
  await checkTheEnd(store, sessionId, runId, before, after)
}

function sameText(one: Standing, other: Standing, name: string): string {
  return one.hash === other.hash ? paint.green(`= ${name}`) : paint.red(`not ${name}`)
}

/** The newest that hides messages, and the first, which is undone from beneath the others. */
function worthShowing(compactions: CompactionResult['compactions']): CompactionResult['compactions'] {
  const hiding = compactions.filter(({ rowsHidden }) => rowsHidden > 0).at(-1)
  const first = compactions[0]
  return [...new Set([hiding, first])].filter((one) => one !== undefined)
}

/** Undoes one compaction; where others in force build on it the store refuses, and they are undone with it. */
async function undo(
  store: Store,
  sessionId: string,
  id: string,
): Promise<{ outcome: UndoOutcome; cascade: boolean }> {
  try {
    return { outcome: await store.undoCompaction(sessionId, id, WHO), cascade: false }
  } catch (error) {
    if (!isUndertextError(error, 'HAS_ACTIVE_DEPENDENTS')) throw error
    return { outcome: await store.undoCompaction(sessionId, id, { ...WHO, cascade: true }), cascade: true }
  }
}

async function checkTheEnd(
  store: Store,
  sessionId: string,
  runId: string,
  before: Standing,
  after: Standing,
): Promise<void> {
  say(paint.dim('before  ') + paint.cyan(before.hash))
  say(paint.dim('after   ') + paint.cyan(after.hash))
  claim(
    after.hash === before.hash && after.storedHash === before.storedHash,
    'The run is undone and the view is byte-identical to before.',
  )
  const again = await store.undoCompaction(sessionId, runId, WHO)
  const { version } = await store.sessions.get(sessionId)
  claim(!again.changed && version === after.version, 'Undone a second time: nothing to do, nothing written.')
  const { findings } = await store.sessions.verify(sessionId)
  claim(
    findings.length === 0,
    findings.length === 0
      ? 'sessions.verify finds nothing wrong.'
      : `sessions.verify: ${glimpse(findings.map(({ code }) => code).join(', '))}.`,
  )
  say()
  const compactions = await store.listCompactions(sessionId)
  showCompactions(compactions)
  say()
  showLog(await store.sessions.audit(sessionId), compactions)
}
