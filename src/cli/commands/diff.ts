import { partsOf } from '../../core/messages/message.ts'
import { statusWords } from '../../transfer/document/session-document.ts'
import type { Context, Output } from '../command.ts'
import { CliError, EXIT } from '../errors.ts'
import { isMoment, momentOf } from '../moments.ts'
import { count, counted } from '../output/figures.ts'
import { clipped, paragraph, sentence } from '../output/layout.ts'
import { folded, shownPieces } from '../output/message-text.ts'
import { safeLine, safeText } from '../output/safe-text.ts'
import { type TokenCounter, tokenCounter } from '../token-counter.ts'
import { type Comparison, compare, comparePast, type Difference, type SeenRow } from './diff/views.ts'
import { kindName } from './log.ts'

export async function showDiff(
  context: Context,
  givenSession: string,
  givenId: string,
  givenTo: string | undefined,
  { now = false, full = false }: { readonly now?: boolean; readonly full?: boolean },
): Promise<number> {
  if (isMoment(givenId)) {
    if (now) throw new CliError('WRONG_USE', '--now is for compactions; the second moment is now by default.')
    return showDiffOfMoments(context, givenSession, [givenId, givenTo ?? 'now'], full)
  }
  if (givenTo !== undefined)
    throw new CliError('WRONG_USE', 'Two sides of a diff are moments, such as position:12 and now.')
  const store = await context.open('read')
  const id = await context.session(store, givenSession)
  const target = await context.compaction(store, id, givenId)
  const { estimator, provider = 'openai' } = await store.sessions.get(id)
  const tokens = await tokenCounter(estimator, provider)
  const comparison = await compare(store, id, target, now, tokens)
  const { out, style } = context
  if (context.json) await context.pourJson(comparisonJson(id, comparison, tokens))
  else {
    const shown = { out, style, full, tokens }
    await context.page(diffText(headLines(comparison, shown), comparison.differences, shown))
  }
  return EXIT.done
}

/** Compares the views of two moments. */
async function showDiffOfMoments(
  context: Context,
  givenSession: string,
  given: readonly [from: string, to: string],
  full: boolean,
): Promise<number> {
  const store = await context.open('read')
  const id = await context.session(store, givenSession)
  const [from, to] = [
    await momentOf(context, store, id, given[0]),
    await momentOf(context, store, id, given[1]),
  ]
  if (from === undefined) throw new CliError('WRONG_USE', 'The first moment of a diff is a past one.')
  const diff = await store.messages.diff(id, from, to)
  if (context.json) {
    const changes = diff.changes.map(({ position = null, compactionId = null, parts = [], ...change }) => ({
      ...change,
      ...{ position, compaction: compactionId, parts },
    }))
    await context.pourJson({ session: id, ...diff, changes })
    return EXIT.done
  }
  const { estimator, provider = 'openai' } = await store.sessions.get(id)
  const { out, style } = context
  const shown = { out, style, full, tokens: await tokenCounter(estimator, provider) }
  const figures = (which: 'before' | 'after'): string =>
    `${counted(diff.rows[which], 'row')}, ${count(diff.tokens[which])} tokens`
  const head = [
    ...sentence(`--- ${given[0]}: ${figures('before')}`, out, style.red),
    ...sentence(`+++ ${given[1]}: ${figures('after')}`, out, style.green),
  ]
  await context.page(diffText(head, await comparePast(store, id, from, to), shown))
  return EXIT.done
}

function comparisonJson(session: string, comparison: Comparison, tokens: TokenCounter | undefined) {
  const { targets, after, dependents, rows, differences } = comparison
  return {
    session,
    compactions: targets.map(({ id }) => id),
    after,
    dependents,
    rows,
    tokens: { before: comparison.tokens.before ?? null, after: comparison.tokens.after ?? null },
    changes: changesOf(differences, tokens),
  }
}

async function* changesOf(differences: readonly Difference[], tokens: TokenCounter | undefined) {
  for (const one of differences) {
    if (one.change === 'same') continue
    const { id, kind, role, position = null } = one.seen.row
    const parts = one.change === 'replaced' ? one.parts : []
    yield { change: one.change, id, kind, role, position, tokens: tokens?.own(one.seen) ?? null, parts }
  }
}

type Shown = Output & {
  readonly full: boolean
  readonly tokens: TokenCounter | undefined
}

/** Rows without a change that are shown beside those with one. */
const NEIGHBOURS = 2

/** A listing like a unified diff. */
async function* diffText(
  head: readonly string[],
  differences: readonly Difference[],
  shown: Shown,
): AsyncGenerator<string> {
  yield endedLines([...head, ''])
  const isNear = (at: number): boolean =>
    shown.full ||
    differences
      .slice(Math.max(0, at - NEIGHBOURS), at + NEIGHBOURS + 1)
      .some(({ change }) => change !== 'same')
  for (let at = 0; at < differences.length; at += 1) {
    if (isNear(at)) {
      yield endedLines(differenceLines(differences[at]!, shown))
      continue
    }
    const from = at
    while (at + 1 < differences.length && !isNear(at + 1)) at += 1
    yield endedLines([shown.style.dim(`  … ${counted(at - from + 1, 'row')} alike`)])
  }
  if (differences.every(({ change }) => change === 'same')) yield 'Both views are the same.\n'
}

function endedLines(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join('')
}

const VIEWS: { readonly [after in Comparison['after']]: readonly [before: string, after: string] } = {
  with: ['the view without it', 'the view with it'],
  now: ['the view without it and what builds on it', 'the view as it is now'],
  redone: ['the view as it is now', 'the view as a redo would make it'],
}

function headLines(
  { targets, after, dependents, rows, tokens }: Comparison,
  { out, style }: Shown,
): string[] {
  const figures = (which: 'before' | 'after'): string =>
    `${counted(rows[which], 'row')}${tokens[which] === undefined ? '' : `, ${count(tokens[which])} tokens`}`
  const [first, second] = VIEWS[after]
  const build = dependents.length === 1 ? 'compaction in force builds' : 'compactions in force build'
  const where = after === 'now' ? 'a part of the change' : 'left out of both sides'
  const above = `${dependents.length} ${build} on it, ${where}: ${dependents.join(', ')}`
  return [
    ...targets.flatMap((one) =>
      sentence(`${kindName(one)} ${one.id} (${statusWords(one)})`, out, style.bold),
    ),
    ...sentence(`--- ${first}: ${figures('before')}`, out, style.red),
    ...sentence(`+++ ${second}: ${figures('after')}`, out, style.green),
    ...(dependents.length === 0 ? [] : sentence(above, out, style.dim)),
  ]
}

function differenceLines(one: Difference, shown: Shown): string[] {
  const { style, out, full } = shown
  const { red, green, yellow, dim } = style
  switch (one.change) {
    case 'same':
      return [dim(rowLine('  ', one.seen, shown))]
    case 'removed':
      return [
        red(rowLine('- ', one.seen, shown)),
        ...(full ? contentLines('- ', one.seen, shown).map(red) : []),
      ]
    case 'added':
      return [green(headOf('+ ', one.seen, shown)), ...contentLines('+ ', one.seen, shown).map(green)]
    case 'replaced':
      return [
        yellow(headOf('~ ', one.seen, shown)),
        ...one.parts.flatMap(({ before, after }) => [
          ...paragraph(shortened(before, shown), out, '-   ').map(red),
          ...paragraph(after === '' ? '(nothing)' : shortened(after, shown), out, '+   ').map(green),
        ]),
      ]
  }
}

function shortened(text: string, { full, out }: Shown): string {
  const safe = safeText(text)
  return full || !out.isTerminal ? safe : folded(safe, '--full')
}

/** What a row is, where, and its tokens. */
function headOf(sign: string, seen: SeenRow, { tokens }: Shown): string {
  const { position, kind, role } = seen.row
  const size = tokens === undefined ? '' : ` (${count(tokens.own(seen))} tokens)`
  return `${sign}${kind === 'message' ? `${position} · ${role}` : kind}${size}`
}

/** The head of a row and its beginning, on one line. */
function rowLine(sign: string, seen: SeenRow, shown: Shown): string {
  const text = `${headOf(sign, seen, shown)}: ${safeLine(beginningOf(seen))}`
  return shown.out.isTerminal ? clipped(text, shown.out.columns) : text
}

/** Characters of a row that its line may show. */
const BEGINNING = 400

function beginningOf(seen: SeenRow): string {
  const [first] = shownPieces(partsOf(seen), false)
  if (first === undefined) return '(empty)'
  const text = first.head === undefined ? first.text : `${first.head}: ${first.text}`
  const line = text.slice(0, BEGINNING).replace(/\s+/g, ' ').trim()
  return text.length > BEGINNING ? `${line}…` : line
}

function contentLines(sign: string, seen: SeenRow, { out }: Shown): string[] {
  return shownPieces(partsOf(seen), false).flatMap(({ head, text }) =>
    paragraph(head === undefined ? text : `${head}\n${text}`, out, `${sign}  `),
  )
}
