import type { Compaction, UndoOutcome } from '../../storage/storage.ts'
import { CallError, call } from './api.ts'
import { dependentsOf, isApplied, kindWords, workWords } from './compaction-runs.ts'
import { counted, short } from './format.ts'
import { go, sessionLink } from './router.ts'
import { ask, attempt, toast } from './ui.tsx'

/* Undo and redo with what they include. Where the store asks for a decision, the reader makes it. */

type Options = { readonly cascade?: boolean; readonly both?: boolean; readonly showRetired?: boolean }

/**
 * Undoes a compaction or a run with what is in force of it, and otherwise redoes it. If others in force build on what is undone, lists them
 * and asks.
 */
export async function undoOrRedo(
  sessionId: string,
  compactionOrRun: string,
  compactions: readonly Compaction[],
  all: readonly Compaction[],
): Promise<void> {
  if (!compactions.some(isApplied)) return
  const active = compactions.filter(({ status }) => status === 'active')
  if (active.length === 0) return turn('redo', sessionId, [compactionOrRun], {})
  const dependents = dependentsOf(
    all,
    active.map(({ id }) => id),
  )
  if (dependents.length > 0) {
    const agreed = await ask({
      title: `Undo ${counted(dependents.length + 1, 'compaction')}?`,
      body: (
        <>
          <p>
            {dependents.length === 1 ? 'A later compaction builds' : 'Later compactions build'} on this one
            and will be undone with it. Redo restores all of them.
          </p>
          <CompactionLines compactions={dependents} />
        </>
      ),
      action: 'Undo all',
    })
    if (!agreed) return
  }
  await turn('undo', sessionId, [compactionOrRun], { cascade: dependents.length > 0 })
}

/** The compactions that a question is about. */
function CompactionLines({ compactions }: { readonly compactions: readonly Compaction[] }) {
  return (
    <ul class="asked-compactions">
      {compactions.slice(0, 8).map((one) => (
        <li key={one.id}>
          {kindWords(one)}{' '}
          <span class="dim">
            {workWords(one)}, {short(one.tokensBefore)} → {short(one.tokensAfter)} tokens
          </span>
        </li>
      ))}
      {compactions.length > 8 && <li class="dim">and {counted(compactions.length - 8, 'more', 'more')}</li>}
    </ul>
  )
}

type Turn = 'undo' | 'redo'

/** Undoes a compaction or a run, and says what it did. */
export const undo = (sessionId: string, compactionOrRun: string): Promise<void> =>
  turn('undo', sessionId, [compactionOrRun], {})

const TURNS = {
  undo: {
    verb: 'undoCompaction',
    done: 'Undid',
    nothing: 'It was undone already.',
    back: 'redo',
    label: 'Redo',
  },
  redo: {
    verb: 'redoCompaction',
    done: 'Redid',
    nothing: 'It is in force already.',
    back: 'undo',
    label: 'Undo',
  },
} as const

/** Undoes or redoes compactions or runs, in order. What takes it back turns the same ones in the opposite order. */
async function turn(how: Turn, sessionId: string, ids: readonly string[], options: Options): Promise<void> {
  const { verb, done, nothing, back, label } = TURNS[how]
  await attempt(async () => {
    const outcomes: UndoOutcome[] = []
    const turned: string[] = []
    for (const id of ids) {
      const outcome = await decided(options, (agreed) =>
        call(verb, [sessionId, id, how === 'undo' ? agreed : withoutBoth(agreed)]),
      )
      if (outcome === undefined) break
      outcomes.push(outcome)
      // The store turns a run back as a whole.
      if (outcome.changed) turned.push(...(outcome.compactionIds.includes(id) ? outcome.compactionIds : [id]))
    }
    if (outcomes.length === 0) return
    toast({
      text: turned.length > 0 ? `${done} ${changeWords(outcomes)}.` : nothing,
      ...(turned.length > 0 && {
        undo: { label, run: () => turn(back, sessionId, turned.toReversed(), {}) },
      }),
    })
  })
}

const withoutBoth = ({ both: _, ...options }: Options): Options => options

function changeWords(outcomes: readonly UndoOutcome[]): string {
  const sum = (count: (outcome: UndoOutcome) => number): number =>
    outcomes.reduce((total, one) => total + count(one), 0)
  const compactions = sum(({ compactionIds, alsoChanged = [] }) => compactionIds.length + alsoChanged.length)
  const rows = sum((one) => one.rows)
  const parts = sum((one) => one.parts)
  return [
    counted(compactions, 'compaction'),
    ...(rows > 0 ? [`${counted(rows, 'row')} changed`] : []),
    ...(parts > 0 ? [`${counted(parts, 'part')} changed`] : []),
  ].join(', ')
}

/** The errors that are questions: what the reader agrees to, and the option that it sets. */
const QUESTIONS: {
  readonly [code: string]: {
    readonly option: keyof Options
    readonly title: string
    readonly body: string
    readonly action: string
  }
} = {
  HAS_ACTIVE_DEPENDENTS: {
    option: 'cascade',
    title: 'Undo the compactions that build on it too?',
    body: 'Other compactions in force build on this one. Redo restores all of them.',
    action: 'Undo all',
  },
  INPUT_NOT_VISIBLE: {
    option: 'cascade',
    title: 'Redo the compactions that it builds on too?',
    body: 'What it covers isn’t in the view, because compactions that it builds on were undone.',
    action: 'Redo all',
  },
  BRANCH_MOVED: {
    option: 'both',
    title: 'Show the old messages before the new ones?',
    body: 'Messages were appended after this rewind. Undoing it shows the rewound messages again, before those.',
    action: 'Show both',
  },
  CONTENT_RETIRED: {
    option: 'showRetired',
    title: 'Show what is left of the messages?',
    body: 'Retention removed old contents of messages that this would show again.',
    action: 'Show what is left',
  },
}

/** Calls with options, and again with one more option for each question that the reader agrees to; undefined if not. */
async function decided<T>(options: Options, run: (options: Options) => Promise<T>): Promise<T | undefined> {
  try {
    return await run(options)
  } catch (error) {
    const question = error instanceof CallError ? QUESTIONS[error.code] : undefined
    if (question === undefined || options[question.option] === true) throw error
    const { option, ...asked } = question
    return (await ask(asked)) ? decided({ ...options, [option]: true }, run) : undefined
  }
}

/** Applies a preview; shows the run that it made. Throws the errors of `compactSession`. */
export async function applyPreview(sessionId: string, previewId: string): Promise<boolean> {
  const result = await call('compactSession', [sessionId, { previewId }])
  if (result === null || !result.compacted) {
    toast({ text: 'Nothing was compacted.' })
    return false
  }
  const { runId, tokensBefore, tokensAfter, compactions } = result
  toast({
    text: `Compacted: ${short(tokensBefore)} → ${short(tokensAfter)} tokens in ${counted(compactions.length, 'compaction')}.`,
    undo: { label: 'Undo', run: () => undo(sessionId, runId) },
  })
  go(sessionLink(sessionId, 'compactions', { compaction: runId }))
  return true
}
