import type { ImportedConversation, ImportReport } from '../../transfer/import-report.ts'
import type { Place } from '../../transfer/source.ts'
import type { Context } from '../command.ts'
import { count, counted } from '../output/figures.ts'
import { type Column, table } from '../output/table.ts'
import type { FileOutcome } from './import.ts'

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
  const isBad = report.totals.refused > 0
  out.write(
    `${isBad ? style.red('✗') : style.green('✓')} ${path}: ${TITLES[report.source]}, ${sentence(report)}\n`,
  )
  if (report.conversations.length > 0) out.write(`${conversationTable(context, report).join('\n')}\n`)
  for (const line of remarks(report)) out.write(`  ${style.dim(line)}\n`)
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

function sentence({ totals, conversations, dryRun }: ImportReport): string {
  const { messages, existing, imported, extended, refused, compactionsApplied } = totals
  const stored = imported + extended
  const parts = [
    dryRun
      ? `${counted(messages, 'message')} would be looked at, ${count(existing)} stored already; nothing was written`
      : messages === 0
        ? refused === conversations.length && refused > 0
          ? 'nothing was stored'
          : 'nothing new'
        : `${counted(messages, 'message')} stored in ${counted(stored, 'session')}`,
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
