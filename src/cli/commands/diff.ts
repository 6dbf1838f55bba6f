import { partsOf } from '../../messages/message.ts'
import { statusWords } from '../../transfer/document/session-document.ts'
import type { Context } from '../command.ts'
import { EXIT } from '../errors.ts'
import { count, counted } from '../output/figures.ts'
import { clipped, paragraph } from '../output/layout.ts'
import { folded, piecesOf } from '../output/message-text.ts'
import { safeLine, safeText } from '../output/safe-text.ts'
import { type TokenCounter, tokenCounter } from '../token-counter.ts'
import type { Difference, SeenRow } from './diff/views.ts'
import { type Comparison, compare } from './diff/views.ts'
import { kindName } from './log.ts'

/** Rows that stay the same beside others that do not. */
const CONTEXT = 2

type Shown = Pick<Context, 'out' | 'style'> & {
  readonly full: boolean
  readonly tokens: TokenCounter | undefined
}

/** Two views as a listing like that of a unified diff, in pieces of whole lines. */
export async function* diffText(
  { out, style }: Pick<Context, 'out' | 'style'>,
  comparison: Comparison,
  tokens: TokenCounter | undefined,
  full: boolean,
): AsyncGenerator<string> {
  const shown: Shown = { out, style, full, tokens }
  const all = comparison.differences
  const near = all.map(
    (one, at) =>
      full ||
      one.change !== 'same' ||
      all.slice(Math.max(0, at - CONTEXT), at + CONTEXT + 1).some(({ change }) => change !== 'same'),
  )
  let text = textOf([...headLines(comparison, shown), ''])
  for (let at = 0; at < all.length; at += 1) {
    if (near[at]) {
      text += textOf(differenceLines(all[at]!, shown))
    } else {
      const from = at
      while (at + 1 < all.length && !near[at + 1]) at += 1
      text += textOf([style.dim(`  … ${counted(at - from + 1, 'row')} alike`)])
    }
    if (text.length < ENOUGH) continue
    yield text
    text = ''
  }
  yield all.every(({ change }) => change === 'same') ? text + textOf(['Both views are the same.']) : text
}

/** Letters that make a piece. */
const ENOUGH = 65_536

function textOf(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join('')
}

function headLines(comparison: Comparison, { out, style }: Shown): string[] {
  const { targets, after, dependents, rows, tokens } = comparison
  const names = targets.map((one) => `${kindName(one)} ${one.id} (${statusWords(one)})`)
  const [first, second] = {
    with: ['the view without it', 'the view with it'],
    now: ['the view without it and what builds on it', 'the view as it is now'],
    redone: ['the view as it is now', 'the view as a redo would make it'],
  }[after] as [string, string]
  const figures = (which: 'before' | 'after'): string =>
    `${counted(rows[which], 'row')}${tokens[which] === undefined ? '' : `, ${count(tokens[which])} tokens`}`
  const build = dependents.length === 1 ? 'compaction in force builds' : 'compactions in force build'
  const where = after === 'now' ? 'a part of the change' : 'left out of both sides'
  const beyond =
    dependents.length === 0
      ? []
      : [`${count(dependents.length)} ${build} on it, ${where}: ${dependents.join(', ')}`]
  return [
    ...names.flatMap((name) => paragraph(safeLine(name), out)).map((line) => style.bold(line)),
    ...paragraph(`--- ${first}: ${figures('before')}`, out).map((line) => style.red(line)),
    ...paragraph(`+++ ${second}: ${figures('after')}`, out).map((line) => style.green(line)),
    ...beyond.flatMap((text) => paragraph(safeLine(text), out)).map((line) => style.dim(line)),
  ]
}

function differenceLines(one: Difference, shown: Shown): string[] {
  const { style, out } = shown
  switch (one.change) {
    case 'same':
      return [style.dim(rowLine('  ', one.seen, shown))]
    case 'removed':
      return [
        style.red(rowLine('- ', one.seen, shown)),
        ...(shown.full ? textLines('- ', one.seen, shown).map((line) => style.red(line)) : []),
      ]
    case 'added':
      return [
        style.green(rowLine('+ ', one.seen, shown, true)),
        ...textLines('+ ', one.seen, shown).map((line) => style.green(line)),
      ]
    case 'replaced':
      return [
        style.yellow(rowLine('~ ', one.seen, shown, true)),
        ...one.parts.flatMap(({ before, after }) => [
          ...paragraph(cut(before, shown), out, '-   ').map((line) => style.red(line)),
          ...paragraph(after === '' ? '(nothing)' : cut(after, shown), out, '+   ').map((line) =>
            style.green(line),
          ),
        ]),
      ]
  }
}

function cut(text: string, { full, out }: Shown): string {
  const safe = safeText(text)
  return full || !out.isTerminal ? safe : folded(safe, '--full')
}

/** One line for a row: where it stands, what it is, its tokens, and how it begins. */
function rowLine(sign: string, seen: SeenRow, { out, tokens }: Shown, isBare = false): string {
  const { position, kind, role } = seen.row
  const name = kind === 'message' ? `${position} · ${role}` : kind
  const size = tokens === undefined ? '' : ` (${count(tokens.own(seen))} tokens)`
  const line = `${sign}${name}${size}`
  if (isBare) return line
  const text = `${line}: ${safeLine(beginningOf(seen))}`
  return out.isTerminal ? clipped(text, out.columns) : text
}

/** So many letters of a row are looked at for its one line. */
const BEGINNING = 400

function beginningOf(seen: SeenRow): string {
  const [first] = piecesOf(partsOf(seen), false)
  if (first === undefined) return '(empty)'
  const text = first.head === undefined ? first.text : `${first.head}: ${first.text}`
  const line = text.slice(0, BEGINNING).replace(/\s+/g, ' ').trim()
  return text.length > BEGINNING ? `${line}…` : line
}

function textLines(sign: string, seen: SeenRow, { out }: Shown): string[] {
  return piecesOf(partsOf(seen), false).flatMap(({ head, text }) =>
    paragraph(head === undefined ? text : `${head}\n${text}`, out, `${sign}  `),
  )
}

export type DiffOptions = { readonly now?: boolean; readonly full?: boolean }

export async function showDiff(
  context: Context,
  givenSession: string,
  givenId: string,
  options: DiffOptions,
): Promise<number> {
  const store = await context.open('read')
  const id = await context.session(store, givenSession)
  const target = await context.compaction(store, id, givenId)
  const { estimator, provider = 'openai' } = await store.getSession(id)
  const tokens = await tokenCounter(estimator, provider)
  const comparison = await compare(store, id, target, options.now === true, tokens)
  if (context.json) await context.pourJson(jsonOf(id, comparison, tokens))
  else await context.page(diffText(context, comparison, tokens, options.full === true))
  return EXIT.done
}

function jsonOf(session: string, comparison: Comparison, tokens: TokenCounter | undefined) {
  const { targets, after, dependents, rows, differences: all } = comparison
  return {
    session,
    compactions: targets.map(({ id }) => id),
    after,
    dependents,
    rows,
    tokens: { before: comparison.tokens.before ?? null, after: comparison.tokens.after ?? null },
    changes: changesOf(all, tokens),
  }
}

async function* changesOf(all: readonly Difference[], tokens: TokenCounter | undefined) {
  for (const one of all) {
    if (one.change === 'same') continue
    yield {
      change: one.change,
      id: one.seen.row.id,
      kind: one.seen.row.kind,
      role: one.seen.row.role,
      position: one.seen.row.position ?? null,
      tokens: tokens === undefined ? null : tokens.own(one.seen),
      parts: one.change === 'replaced' ? one.parts : [],
    }
  }
}
