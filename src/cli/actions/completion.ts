import { resolve } from 'node:path'
import type { Command as Commander } from 'commander'
import type { SqliteStore } from '../../store/open.ts'
import { statusWords } from '../../transfer/document/reasons.ts'
import type { Context } from '../command.ts'
import {
  type Candidate,
  isPlain,
  storeIn,
  type Wanted,
  wantedAt,
  wordsMeant,
} from '../completion/candidates.ts'
import { FILES, SCRIPTS } from '../completion/scripts.ts'
import { EXIT } from '../exit-codes.ts'
import { kindName } from '../log/compaction-words.ts'
import { clipped } from '../output/layout.ts'
import { safeLine } from '../output/safe-text.ts'
import { allSessions } from '../references.ts'

/** So many candidates are answered. */
const MOST = 200
/** What is told of one is no wider. */
const WIDEST = 60

export async function printScript(context: Context, shell: keyof typeof SCRIPTS): Promise<number> {
  if (context.json) context.printJson({ shell, script: SCRIPTS[shell] })
  else context.out.write(SCRIPTS[shell])
  return EXIT.done
}

/** What can stand where the cursor is, a line each. It never fails: a shell would show the error in the middle of a line. */
export async function printCandidates(
  context: Context,
  program: Commander,
  written: readonly string[],
): Promise<number> {
  const words = wordsMeant(written, context.env.HOME ?? '')
  const wanted = wantedAt(program, words)
  if (wanted.kind === 'files') context.out.write(`${FILES}\n`)
  const candidates = await candidatesOf(context, wanted, words).catch(() => [])
  for (const { value, about } of candidates.slice(0, MOST))
    context.out.write(`${wanted.before}${value}\t${clipped(safeLine(about), WIDEST)}\n`)
  return EXIT.done
}

async function candidatesOf(
  context: Context,
  wanted: Wanted,
  words: readonly string[],
): Promise<readonly Candidate[]> {
  if (wanted.kind === 'known') return wanted.candidates
  if (wanted.kind === 'files') return []
  const store = await openFor(context, words)
  try {
    return wanted.kind === 'session'
      ? await sessionsOf(store, wanted.beginning)
      : await compactionsOf(context, store, wanted.session, wanted.beginning)
  } finally {
    await store.close()
  }
}

/** The store that the words name, or the one there is without them. */
async function openFor(
  { location, cwd, env, style }: Context,
  words: readonly string[],
): Promise<SqliteStore> {
  const named = storeIn(words)
  const { openAt } = await import('../open-at.ts')
  const where = named === undefined ? location : ({ path: resolve(cwd, named), from: 'option' } as const)
  const silent = { isTerminal: false, columns: 80, write: () => {} }
  return openAt(where, 'read', { env, style, err: silent })
}

async function sessionsOf(store: SqliteStore, beginning: string): Promise<Candidate[]> {
  const found: Candidate[] = []
  for await (const { id, title = '' } of allSessions(store, { search: beginning || undefined })) {
    if (id.startsWith(beginning) && isPlain(id)) found.push({ value: id, about: title })
    if (found.length === MOST) break
  }
  return beginning === '' ? [{ value: '@', about: 'the newest session' }, ...found] : found
}

async function compactionsOf(
  context: Context,
  store: SqliteStore,
  givenSession: string,
  beginning: string,
): Promise<Candidate[]> {
  const session = await context.session(store, givenSession)
  const compactions = (await store.listCompactions(session)).toReversed()
  const single = compactions.map((one) => ({
    value: one.id,
    about: `${kindName(one)}, ${statusWords(one)}`,
  }))
  const runs = [...new Set(compactions.map(({ runId }) => runId))].map((value) => ({
    value,
    about: 'a whole run',
  }))
  const found = [...single, ...runs].filter(({ value }) => value.startsWith(beginning) && isPlain(value))
  return beginning === '' ? [{ value: '@', about: 'the newest run' }, ...found] : found
}
