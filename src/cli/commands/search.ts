import { defined } from '../../core/messages/json.ts'
import type { SearchHit } from '../../storage/storage.ts'
import type { SearchResult, SearchOptions as StoreSearchOptions } from '../../store/search.ts'
import type { Store } from '../../store/store.ts'
import type { Context, Output } from '../command.ts'
import type { Given } from '../declarations.ts'
import { CliError, EXIT } from '../errors.ts'
import { count, counted, time } from '../output/figures.ts'
import { paragraph, sentence, writeLines } from '../output/layout.ts'
import { nulled } from '../output/safe-text.ts'
import { findSession } from '../references.ts'

type SearchOptions = Given<'search'>

const DAY_MS = 86_400_000

export async function search(context: Context, query: string, options: SearchOptions): Promise<number> {
  const { hidden = false, visible = false, owner, role, tool, limit, cursor } = options
  if (hidden && visible) throw new CliError('WRONG_USE', "--hidden and --visible can't be combined.")
  if (limit > 100) throw new CliError('WRONG_USE', '--limit must be at most 100; --cursor continues.')
  const from = timeOf(options.from, '--from', 0)
  const to = timeOf(options.to, '--to', DAY_MS - 1)
  // The index may have to be written.
  const store = await context.open('change')
  const session = options.session === undefined ? undefined : await findSession(store, options.session)
  const {
    hits,
    cursor: next,
    complete,
    leftOut = [],
    noWords = false,
  } = await searching(context, store, query, {
    ...{ limit, ...((hidden || visible) && { hidden }) },
    ...defined({ session, owner, roles: role && [role], tools: tool && [...tool], from, to, cursor }),
  })
  if (context.json)
    context.printJson({ hits: hits.map(hitJson), cursor: next ?? null, complete, noWords, leftOut })
  else if (noWords) writeLines(context.out, sentence(noWordsText('message', leftOut), context.out))
  else await context.page(`${hitLines(context, hits, next).join('\n')}\n`)
  if (!complete)
    context.err.write(
      context.style.yellow("undertext: some rows aren't in the index, which can't be written here.\n"),
    )
  return EXIT.done
}

/** Searches, and shows meanwhile how far the index is: the first search of a large store takes long. Throws `INTERRUPTED`. */
async function searching(
  context: Context,
  store: Store,
  query: string,
  options: StoreSearchOptions,
): Promise<SearchResult> {
  const line = await context.statusLine()
  const stop = store.on('indexing', ({ indexed, total }) => {
    if (indexed < total) line.show(`indexing, ${count(indexed)} of ${count(total)} messages`)
  })
  const over = new AbortController()
  const interruption = new Promise<never>((_, reject) => {
    const fail = (): void =>
      reject(new CliError('INTERRUPTED', 'Interrupted. The index built so far is kept.'))
    context.signal.addEventListener('abort', fail, { once: true, signal: over.signal })
  })
  try {
    return await Promise.race([store.search(query, options), interruption])
  } finally {
    over.abort()
    stop()
    line.clear()
  }
}

/** Parses a time as milliseconds since 1970. For a day, `ofDay` milliseconds are added to its beginning. */
function timeOf(given: string | undefined, option: string, ofDay: number): number | undefined {
  if (given === undefined) return undefined
  const isDay = /^\d{4}-\d\d-\d\d$/.test(given)
  const ms = /^\d{4}-\d\d-\d\d/.test(given) ? Date.parse(given) : Number.NaN
  if (Number.isNaN(ms))
    throw new CliError('WRONG_USE', `${option} must be a day or a time, such as 2026-03-01.`)
  return isDay ? ms + ofDay : ms
}

function hitJson({ sessionId: session, messageId: id, kind, role, position, createdAt, ...hit }: SearchHit) {
  const { score, hiddenBy, snippet } = hit
  return nulled({ session, id, kind, role, position, createdAt, score, hiddenBy, snippet })
}

/** Explains why a search has no hits if no word of its query can be searched for. */
export function noWordsText(what: 'message' | 'note', leftOut: readonly string[]): string {
  const why =
    leftOut.length === 0
      ? 'the query has no word that can be searched for'
      : `all words of the query are too common to be searched for (${leftOut.join(', ')})`
  return `No ${what}s match: ${why}.`
}

function hitLines({ out, style }: Output, hits: readonly SearchHit[], next: string | undefined): string[] {
  if (hits.length === 0) return ['No messages match.']
  const blocks = hits.map((hit) => [
    ...sentence(headingOf(hit, out), out, style.bold),
    ...paragraph(hit.snippet.text, out, '  '),
    '',
  ])
  const more = next === undefined ? '' : `; next: --cursor ${next}`
  return [...blocks.flat(), style.dim(`${counted(hits.length, 'hit')} shown${more}`)]
}

function headingOf(
  { sessionId, kind, role, position, anchor, createdAt, hiddenBy }: SearchHit,
  out: Output['out'],
): string {
  const place = position === undefined ? `${kind} after ${anchor}` : `${position} · ${role}`
  const hidden = hiddenBy === undefined ? '' : ` · hidden by ${hiddenBy}`
  return `${sessionId} · ${place} · ${time(createdAt, out)}${hidden}`
}
