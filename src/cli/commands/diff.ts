import { isSilent, outputText, type Part, partsOf, type StoredMessage } from '../../core/messages/message.ts'
import { withReplacements } from '../../core/messages/overlay.ts'
import { dependsOn } from '../../core/model/coverage.ts'
import { hiderOf, type Moment } from '../../core/model/moment.ts'
import type { Compaction } from '../../storage/storage.ts'
import type { Store } from '../../store/store.ts'
import { statusWords } from '../../transfer/document/session-document.ts'
import type { Context, Output } from '../command.ts'
import type { Given } from '../declarations.ts'
import { CliError, EXIT } from '../errors.ts'
import { count, counted } from '../output/figures.ts'
import { clipped, paragraph, sentence } from '../output/layout.ts'
import { beginningOf, folded, shownPieces, viewContent } from '../output/message-text.ts'
import { safeText } from '../output/safe-text.ts'
import { findCompaction, isMoment, momentOf, openSession } from '../references.ts'
import { type TokenCounter, tokenCounter } from '../token-counter.ts'
import { kindName } from './log.ts'

export async function showDiff(
  context: Context,
  givenSession: string,
  givenId: string,
  givenTo: string | undefined,
  { now = false, full = false }: Given<'diff'>,
): Promise<number> {
  if (isMoment(givenId)) {
    if (now) throw new CliError('WRONG_USE', '--now is for compactions; the second moment is now by default.')
    return showDiffOfMoments(context, givenSession, [givenId, givenTo ?? 'now'], full)
  }
  if (givenTo !== undefined)
    throw new CliError('WRONG_USE', 'With two operands, both must be moments, such as position:12 and now.')
  const { store, id } = await openSession(context, 'read', givenSession)
  const target = await findCompaction(store, id, givenId)
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
  const { store, id } = await openSession(context, 'read', givenSession)
  const [from, to] = [await momentOf(store, id, given[0]), await momentOf(store, id, given[1])]
  if (from === undefined) throw new CliError('WRONG_USE', 'The first moment of a diff must be in the past.')
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
const NEIGHBORS = 2

/** A listing like a unified diff. */
async function* diffText(
  head: readonly string[],
  differences: readonly Difference[],
  shown: Shown,
): AsyncGenerator<string> {
  yield endedLines([...head, ''])
  const isNear = (at: number): boolean =>
    shown.full ||
    differences.slice(Math.max(0, at - NEIGHBORS), at + NEIGHBORS + 1).some(({ change }) => change !== 'same')
  for (let at = 0; at < differences.length; at += 1) {
    if (isNear(at)) {
      yield endedLines(differenceLines(differences[at]!, shown))
      continue
    }
    const from = at
    while (at + 1 < differences.length && !isNear(at + 1)) at += 1
    yield endedLines([shown.style.dim(`  … ${counted(at - from + 1, 'row')} unchanged`)])
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
  const where = after === 'now' ? 'included in the change' : 'excluded from both sides'
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
  const text = `${headOf(sign, seen, shown)}: ${beginningOf(partsOf(seen))}`
  return shown.out.isTerminal ? clipped(text, shown.out.columns) : text
}

function contentLines(sign: string, seen: SeenRow, { out }: Shown): string[] {
  return shownPieces(partsOf(seen), false).flatMap(({ head, text }) =>
    paragraph(head === undefined ? text : `${head}\n${text}`, out, `${sign}  `),
  )
}

/** The text that a compaction shows for a part; `null` for the original. */
type Replacement = {
  readonly compactionId: string
  readonly messageId: string
  readonly part: number
  readonly text: string | null
}

/** Everything stored about a session: rows in the order of the view, compactions in the order in which they first came into force. */
type StoredHistory = {
  readonly rows: readonly StoredMessage[]
  readonly compactions: readonly Compaction[]
  readonly replacements: readonly Replacement[]
}

/** A row as a view shows it. */
type SeenRow = { readonly row: StoredMessage; readonly content: string | readonly Part[] }

/** A row of two views: the same in both, in one alone, or with other texts. */
type Difference =
  | { readonly change: 'same' | 'removed' | 'added'; readonly seen: SeenRow }
  | {
      readonly change: 'replaced'
      readonly seen: SeenRow
      readonly parts: readonly { readonly part: number; readonly before: string; readonly after: string }[]
    }

type Comparison = {
  readonly targets: readonly Compaction[]
  /** The second view: with the targets alone, as it is now, or as a redo would make it. */
  readonly after: 'with' | 'now' | 'redone'
  /** Compactions in force that build on the targets: in neither view, or with `now` in the second. */
  readonly dependents: readonly string[]
  readonly rows: { readonly before: number; readonly after: number }
  /** Tokens of the views; `undefined` if the session's estimator is not available. */
  readonly tokens: { readonly before: number | undefined; readonly after: number | undefined }
  readonly differences: readonly Difference[]
}

/** Compares the views of a session without a compaction, or all of a run, and with it. */
export async function compare(
  store: Store,
  id: string,
  target: string,
  now: boolean,
  tokens: TokenCounter | undefined,
): Promise<Comparison> {
  const compactions = await store.listCompactions(id)
  // An agent's bookkeeping isn't part of any view.
  const rows = (await store.getMessages(id)).filter((row) => !isSilent(row))
  const history = { rows, compactions, replacements: await storedReplacements(store, id) }
  const members = compactions.filter((one) => one.id === target || one.runId === target)
  const active = new Set(compactions.filter(({ status }) => status === 'active').map((one) => one.id))
  const activeMembers = members.filter((one) => active.has(one.id))
  const isInForce = activeMembers.length > 0
  const targets = isInForce ? activeMembers : members.filter(({ status }) => status === 'undone')
  if (targets.length === 0)
    throw new CliError(
      'NOT_THERE',
      `Compaction ${target} was never in force, so there is nothing to compare.`,
      { facts: { compactionId: target }, hint: '`undertext log SESSION` shows the status of each.' },
    )
  const ids = new Set(targets.map((one) => one.id))
  const dependents = isInForce ? dependentsOf(compactions, ids) : []
  const left = new Set([...ids, ...dependents])
  const without = isInForce ? new Set([...active].filter((one) => !left.has(one))) : active
  const before = viewAt(history, without)
  const after = viewAt(history, now && isInForce ? active : new Set([...without, ...ids]))
  return {
    targets,
    after: !isInForce ? 'redone' : now ? 'now' : 'with',
    dependents,
    rows: { before: before.length, after: after.length },
    tokens: { before: tokens?.of(before), after: tokens?.of(after) },
    differences: differencesOf(rows, before, after),
  }
}

/** Compares the views of two moments, row by row. */
async function comparePast(
  store: Store,
  id: string,
  from: Moment,
  to: Moment | undefined,
): Promise<Difference[]> {
  const seen = async (at: Moment | undefined): Promise<SeenRow[]> => {
    const rows = await store.getMessages(id, { visible: true, shown: true, at })
    return rows.filter((row) => !isSilent(row)).map((row) => ({ row, content: viewContent(row) }))
  }
  const [before, after] = [await seen(from), await seen(to)]
  const rows = new Map([...before, ...after].map(({ row }) => [row.id, row] as const))
  const inOrder = [...rows.values()].sort((a, b) => a.anchor - b.anchor || ordinalOf(a) - ordinalOf(b))
  return differencesOf(inOrder, before, after)
}

/** The order of rows with one anchor: the message, then inserted rows, whose ids end in their ordinal. */
function ordinalOf({ kind, id }: StoredMessage): number {
  return kind === 'message' ? 0 : Number(id.slice(id.lastIndexOf(':') + 2))
}

/** The replacements of a session, those out of force too; only the session's history has them. */
export async function storedReplacements(store: Store, sessionId: string): Promise<Replacement[]> {
  const replacements: Replacement[] = []
  for await (const record of store.sessions.export(sessionId)) {
    if (record.type !== 'replacement') continue
    const { compaction, message, part, text } = record
    replacements.push({ compactionId: compaction, messageId: message, part, text })
  }
  return replacements
}

/** Ids of the compactions in force that build on the targets, directly or not. */
export function dependentsOf(compactions: readonly Compaction[], targets: ReadonlySet<string>): string[] {
  const nested = compactions.map((one, rank) => ({ ...one, no: rank, rank }))
  const taken = nested.filter(({ id }) => targets.has(id))
  const found: string[] = []
  // Each comes after those it builds on, so one pass finds all of them.
  for (const candidate of nested) {
    if (candidate.status !== 'active' || targets.has(candidate.id)) continue
    if (!taken.some((earlier) => dependsOn(candidate, earlier))) continue
    taken.push(candidate)
    found.push(candidate.id)
  }
  return found
}

/** The view with a set of compactions in force: a function of the stored rows and that set alone. */
export function viewAt(history: StoredHistory, inForce: ReadonlySet<string>): SeenRow[] {
  const active = history.compactions.filter(({ id }) => inForce.has(id))
  const hider = hiderOf(active)
  const ordinals = new Map(
    history.compactions.flatMap(({ coverage: { inserted }, insertedIds }) =>
      inserted === undefined ? [] : insertedIds.map((id) => [id, inserted.ordinal] as const),
    ),
  )
  const shown = shownTexts(active, history.replacements)
  return history.rows.flatMap((row) => {
    const insertedBy = row.condenseId ?? row.truncationId
    if (row.kind !== 'message' && (insertedBy === undefined || !inForce.has(insertedBy))) return []
    if (hider({ position: row.position ?? null, ordinal: ordinals.get(row.id) ?? -1 }) !== undefined)
      return []
    const texts = shown.get(row.id)
    return { row, content: texts ? withReplacements(row.content, (part) => texts.get(part)) : row.content }
  })
}

/** The newest text in force of each part, by row and part. */
function shownTexts(
  active: readonly Compaction[],
  replacements: readonly Replacement[],
): ReadonlyMap<string, ReadonlyMap<number, string>> {
  const ranks = new Map(active.map(({ id }, rank) => [id, rank] as const))
  const inOrder = replacements
    .filter(({ compactionId }) => ranks.has(compactionId))
    .sort((a, b) => ranks.get(a.compactionId)! - ranks.get(b.compactionId)!)
  const shown = new Map<string, Map<number, string>>()
  for (const { messageId, part, text } of inOrder) {
    const parts = shown.get(messageId) ?? new Map<number, string>()
    shown.set(messageId, parts)
    if (text === null) parts.delete(part)
    else parts.set(part, text)
  }
  return shown
}

/** Two views row by row, in the order of the stored rows. */
function differencesOf(
  rows: readonly StoredMessage[],
  before: readonly SeenRow[],
  after: readonly SeenRow[],
): Difference[] {
  const old = new Map(before.map((seen) => [seen.row.id, seen] as const))
  const current = new Map(after.map((seen) => [seen.row.id, seen] as const))
  return rows.flatMap(({ id }): Difference | readonly Difference[] => {
    const was = old.get(id)
    const seen = current.get(id)
    if (was === undefined) return seen === undefined ? [] : { change: 'added', seen }
    if (seen === undefined) return { change: 'removed', seen: was }
    const oldParts = partsOf(was)
    const parts = partsOf(seen).flatMap((part, at) => {
      const [textBefore, textAfter] = [replaceableText(oldParts[at]), replaceableText(part)]
      return textBefore === textAfter ? [] : { part: at, before: textBefore, after: textAfter }
    })
    return parts.length === 0 ? { change: 'same', seen } : { change: 'replaced', seen, parts }
  })
}

/** The text of a part that a compaction can replace. */
function replaceableText(part: Part | undefined): string {
  switch (part?.type) {
    case 'text':
    case 'reasoning':
      return part.text
    case 'tool-result':
      return outputText(part.output)
    case 'provider':
      return JSON.stringify(part.data)
    default:
      return ''
  }
}
