import type { CompactionKind, CompactionOutline } from '../../src/index.ts'
import { bar, columns, paint, table } from './screen.ts'
import { counted, figure, percent } from './text.ts'

type Outcome = {
  readonly tokensBefore: number
  readonly tokensAfter: number
  readonly targetTokens: number
  readonly compactions: readonly CompactionOutline[]
}

/** Whether the stages are still to be used. */
export type Tense = 'would' | 'did'

/** The stages in the order of the pipeline, and the kind of compaction each makes. */
const STAGES: readonly (readonly [name: string, kind: CompactionKind])[] = [
  ['prune', 'prune'],
  ['deduplicate', 'deduplicate'],
  ['summarize', 'condense'],
  ['truncate', 'truncate'],
  ['emergency cut', 'cut'],
]

/** What each stage does to the history, or why it does nothing, with the tokens left after it. */
export function showStages(
  { tokensBefore, tokensAfter, targetTokens, compactions }: Outcome,
  tense: Tense,
): void {
  const width = Math.max(6, Math.min(24, columns - 66))
  const room = (tokens: number): string =>
    bar(tokens / tokensBefore, width, paint.cyan, targetTokens / tokensBefore)
  let left = tokensBefore
  const rows = STAGES.flatMap(([name, kind]) => {
    const done = compactions.filter((one) => one.kind === kind)
    if (done.length === 0) {
      if (kind === 'cut') return []
      const why = left <= targetTokens ? 'not needed: target reached' : 'finds nothing it may take'
      return [[paint.dim(name), paint.dim(why), '', '', '']]
    }
    const before = left
    left = done.at(-1)!.tokensAfter
    return [
      [name, workOf(kind, done, tense), paint.green(`-${figure(before - left)}`), figure(left), room(left)],
    ]
  })
  const saved = tokensBefore - tokensAfter
  table(
    [
      { title: 'stage' },
      { title: tense === 'would' ? 'what it would do' : 'what it did', elastic: true },
      { title: tense === 'would' ? 'saves' : 'saved', side: 'right' },
      { title: tense === 'would' ? 'leaves' : 'left', side: 'right' },
      { title: `${paint.yellow('┃')} target`, spare: true },
    ],
    [
      [paint.dim('before'), '', '', figure(tokensBefore), room(tokensBefore)],
      ...rows,
      [
        paint.bold('together'),
        `${percent(saved / tokensBefore)} of the tokens`,
        paint.bold(paint.green(`-${figure(saved)}`)),
        paint.bold(figure(tokensAfter)),
        room(tokensAfter),
      ],
    ],
  )
}

function workOf(kind: CompactionKind, done: readonly CompactionOutline[], tense: Tense): string {
  const sum = (of: (one: CompactionOutline) => number): number => done.reduce((all, one) => all + of(one), 0)
  const hidden = sum(({ rowsHidden }) => rowsHidden)
  const replaced = sum(({ partsReplaced }) => partsReplaced)
  const verb = (would: string, did: string): string => (tense === 'would' ? would : did)
  switch (kind) {
    case 'prune':
      return `${verb('clear', 'cleared')} ${counted(replaced, 'old tool result')}`
    case 'deduplicate':
      return `${verb('point', 'pointed')} ${counted(replaced, 'read')} to later ones`
    case 'condense':
      return `put ${counted(done.length, 'summary', 'summaries')} for ${counted(hidden, 'message')}`
    case 'truncate':
      return `${verb('hide', 'hid')} the oldest ${counted(hidden, 'message')}`
    case 'cut':
      return `${verb('shorten', 'shortened')} ${counted(replaced, 'long content')}`
    case 'repair':
      return `${verb('show', 'showed')} ${counted(replaced, 'part')} differently`
    case 'preview':
      return `${verb('show', 'showed')} head and tail of ${counted(replaced, 'tool result')}`
    case 'manual':
    case 'provider':
      return `${verb('hide', 'hid')} ${counted(hidden, 'message')}`
  }
}
