import type { ImportedConversation, ImportReport } from '../../transfer/import-report.ts'
import type { Place } from '../../transfer/source.ts'
import type { Context } from '../command.ts'
import type { Failure } from '../failure.ts'
import { count, counted } from '../output/figures.ts'
import { type Column, table } from '../output/table.ts'

/** What became of a file. */
export type FileOutcome = { readonly path: string } & (
  | { readonly report: ImportReport }
  | { readonly failure: Failure }
)

/** Conversations of a file that are listed one by one. */
const LISTED = 50

/** Tells what became of a file. */
export function writeImport(context: Context, outcome: FileOutcome): void {
  const { out, style } = context
  if ('failure' in outcome) {
    out.write(`${style.red('✗')} ${outcome.failure.message}\n`)
    return
  }
  const { path, report } = outcome
  const mark = report.totals.refused > 0 ? style.red('✗') : style.green('✓')
  const [only, ...others] = report.conversations
  const isOne = only !== undefined && others.length === 0
  out.write(`${mark} ${path}: ${TITLES[report.source]}, ${isOne ? oneSentence(only) : sentence(report)}\n`)
  if (!isOne && only !== undefined) out.write(`${conversationTable(context, report).join('\n')}\n`)
  for (const line of remarks(report)) out.write(`  ${style.dim(line)}\n`)
}

/** Tells what became of several files together. */
export function writeImports({ out, style }: Context, outcomes: readonly FileOutcome[]): void {
  const reports = outcomes.flatMap((outcome) => ('report' in outcome ? [outcome.report] : []))
  const sum = (of: (report: ImportReport) => number): number =>
    reports.reduce((total, report) => total + of(report), 0)
  const sessions = sum(({ totals }) => totals.imported + totals.extended + totals.checked)
  const messages = sum(({ totals }) => totals.messages)
  const refused = sum(({ totals }) => totals.refused)
  const unread = outcomes.length - reports.length
  const parts = [
    messages === 0 ? 'nothing new' : `${counted(messages, 'message')} in ${counted(sessions, 'session')}`,
    ...(refused > 0 ? [`${counted(refused, 'conversation')} refused`] : []),
    ...(unread > 0 ? [`${counted(unread, 'file')} not read`] : []),
  ]
  out.write(`${style.bold(`${counted(outcomes.length, 'file')}: ${parts.join(', ')}`)}\n`)
}

const TITLES: { readonly [source in ImportReport['source']]: string } = {
  undertext: 'histories of undertext',
  'claude-code': 'a session of Claude Code',
  pi: 'a session of pi',
  roo: 'a task of Roo Code',
  chatgpt: 'an export of ChatGPT',
  openai: "a transcript of OpenAI's",
  anthropic: "a transcript of Anthropic's",
  messages: 'plain messages',
}

/** Of a file with one conversation: what it is called stands in the sentence, and no table behind it. */
function oneSentence(one: ImportedConversation): string {
  const { sessionId, status, messages, existing, skipped, why = '', code, compactions } = one
  if (status === 'refused') {
    const hint =
      code === undefined && messages + existing + one.problemCount > 0 ? '; --skip-bad stores the rest' : ''
    return `refused as ${sessionId}: ${why}${hint}`
  }
  if (status === 'empty') return 'no messages in it'
  const { applied } = compactions
  const parts = [
    messages === 0
      ? `nothing new in ${sessionId}`
      : `${counted(messages, 'message')} ${status === 'checked' ? 'would be stored' : 'stored'} as ${sessionId}`,
    ...(existing > 0 ? [`${count(existing)} there already`] : []),
    ...(applied > 0 ? [`${counted(applied, 'compaction')} that can be undone`] : []),
    ...(skipped > 0 ? [`${counted(skipped, 'bad place')} left out`] : []),
  ]
  return parts.join(', ')
}

function sentence({ totals, dryRun }: ImportReport): string {
  const { messages, existing, imported, extended, checked, refused, compactionsApplied } = totals
  const where = `${dryRun ? 'would be stored' : 'stored'} in ${counted(imported + extended + checked, 'session')}`
  const parts = [
    messages === 0 ? 'nothing new' : `${counted(messages, 'message')} ${where}`,
    ...(existing > 0 ? [`${count(existing)} there already`] : []),
    ...(compactionsApplied > 0 ? [`${counted(compactionsApplied, 'compaction')} that can be undone`] : []),
    ...(refused > 0 ? [`${counted(refused, 'conversation')} refused`] : []),
  ]
  return parts.join(', ')
}

const COLUMNS: readonly Column[] = [
  { title: 'SESSION', flexible: true },
  { title: 'STATUS' },
  { title: 'NEW', align: 'right' },
  { title: 'THERE', align: 'right' },
  { title: 'COMPACTIONS', align: 'right' },
  { title: 'WHY', flexible: true },
]

function conversationTable({ out, style }: Context, { conversations }: ImportReport): string[] {
  const looks = { refused: style.red, imported: style.green, extended: style.green }
  const rows = conversations
    .slice(0, LISTED)
    .map((one) => [
      { text: one.sessionId, style: style.cyan },
      { text: one.status, style: looks[one.status as keyof typeof looks] ?? style.dim },
      count(one.messages),
      one.existing === 0 ? '' : count(one.existing),
      compactionsOf(one),
      one.why ?? (one.skipped > 0 ? `${counted(one.skipped, 'bad place')} left out` : ''),
    ])
  const left = conversations.length - rows.length
  const more = left > 0 ? [style.dim(`and ${counted(left, 'conversation')} more; --json tells all`)] : []
  return [...table(COLUMNS, rows, out, style), ...more]
}

function compactionsOf({ compactions: { applied, refused } }: ImportedConversation): string {
  if (applied + refused === 0) return ''
  return refused === 0 ? count(applied) : `${count(applied)}, ${count(refused)} refused`
}

function remarks({ conversations, totals }: ImportReport): string[] {
  const problems = conversations.flatMap((one) => one.problems)
  const notes = conversations.flatMap((one) => one.notes)
  const refusals = conversations.flatMap(({ compactions }) => compactions.refusals)
  return [
    ...problems.map((problem) => `${placeOf(problem)}: ${problem.why}`),
    ...moreOf(totals.problems - problems.length, 'bad place'),
    ...notes.map((note) => `${note.kind}, ${placeOf(note)}: ${note.why}`),
    ...moreOf(totals.notes - notes.length, 'note'),
    ...refusals.map(({ id, why }) => `compaction ${id} was not made: ${why}`),
  ]
}

function moreOf(left: number, name: string): string[] {
  return left > 0 ? [`and ${counted(left, name)} more`] : []
}

function placeOf({ line, element }: Place): string {
  const parts = [
    ...(line === undefined ? [] : [`line ${line}`]),
    ...(element === undefined ? [] : [`element ${element}`]),
  ]
  return parts.length === 0 ? 'somewhere' : parts.join(', ')
}
