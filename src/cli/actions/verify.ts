import { setImmediate } from 'node:timers/promises'
import type { Finding } from '../../model/verify.ts'
import type { SqliteStore } from '../../store/open.ts'
import { CliError } from '../cli-error.ts'
import type { Context } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import { count, counted } from '../output/figures.ts'
import { type Column, table } from '../output/table.ts'
import { allSessions } from '../references.ts'

export type VerifyCommandOptions = { readonly all?: boolean; readonly repair?: boolean }

type Verified = {
  readonly session: string
  readonly findings: readonly Finding[]
  readonly repaired: boolean
  /** What is still found behind a repair. */
  readonly left: readonly Finding[]
}

export async function verify(
  context: Context,
  given: string | undefined,
  { all = false, repair = false }: VerifyCommandOptions,
): Promise<number> {
  if (given !== undefined && all) throw new CliError('WRONG_USE', 'Name a session or say --all, not both.')
  const store = await context.open(repair ? 'change' : 'read')
  const ids = given === undefined ? await everyId(store) : [await context.session(store, given)]
  const verified: Verified[] = []
  for (const id of ids) {
    // Checking takes the whole thread; a Ctrl-C is heard in between.
    await setImmediate()
    context.signal.throwIfAborted()
    verified.push(await verifyOne(store, id, repair))
  }
  const left = verified.reduce((sum, one) => sum + one.left.length, 0)
  if (context.json) context.printJson(jsonOf(verified, left))
  else write(context, verified, left)
  return left === 0 ? EXIT.done : EXIT.no
}

async function everyId(store: SqliteStore): Promise<string[]> {
  const ids: string[] = []
  for await (const { id } of allSessions(store)) ids.push(id)
  return ids
}

async function verifyOne(store: SqliteStore, id: string, repair: boolean): Promise<Verified> {
  const { findings, repaired } = await store.verifySession(id, { repair })
  const left = repaired ? (await store.verifySession(id)).findings : findings
  return { session: id, findings, repaired, left }
}

function jsonOf(verified: readonly Verified[], left: number) {
  return {
    checked: verified.length,
    found: verified.reduce((sum, { findings }) => sum + findings.length, 0),
    left,
    sessions: verified.map(({ session, findings, repaired, left: still }) => ({
      session,
      repaired,
      left: still.length,
      findings: findings.map(({ code, messageId, compactionId, detail, repairable }) => ({
        code,
        messageId: messageId ?? null,
        compactionId: compactionId ?? null,
        detail,
        repairable,
      })),
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

function write({ out, style }: Context, verified: readonly Verified[], left: number): void {
  const rows = verified.flatMap(({ session, findings, repaired }) =>
    findings.map(({ code, messageId, compactionId, detail, repairable }) => [
      session,
      { text: code, style: style.red },
      messageId ?? compactionId ?? '',
      detail,
      repairWord(repairable, repaired),
    ]),
  )
  if (rows.length > 0) out.write(`${table(COLUMNS, rows, out, style).join('\n')}\n\n`)
  const checked = `${counted(verified.length, 'session')} checked`
  if (rows.length === 0) out.write(`${style.green(`✓ ${checked}, nothing found`)}\n`)
  else if (left === 0)
    out.write(`${style.green(`✓ ${checked}, ${counted(rows.length, 'finding')}, all repaired`)}\n`)
  else out.write(`${style.red(`✗ ${checked}, ${counted(rows.length, 'finding')}, ${count(left)} left`)}\n`)
}

function repairWord(repairable: boolean, repaired: boolean): string {
  if (!repairable) return 'cannot be'
  return repaired ? 'done' : '--repair'
}
