import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { resolve } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { isUndertextError } from '../../core/errors.ts'
import { loadDriver } from '../../storage/sqlite/driver.ts'
import { openStore } from '../../store/open.ts'
import type { Store } from '../../store/store.ts'
import { restoreFrom } from '../../transfer/history-lines.ts'
import { readLines } from '../../transfer/lines.ts'
import type { Context, Location } from '../command.ts'
import type { Given } from '../declarations.ts'
import { CliError, EXIT } from '../errors.ts'
import { counted } from '../output/figures.ts'
import { report } from '../output/layout.ts'
import { nulled } from '../output/safe-text.ts'
import { type Column, table } from '../output/table.ts'
import { allSessions, storeOf } from '../references.ts'
import { fileFacts, prepareFile } from '../store-facts.ts'
import { copyTo } from './backup.ts'
import { importFiles } from './import.ts'

type Problem = {
  readonly session?: string | undefined
  /** The line of an archive. */
  readonly line?: number
  readonly code: string
  readonly detail: string
}

/** What a file contains. */
type Checked = {
  readonly kind: 'backup' | 'archive'
  readonly sessions: number
  readonly messages: number
  readonly problems: readonly Problem[]
}

/** Checks a backup or an archive, and restores it unless only the check is wanted or a problem is found. */
export async function restore(
  context: Context,
  given: string,
  { check, force }: Given<'restore'>,
): Promise<number> {
  const path = resolve(context.cwd, given)
  const isBackup = await isDatabase(path)
  const { location } = context
  if (isBackup && check !== true && location.url !== undefined)
    throw new CliError('WRONG_USE', "A backup of a file can't be restored to a server.", {
      hint: '`undertext move --db BACKUP --to postgres://…` copies its sessions there.',
    })
  const at: Location = { path, from: 'option' }
  const checked = await (isBackup ? checkBackup(context, at) : checkArchive(context, path))
  const isSound = checked.problems.length === 0
  if (check === true || !isSound) {
    show(context, path, checked, null)
    return isSound ? EXIT.done : EXIT.no
  }
  if (!isBackup) return importFiles(context, [path], { from: 'undertext', follow: true })
  await prepareFile(location, 'write')
  const store = await context.open('read', { at })
  const made = await copyTo(context, store, location.path, force)
  show(context, path, checked, made.path)
  return EXIT.done
}

const MAGIC = 'SQLite format 3\0'

/** Whether a file is one of SQLite. Throws `NOT_THERE`. */
async function isDatabase(path: string): Promise<boolean> {
  try {
    const file = await open(path)
    try {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(MAGIC.length), 0, MAGIC.length, 0)
      return buffer.toString('latin1', 0, bytesRead) === MAGIC
    } finally {
      await file.close()
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    throw new CliError('NOT_THERE', `There is no file ${path}.`, { facts: { path } })
  }
}

async function checkBackup(context: Context, at: Location): Promise<Checked> {
  const { database } = await fileFacts(at.path, true)
  const damage = database?.integrity?.filter((line) => line !== 'ok') ?? []
  const damaged = (details: readonly string[]): Checked => ({
    kind: 'backup',
    sessions: 0,
    messages: 0,
    problems: details.map((detail) => ({ code: 'STORE_CORRUPT', detail })),
  })
  // Its sessions can't be trusted either.
  if (damage.length > 0) return damaged(damage)
  try {
    return { kind: 'backup', ...(await verified(context, await context.open('read', { at }))) }
  } catch (error) {
    if (!isUndertextError(error, 'STORE_CORRUPT')) throw error
    return damaged([`the file is damaged or incomplete (${error.facts.detail})`])
  }
}

async function verified(context: Context, store: Store): Promise<Omit<Checked, 'kind'>> {
  const counts = { sessions: 0, messages: 0 }
  const problems: Problem[] = []
  for await (const session of allSessions(store)) {
    await pause(context)
    counts.sessions += 1
    counts.messages += session.messageCount
    for (const { code, detail } of (await storeOf(store, session).sessions.verify(session.id)).findings)
      problems.push({ session: session.id, code, detail })
  }
  return { ...counts, problems }
}

/** Checks block the thread; Ctrl-C is handled between two of them. */
async function pause({ signal }: Context): Promise<void> {
  await setImmediate()
  signal.throwIfAborted()
}

/** Restores the histories of an archive to a store of its own, whose file has no name, so that nothing is left of it. */
async function checkArchive(context: Context, path: string): Promise<Checked> {
  const database = new (await loadDriver())('')
  const store = await openStore(database, { env: false })
  const counts = { sessions: 0, messages: 0 }
  const problems: Problem[] = []
  const lines = readLines(createReadStream(path))
  try {
    for await (const one of restoreFrom(store, lines, { signal: context.signal })) {
      counts.sessions += 1
      if ('restored' in one) counts.messages += one.restored.messages
      else problems.push({ line: one.refused.line, code: one.refused.code, detail: one.refused.why })
    }
  } finally {
    await store.close()
    database.close()
  }
  if (counts.sessions === 0)
    throw new CliError('BAD_DATA', `${path} is neither a backup nor an archive.`, { facts: { path } })
  return { kind: 'archive', ...counts, problems }
}

const COLUMNS: readonly Column[] = [
  { title: 'AT', flexible: 'wrap', isName: true },
  { title: 'FOUND' },
  { title: 'WHAT', flexible: 'wrap' },
]

function show(context: Context, file: string, checked: Checked, restored: string | null): void {
  const { kind, sessions, messages, problems } = checked
  const { out, style } = context
  const json = {
    file,
    ...checked,
    restored,
    problems: problems.map(({ session, line, code, detail }) => nulled({ session, line, code, detail })),
  }
  report(context, json, () => {
    const what = `${kind} of ${counted(sessions, 'session')} (${counted(messages, 'message')})`
    if (problems.length === 0)
      return [style.green(restored === null ? `✓ ${what}, sound` : `✓ ${what} restored to ${restored}`)]
    const rows = problems.map(({ session, line, code, detail }) => [
      session ?? (line === undefined ? '' : `line ${line}`),
      { text: code, style: style.red },
      detail,
    ])
    const end = style.red(`✗ ${what}, ${counted(problems.length, 'problem')}; nothing was restored`)
    return [...table(COLUMNS, rows, out, style), '', end]
  })
}
