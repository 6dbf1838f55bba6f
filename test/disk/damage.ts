import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { openStore, type Store, type StoredMessage } from '../../src/index.ts'
import { outcomeOf } from './fill.ts'
import { type Furnished, furnish, READS, WRITES } from './verbs.ts'

/*
 * Damaged copies of a sound store, and what must hold of each of them.
 *
 * SQLite has no checksums: a letter changed in a text is another text, and nobody can know. So of every verb on a
 * damaged copy one of these must hold:
 *
 * 1. it fails with one of our errors, with one of `CODES`, which quotes nothing of the conversation;
 * 2. it answers what it answers on the sound store;
 * 3. it answers something else, and `sessions.verify` fails or finds something in one of the sessions; for the lists
 *    of compactions and of the audit it may be SQLite's own `pragma integrity_check` that does, for they are read
 *    by indexes that nothing else uses;
 * 4. it answers something else of the same shape: the same rows in the same places, of the same kinds, hidden by
 *    the same compactions, with parts of the same types. Only values are others: words, numbers, names, times.
 *
 * A damaged log is different: its records have checksums, and SQLite reads it up to the first that is wrong. The
 * store is then as an earlier commit left it: its messages are the first of the sound one's, word for word, and
 * `sessions.verify` finds nothing.
 */

/** What damage may be called. Source: the codes of src/core/errors.ts that speak of the file, and of what it says. */
export const CODES: readonly string[] = [
  'STORE_CORRUPT',
  'INTERNAL_ERROR',
  'STORE_UNAVAILABLE',
  'STORE_READONLY',
  'NOT_A_STORE',
  'STORE_TOO_NEW',
  'SESSION_NOT_FOUND',
  'MESSAGE_NOT_FOUND',
  'TOOL_CALL_NOT_FOUND',
  'COMPACTION_NOT_FOUND',
  'ESTIMATOR_UNKNOWN',
]
/** What a plan or an undo may be called on rows that are not as they were. */
const CODES_OF_WRITES: readonly string[] = [
  ...CODES,
  'STALE_PLAN',
  'ILLEGAL_BOUNDARY',
  'PENDING_TOOL_CALLS',
  'HAS_ACTIVE_DEPENDENTS',
  'INPUT_NOT_VISIBLE',
  'COMPACTION_IN_PROGRESS',
  'IDEMPOTENCY_CONFLICT',
  'SESSION_EXISTS',
  'MESSAGE_ID_TAKEN',
]

/** A sound store: its bytes, with and without a log that was not written back yet, and what it answers. */
export type Sound = {
  readonly folder: string
  readonly file: Buffer
  readonly inUse: { readonly file: Buffer; readonly wal: Buffer; readonly shm: Buffer }
  readonly furnished: Furnished
  readonly answers: Readonly<Record<string, unknown>>
}

export async function makeSound(folder: string): Promise<Sound> {
  const path = join(folder, 'sound.db')
  const store = await openStore(path, { durability: 'normal' })
  const furnished = await furnish(store)
  const inUse = {
    file: readFileSync(path),
    wal: readFileSync(`${path}-wal`),
    shm: readFileSync(`${path}-shm`),
  }
  const answers: Record<string, unknown> = {}
  for (const [name, act] of Object.entries(READS)) answers[name] = plain(await act(store, furnished))
  await store.close()
  return { folder, file: readFileSync(path), inUse, furnished, answers }
}

/** The files of one damaged copy. */
export type Damaged = { readonly file: Buffer; readonly wal?: Buffer; readonly shm?: Buffer }

/** Opens a damaged copy, tries every verb and answers what does not hold. */
export async function problemsOf(sound: Sound, damaged: Damaged): Promise<string[]> {
  const path = join(sound.folder, 'damaged.db')
  for (const part of ['', '-wal', '-shm']) rmSync(`${path}${part}`, { force: true })
  writeFileSync(path, damaged.file)
  if (damaged.wal !== undefined) writeFileSync(`${path}-wal`, damaged.wal)
  if (damaged.shm !== undefined) writeFileSync(`${path}-shm`, damaged.shm)
  const problems: string[] = []
  let store: Store | undefined
  const opened = await outcomeOf(async () => {
    store = await openStore(path, { durability: 'normal' })
  })
  if (store === undefined) return CODES.includes(opened) ? [] : [`openStore: ${opened}`]
  try {
    const isLog = damaged.wal !== undefined
    problems.push(...(await (isLog ? problemsOfLog(sound, store) : problemsOfReads(sound, store))))
    for (const [name, act] of Object.entries(WRITES)) {
      const outcome = await outcomeOf(() => act(store!, sound.furnished))
      if (outcome !== 'done' && !CODES_OF_WRITES.includes(outcome)) problems.push(`${name}: ${outcome}`)
    }
    for (const [name, act] of Object.entries(READS)) {
      const outcome = await outcomeOf(() => act(store!, sound.furnished))
      if (outcome !== 'done' && !codesOf(name).includes(outcome))
        problems.push(`${name} afterwards: ${outcome}`)
    }
  } finally {
    await store.close()
  }
  return problems
}

async function problemsOfReads(sound: Sound, store: Store): Promise<string[]> {
  const problems: string[] = []
  const isFound = await findsSomething(store)
  for (const [name, act] of Object.entries(READS)) {
    let answer: unknown
    const outcome = await outcomeOf(async () => {
      answer = plain(await act(store, sound.furnished))
    })
    if (outcome !== 'done') {
      if (!codesOf(name).includes(outcome)) problems.push(`${name}: ${outcome}`)
      continue
    }
    if (LISTS.includes(name) && !isIntact(sound)) continue
    if (isFound || JSON.stringify(answer) === JSON.stringify(sound.answers[name])) continue
    const [is, was] = [JSON.stringify(shapeOf(answer)), JSON.stringify(shapeOf(sound.answers[name]))]
    if (is === was) continue
    let at = 0
    while (is[at] === was[at]) at++
    problems.push(
      `${name} is of another shape: ${is.slice(at - 60, at + 60)} and not ${was.slice(at - 60, at + 60)}`,
    )
  }
  return problems
}

async function problemsOfLog(sound: Sound, store: Store): Promise<string[]> {
  const problems: string[] = []
  for (const { id } of await store.sessions.list()) {
    for (const { code } of (await store.sessions.verify(id)).findings) problems.push(`${id}: ${code}`)
    if (id !== 's') continue
    const said = plain(await store.getMessages('s')) as StoredMessage[]
    const all = sound.answers.getMessages as StoredMessage[]
    const bodies = (rows: readonly StoredMessage[]): string[] =>
      rows
        .filter(({ kind }) => kind === 'message')
        .map(({ role, content }) => JSON.stringify([role, content]))
    const [is, was] = [bodies(said), bodies(all)]
    if (is.some((body, at) => body !== was[at]))
      problems.push('its messages are not the first of the sound ones')
  }
  return problems
}

/** A preview plans, and may be refused like what is planned. */
function codesOf(name: string): readonly string[] {
  return name === 'previewCompaction' ? CODES_OF_WRITES : CODES
}

/** Verbs that read what `sessions.verify` does not look at. */
const LISTS: readonly string[] = ['listCompactions', 'getCompaction', 'getAuditLog']

/** What SQLite itself says of the copy. */
function isIntact(sound: Sound): boolean {
  const database = new BetterSqlite3(join(sound.folder, 'damaged.db'), { readonly: true })
  try {
    return database.pragma('integrity_check(1)', { simple: true }) === 'ok'
  } catch {
    return false
  } finally {
    database.close()
  }
}

async function findsSomething(store: Store): Promise<boolean> {
  for (const session of ['s', 't']) {
    const outcome = await outcomeOf(async () => {
      const { findings } = await store.sessions.verify(session)
      if (findings.length > 0) throw new Error('found')
    })
    if (outcome !== 'done') return true
  }
  return false
}

function plain(answer: unknown): unknown {
  return JSON.parse(JSON.stringify(answer ?? null))
}

/** Values that say where something stands, of what kind it is, and what hides it. */
const STRUCTURE: readonly string[] = [
  'position',
  'anchor',
  'ordinal',
  'kind',
  'type',
  'hidden',
  'positions',
  'part',
]
/** JSON of the caller's own, where a damaged key is a value like any other. */
const FREE: readonly string[] = [
  'metadata',
  'config',
  'input',
  'params',
  'detail',
  'usage',
  'providerOptions',
]

/** An answer with its values taken out and its structure left in. */
export function shapeOf(value: unknown, key = ''): unknown {
  if (STRUCTURE.includes(key)) return value
  if (FREE.includes(key)) return 'free'
  if (Array.isArray(value)) return value.map((one) => shapeOf(one))
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, shapeOf(one, name)]))
  return typeof value
}
