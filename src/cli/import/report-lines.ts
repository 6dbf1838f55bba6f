import type { ImportedConversation, ImportNote, ImportReport } from '../../transfer/import-report.ts'
import { NOTHING_READ } from '../../transfer/outcomes.ts'
import type { Place } from '../../transfer/source.ts'
import type { Context } from '../command.ts'
import { count, counted } from '../output/figures.ts'
import { type Column, table } from '../output/table.ts'
import type { FileOutcome, FolderOutcome, Sums } from './outcome.ts'

/** What lines are made for. */
type Lines = Pick<Context, 'out' | 'style'>

/** Conversations of a file that are listed one by one. */
const LISTED = 50

/** Files without a conversation that are named; JSON has more. */
const NAMED = 5

/** What became of a file. Of one within a folder notes are counted only: there may be thousands. */
export function importLines(context: Lines, outcome: FileOutcome, isWithin = false): string[] {
  const { style } = context
  if ('failure' in outcome) return [`${style.red('✗')} ${outcome.failure.message}`]
  const { path, report } = outcome
  const mark = report.totals.refused > 0 ? style.red('✗') : style.green('✓')
  const [only, ...others] = report.conversations
  const isOne = only !== undefined && others.length === 0
  return [
    `${mark} ${path}: ${TITLES[report.source]}, ${isOne ? oneSentence(only, report.source) : sentence(report)}`,
    ...(!isOne && only !== undefined ? conversationTable(context, report) : []),
    ...remarks(report, isWithin).map((line) => `  ${style.dim(line)}`),
  ]
}

/** What became of a folder, behind `listed` of its files. */
export function folderLines(
  { style }: Lines,
  { path, files, unrecognised, named }: FolderOutcome,
  sums: Sums,
  { listed, isWhole }: { readonly listed: number; readonly isWhole: boolean },
): string[] {
  const untold = sums.files - sums.nothingNew - listed
  const parts = [
    ...(files === unrecognised ? ['no conversation in any'] : [storedWords(sums)]),
    ...(sums.nothingNew > 0 && sums.messages > 0
      ? [`${counted(sums.nothingNew, 'file')} with nothing new`]
      : []),
    ...failedWords(sums),
    ...(isWhole ? [] : ['and there it ended']),
  ]
  const mark = files === unrecognised || !isWhole ? style.red('✗') : style.green('✓')
  const more = unrecognised - Math.min(named.length, NAMED)
  const names = named.slice(0, NAMED).map((file) => `${file.path}: ${file.looks}`)
  return [
    ...(untold > 0 ? [style.dim(`  and ${counted(untold, 'file')} more; --json tells all`)] : []),
    `${mark} ${path}: ${style.bold(`${counted(files, 'file')}: ${parts.join(', ')}`)}`,
    ...(unrecognised > 0
      ? [style.dim(`  not recognised, and passed over: ${counted(unrecognised, 'file')}`)]
      : []),
    ...names.map((line) => style.dim(`    ${line}`)),
    ...(unrecognised > 0 && more > 0 ? [style.dim(`    and ${count(more)} more`)] : []),
  ]
}

/** What became of everything that was named. */
export function sumLine({ style }: Lines, sums: Sums): string {
  const parts = [storedWords(sums), ...failedWords(sums)]
  return style.bold(`${counted(sums.files, 'file')}: ${parts.join(', ')}`)
}

function storedWords({ messages, sessions }: Sums): string {
  return messages === 0 ? 'nothing new' : `${counted(messages, 'message')} in ${counted(sessions, 'session')}`
}

function failedWords({ refused, unread }: Sums): string[] {
  return [
    ...(refused > 0 ? [`${counted(refused, 'conversation')} refused`] : []),
    ...(unread > 0 ? [`${counted(unread, 'file')} not read`] : []),
  ]
}

const TITLES: { readonly [source in ImportReport['source']]: string } = {
  undertext: 'histories of undertext',
  'claude-code': 'a session of Claude Code',
  pi: 'a session of pi',
  roo: 'a task of Roo Code',
  chatgpt: 'an export of ChatGPT',
  claude: 'an export of Claude',
  openai: "a transcript of OpenAI's",
  anthropic: "a transcript of Anthropic's",
  messages: 'plain messages',
}

/** Of a file with one conversation: what it is called stands in the sentence, and no table behind it. */
function oneSentence(one: ImportedConversation, source: ImportReport['source']): string {
  const { sessionId, status, messages, existing, skipped, why = '', code, compactions } = one
  if (status === 'refused') {
    // Of a history there is no part.
    const hasRest =
      code === undefined && one.problemCount > 0 && why !== NOTHING_READ && source !== 'undertext'
    return `refused as ${sessionId}: ${why}${hasRest ? '; --skip-bad stores the rest' : ''}`
  }
  if (status === 'empty') return 'no messages in it'
  const { applied } = compactions
  const parts = [
    messages + one.bookkeeping === 0
      ? `nothing new in ${sessionId}`
      : `${counted(messages, 'message')}${visibleWords(one)} ${status === 'checked' ? 'would be stored' : 'stored'} as ${sessionId}`,
    ...(existing > 0 ? [`${count(existing)} there already`] : []),
    ...(applied > 0 ? [`${counted(applied, 'compaction')} that can be undone`] : []),
    ...(skipped > 0 ? [`${counted(skipped, 'bad place')} left out`] : []),
  ]
  return parts.join(', ')
}

/** How many rows a model is sent, where that is another number than that of the messages. */
function visibleWords({ messages, existing, visible }: ImportedConversation): string {
  return visible === undefined || visible === messages + existing ? '' : `, ${count(visible)} visible,`
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
  { title: 'SESSION', flexible: 'clip', isName: true },
  { title: 'STATUS' },
  { title: 'NEW', align: 'right' },
  { title: 'THERE', align: 'right' },
  { title: 'COMPACTIONS', align: 'right' },
  { title: 'WHY', flexible: 'clip' },
]

function conversationTable({ out, style }: Lines, { conversations }: ImportReport): string[] {
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

function remarks({ conversations, totals }: ImportReport, isWithin: boolean): string[] {
  const problems = conversations.flatMap((one) => one.problems)
  const notes = conversations.flatMap((one) => one.notes)
  const refusals = conversations.flatMap(({ compactions }) => compactions.refusals)
  // The table clips them.
  const reasons = conversations.length === 1 ? [] : conversations.filter(({ code }) => code !== undefined)
  return [
    ...reasons.slice(0, LISTED).map(({ sessionId, why }) => `${sessionId}: ${why}`),
    ...problems.map((problem) => `${placeOf(problem)}: ${problem.why}`),
    ...moreOf(totals.problems - problems.length, 'bad place'),
    ...(isWithin && totals.notes > 0 ? [`${counted(totals.notes, 'note')}; --json tells them`] : []),
    ...(isWithin ? [] : notesOf(notes, totals.notes)),
    ...(conversations.some(({ code }) => code !== undefined && OF_NAMES.has(code)) ? [OTHER_NAME] : []),
    ...refusals.map(({ id, why }) => `compaction ${id} was not made: ${why}`),
  ]
}

/** Refusals that another name is the way out of. */
const OF_NAMES: ReadonlySet<string> = new Set(['SESSION_EXISTS', 'IMPORT_DIVERGED'])
const OTHER_NAME = '--session gives it a name of its own, and --prefix does so for several'

function notesOf(notes: readonly ImportNote[], count: number): string[] {
  const told = notes.map((note) => `${note.kind}, ${placeOf(note)}: ${note.why}`)
  return [...told, ...moreOf(count - notes.length, 'note')]
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
