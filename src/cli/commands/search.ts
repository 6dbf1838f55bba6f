import type { Role } from '../../messages/message.ts'
import type { SearchHit } from '../../storage/storage.ts'
import type { Context, Output } from '../command.ts'
import { CliError, EXIT } from '../errors.ts'
import { counted, time } from '../output/figures.ts'
import { paragraph, sentence } from '../output/layout.ts'

type SearchOptions = {
  readonly session?: string
  readonly owner?: string
  readonly role?: Role
  readonly tool?: readonly string[]
  readonly from?: string
  readonly to?: string
  readonly hidden?: boolean
  readonly visible?: boolean
  readonly limit: number
  readonly cursor?: string
}

const DAY_MS = 86_400_000

export async function search(context: Context, query: string, options: SearchOptions): Promise<number> {
  const { hidden = false, visible = false, owner, role, tool, limit, cursor } = options
  if (hidden && visible) throw new CliError('WRONG_USE', '--hidden and --visible exclude each other.')
  if (limit > 100) throw new CliError('WRONG_USE', '--limit is at most 100; --cursor continues.')
  const from = timeOf(options.from, '--from', 0)
  const to = timeOf(options.to, '--to', DAY_MS - 1)
  // The index may have to be written.
  const store = await context.open('change')
  const session = options.session === undefined ? undefined : await context.session(store, options.session)
  const {
    hits,
    cursor: next,
    complete,
  } = await store.search(query, {
    limit,
    ...(session !== undefined && { session }),
    ...(owner !== undefined && { owner }),
    ...(role !== undefined && { roles: [role] }),
    ...(tool !== undefined && { tools: [...tool] }),
    ...(from !== undefined && { from }),
    ...(to !== undefined && { to }),
    ...((hidden || visible) && { hidden }),
    ...(cursor !== undefined && { cursor }),
  })
  if (context.json) context.printJson({ hits: hits.map(jsonOf), cursor: next ?? null, complete })
  else await context.page(`${linesOf(context, hits, next).join('\n')}\n`)
  if (!complete)
    context.err.write(
      context.style.yellow('undertext: some rows are not in the index, which cannot be written here.\n'),
    )
  return EXIT.done
}

/** A time, milliseconds since 1970; of a day, so long after its beginning. */
function timeOf(given: string | undefined, option: string, ofDay: number): number | undefined {
  if (given === undefined) return undefined
  const isDay = /^\d{4}-\d\d-\d\d$/.test(given)
  const ms = /^\d{4}-\d\d-\d\d/.test(given) ? Date.parse(given) : Number.NaN
  if (Number.isNaN(ms))
    throw new CliError('WRONG_USE', `${option} must be a day or a time, such as 2026-03-01.`)
  return isDay ? ms + ofDay : ms
}

function jsonOf({
  sessionId,
  messageId,
  kind,
  role,
  position,
  createdAt,
  score,
  hiddenBy,
  snippet,
}: SearchHit) {
  return {
    session: sessionId,
    id: messageId,
    kind,
    role,
    position: position ?? null,
    createdAt,
    score,
    hiddenBy: hiddenBy ?? null,
    snippet,
  }
}

function linesOf({ out, style }: Output, hits: readonly SearchHit[], next: string | undefined): string[] {
  if (hits.length === 0) return ['No message matches.']
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
