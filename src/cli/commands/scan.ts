import { listIn } from '../../core/messages/json.ts'
import type { ScannedText } from '../../store/scan.ts'
import type { Context } from '../command.ts'
import type { Given } from '../declarations.ts'
import { CliError, EXIT } from '../errors.ts'
import { counted } from '../output/figures.ts'
import { report } from '../output/layout.ts'
import { nulled } from '../output/safe-text.ts'
import { type Column, table } from '../output/table.ts'
import { findSession } from '../references.ts'

export async function scan(
  context: Context,
  given: string | undefined,
  { owner }: Given<'scan'>,
): Promise<number> {
  if (given !== undefined && owner !== undefined)
    throw new CliError('WRONG_USE', 'Name a session or pass --owner, not both.')
  const store = await context.open('read')
  const scope =
    given === undefined
      ? owner === undefined
        ? {}
        : { owner }
      : { session: await findSession(store, given) }
  const found: ScannedText[] = []
  for await (const one of store.privacy.scan(scope)) {
    context.signal.throwIfAborted()
    found.push(one)
  }
  report(context, scannedJson(found), () => scannedLines(context, found))
  return found.length === 0 ? EXIT.done : EXIT.no
}

function scannedJson(found: readonly ScannedText[]) {
  return {
    places: found.length,
    found: sumOf(found),
    sessions: grouped(found).map(([session, places]) => ({
      session: session ?? null,
      found: sumOf(places),
      places: places.map(({ owner, place, id, part, found: kinds }) =>
        nulled({ owner, place, id, part, found: kinds }),
      ),
    })),
  }
}

/** The places of each session, in their order; those of the notes of owners under `undefined`. */
function grouped(found: readonly ScannedText[]): [string | undefined, ScannedText[]][] {
  const sessions = new Map<string | undefined, ScannedText[]>()
  for (const one of found) listIn(sessions, one.sessionId).push(one)
  return [...sessions]
}

function sumOf(places: readonly ScannedText[]): { [kind: string]: number } {
  const sum: { [kind: string]: number } = {}
  for (const { found } of places) for (const kind in found) sum[kind] = (sum[kind] ?? 0) + found[kind]!
  return sum
}

function kindsText(kinds: { readonly [kind: string]: number }): string {
  return Object.entries(kinds)
    .map(([kind, number]) => (number === 1 ? kind : `${kind} × ${number}`))
    .join(', ')
}

const COLUMNS: readonly Column[] = [
  { title: 'SESSION', flexible: 'wrap', isName: true },
  { title: 'PLACE' },
  { title: 'AT', flexible: 'wrap' },
  { title: 'FOUND', flexible: 'wrap' },
]

function scannedLines({ out, style }: Context, found: readonly ScannedText[]): string[] {
  if (found.length === 0) return [style.green('✓ no credentials found')]
  const rows = found.map(({ sessionId, owner, place, id = '', part, found: kinds }) => [
    sessionId ?? owner ?? '',
    place,
    part === undefined ? id : `${id}, part ${part}`,
    { text: kindsText(kinds), style: style.red },
  ])
  const total = Object.values(sumOf(found)).reduce((sum, number) => sum + number, 0)
  const end = style.red(`✗ ${counted(total, 'credential')} in ${counted(found.length, 'place')}`)
  return [...table(COLUMNS, rows, out, style), '', end]
}
