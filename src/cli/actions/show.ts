import type { Role, StoredMessage, ViewMessage } from '../../core/message.ts'
import type { SqliteStore } from '../../open.ts'
import type { Compaction } from '../../storage/storage.ts'
import { CliError } from '../cli-error.ts'
import type { Context } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import { counted } from '../output/figures.ts'
import { paragraph } from '../output/layout.ts'
import { safeLine } from '../output/safe-text.ts'
import { shortIds } from '../output/short-ids.ts'
import type { Entry } from '../transcript/entry.ts'
import { entryLines } from '../transcript/entry-lines.ts'
import { hiddenBy } from '../transcript/hidden-by.ts'

export type ShowOptions = {
  readonly full?: boolean
  readonly original?: boolean
  readonly from?: number
  readonly to?: number
  readonly limit?: number
  readonly tail?: number
  readonly role?: Role
  readonly fold: boolean
}

export async function showSession(context: Context, given: string, options: ShowOptions): Promise<number> {
  checkRange(options)
  const store = await context.open('read')
  const id = await context.session(store, given)
  const compactions = new Map((await store.listCompactions(id)).map((one) => [one.id, one] as const))
  const entries = chosen(await read(store, id, options, compactions), options)
  if (context.json) {
    const view = options.full === true ? 'full' : 'effective'
    context.printJson({ session: id, view, messages: entries.map(jsonOf) })
  } else {
    await context.page(`${(await linesOf(context, store, id, entries, compactions, options)).join('\n')}\n`)
  }
  return EXIT.done
}

function checkRange({ from, to, limit, tail }: ShowOptions): void {
  if (from !== undefined && to !== undefined && from > to)
    throw new CliError('WRONG_USE', `--from ${from} is behind --to ${to}.`)
  if (limit !== undefined && tail !== undefined)
    throw new CliError('WRONG_USE', '--limit and --tail exclude each other.')
}

/** The rows in order. The view knows what a summary stands for, the stored rows their tags and originals. */
async function read(
  store: SqliteStore,
  id: string,
  { full = false, original = false, from, to }: ShowOptions,
  compactions: ReadonlyMap<string, Compaction>,
): Promise<Entry[]> {
  const view = new Map(
    (await store.getEffectiveHistory(id, { provenance: true })).map((row) => [row.id, row] as const),
  )
  const stored = await store.getMessages(id, {
    ...(from !== undefined && { after: from - 1 }),
    ...(to !== undefined && { before: to + 1 }),
  })
  const rows = full ? stored : stored.filter((row) => view.has(row.id))
  return rows.map((row) => entryOf(row, view.get(row.id), original, compactions))
}

function entryOf(
  row: StoredMessage,
  shown: ViewMessage | undefined,
  original: boolean,
  compactions: ReadonlyMap<string, Compaction>,
): Entry {
  const { id, kind, role, position, createdAt, pinned, replacedParts = [], condenseId, truncationId } = row
  return {
    id,
    kind,
    role,
    position,
    createdAt,
    pinned,
    replacedParts,
    content: original || shown === undefined ? row.content : shown.content,
    hidden: hiddenBy(row, compactions),
    standsFor: kind === 'message' ? [] : (shown?.standsFor ?? []),
    insertedBy: condenseId ?? truncationId,
  }
}

function chosen(entries: readonly Entry[], { role, limit, tail }: ShowOptions): readonly Entry[] {
  const wanted = role === undefined ? entries : entries.filter((entry) => entry.role === role)
  if (limit !== undefined) return wanted.slice(0, limit)
  return tail === undefined ? wanted : wanted.slice(-tail)
}

/** What `--json` tells of a row. */
function jsonOf({ hidden, ...entry }: Entry) {
  return {
    id: entry.id,
    kind: entry.kind,
    role: entry.role,
    position: entry.position ?? null,
    createdAt: entry.createdAt,
    pinned: entry.pinned,
    hidden:
      hidden === undefined
        ? null
        : {
            compaction: hidden.compaction,
            kind: hidden.kind ?? null,
            at: hidden.at ?? null,
            undone: hidden.retired,
          },
    replacedParts: entry.replacedParts,
    standsFor: entry.standsFor,
    insertedBy: entry.insertedBy ?? null,
    content: entry.content,
  }
}

async function linesOf(
  context: Context,
  store: SqliteStore,
  id: string,
  entries: readonly Entry[],
  compactions: ReadonlyMap<string, Compaction>,
  { full = false, fold }: ShowOptions,
): Promise<string[]> {
  const { out, style } = context
  const { title, messageCount, visibleCount } = await store.getSession(id)
  const name = title === undefined ? id : `${id} · ${title}`
  const figures = `${counted(messageCount, 'message')} stored, ${counted(visibleCount, 'row')} in the view`
  const what = full ? 'everything stored' : 'the view'
  const head = [
    ...paragraph(safeLine(name), out).map((line) => style.bold(line)),
    ...paragraph(`${figures}; shown: ${what}`, out).map((line) => style.dim(line)),
  ]
  if (entries.length === 0) return [...head, '', noneOf(messageCount, full)]
  const short = shortIds([...compactions.values()].flatMap((one) => [one.id, one.runId]))
  const shortId = (one: string): string => (out.isTerminal ? (short.get(one) ?? one) : one)
  const manner = { out, style, fold: fold && out.isTerminal, shortId }
  return [...head, ...entries.flatMap((entry) => ['', ...entryLines(entry, manner)])]
}

function noneOf(messages: number, full: boolean): string {
  if (messages === 0) return 'It has no messages yet.'
  return full ? 'No row is like that.' : 'No row of the view is like that; --full shows what is hidden too.'
}
