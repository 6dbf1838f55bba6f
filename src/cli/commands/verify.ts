import { setImmediate } from 'node:timers/promises'
import type { Finding } from '../../core/model/coverage.ts'
import type { Store } from '../../store/store.ts'
import type { Context } from '../command.ts'
import type { Given } from '../declarations.ts'
import { CliError, EXIT } from '../errors.ts'
import { count, counted } from '../output/figures.ts'
import { report } from '../output/layout.ts'
import { nulled } from '../output/safe-text.ts'
import { type Column, table } from '../output/table.ts'
import { allSessions, findSession, storeOf } from '../references.ts'

type Verified = {
  readonly session: string
  readonly findings: readonly Finding[]
  readonly repaired: boolean
  /** Number of findings that a repair left. */
  readonly left: number
}

export async function verify(
  context: Context,
  given: string | undefined,
  { all = false, repair = false }: Given<'verify'>,
): Promise<number> {
  if (given !== undefined && all) throw new CliError('WRONG_USE', 'Name a session or pass --all, not both.')
  const store = await context.open(repair ? 'change' : 'read')
  const named: { readonly id: string; readonly own: Store }[] = []
  if (given !== undefined) named.push({ id: await findSession(store, given), own: store })
  else
    for await (const session of allSessions(store))
      named.push({ id: session.id, own: storeOf(store, session) })
  const verified: Verified[] = []
  for (const { id: session, own } of named) {
    // A check blocks the thread; Ctrl-C is handled between two of them.
    await setImmediate()
    context.signal.throwIfAborted()
    const { findings, repaired } = await own.sessions.verify(session, { repair })
    const left = repaired ? (await own.sessions.verify(session)).findings : findings
    verified.push({ session, findings, repaired, left: left.length })
  }
  const left = verified.reduce((sum, one) => sum + one.left, 0)
  report(context, verifiedJson(verified, left), () => verifiedLines(context, verified, left))
  return left === 0 ? EXIT.done : EXIT.no
}

function verifiedJson(verified: readonly Verified[], left: number) {
  return {
    checked: verified.length,
    found: verified.reduce((sum, { findings }) => sum + findings.length, 0),
    left,
    sessions: verified.map((one) => ({
      session: one.session,
      repaired: one.repaired,
      left: one.left,
      findings: one.findings.map(({ code, messageId, compactionId, detail, repairable }) =>
        nulled({ code, messageId, compactionId, detail, repairable }),
      ),
    })),
  }
}

const COLUMNS: readonly Column[] = [
  { title: 'SESSION', flexible: 'wrap', isName: true },
  { title: 'FOUND' },
  { title: 'AT', flexible: 'wrap' },
  { title: 'WHAT', flexible: 'wrap' },
  { title: 'REPAIR' },
]

function verifiedLines({ out, style }: Context, verified: readonly Verified[], left: number): string[] {
  const rows = verified.flatMap(({ session, findings, repaired }) =>
    findings.map(({ code, messageId, compactionId, detail, repairable }) => [
      session,
      { text: code, style: style.red },
      messageId ?? compactionId ?? '',
      detail,
      repairable ? (repaired ? 'done' : '--repair') : 'not possible',
    ]),
  )
  const checked = `${counted(verified.length, 'session')} checked`
  const found = `${checked}, ${counted(rows.length, 'finding')}`
  if (rows.length === 0) return [style.green(`✓ ${checked}, nothing found`)]
  const end =
    left === 0 ? style.green(`✓ ${found}, all repaired`) : style.red(`✗ ${found}, ${count(left)} left`)
  return [...table(COLUMNS, rows, out, style), '', end]
}
