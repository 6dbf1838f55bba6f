import { setImmediate as turn } from 'node:timers/promises'
import { createContext, Script } from 'node:vm'
import { z } from 'zod'
import { invalid } from '../core/errors.ts'
import { check, nameSchema, newOwnerOption } from '../core/messages/check.ts'
import { TextRemover } from '../core/messages/text-removal.ts'
import type { KeptNames, RemovedText, Session, Storage, TextCounts, TextRemoval } from '../storage/storage.ts'
import { unlessUnknown } from './arguments.ts'
import { authorshipSchema } from './config/store-options.ts'
import { found, type StoreContext, sessionsIn } from './context.ts'

/** Where a text is removed: a session and its forks, all that belongs to an owner, or the whole store. */
export type TextScope = { readonly session: string } | { readonly owner: string } | 'all'

const scopeSchema: z.ZodType<TextScope, TextScope> = z.union(
  [
    z.strictObject({ session: nameSchema }),
    z.strictObject({ owner: newOwnerOption.unwrap() }),
    z.literal('all'),
  ],
  "must be { session }, { owner } or 'all'",
)

/** Maximum length of a pattern and of a replacement, in UTF-16 units. */
const [MAX_PATTERN_LENGTH, MAX_REPLACEMENT_LENGTH] = [10_000, 200]

const patternSchema = z.union(
  [
    z.string().min(1).max(MAX_PATTERN_LENGTH),
    z.instanceof(RegExp).refine(({ source }) => source.length <= MAX_PATTERN_LENGTH),
  ],
  `must be a text or a regular expression of 1 to ${MAX_PATTERN_LENGTH} characters`,
)

const purgeTextSchema = z.strictObject({
  /** Whether to only count what would be removed. */
  dryRun: z.boolean().default(false),
  /** The text that is stored instead. */
  replacement: z
    .string()
    .max(MAX_REPLACEMENT_LENGTH, `must not be longer than ${MAX_REPLACEMENT_LENGTH} characters`)
    .refine((text) => text.isWellFormed(), 'must not contain lone surrogates')
    .default('[removed]'),
  ...authorshipSchema.shape,
})
/** Options of `privacy.purgeText`. */
export type PurgeTextOptions = z.input<typeof purgeTextSchema>

/** What was removed from a session. */
export type PurgedSession = TextCounts & {
  readonly sessionId: string
  /** Names of the session that contain the text and stay. */
  readonly kept: readonly KeptNames[]
  /** Other sessions whose messages were changed, because they share them. */
  readonly sharedWith: readonly string[]
}

/** The receipt of a removal of text: numbers and ids, never the text. */
export type PurgedText = TextCounts & {
  readonly dryRun: boolean
  /** The sessions in which the text was found, forks included. */
  readonly sessions: readonly PurgedSession[]
  /** The number of these sessions that are forks. */
  readonly forks: number
  /** The names of owners' notes that contain the text and stay. */
  readonly kept: readonly KeptNames[]
  /** Present if the removed text can still be found in the store's files, which are cleared later. */
  readonly filesCleared?: false
}

/** See `Privacy.purgeText`. */
export async function purgeText(
  context: StoreContext,
  scope: TextScope,
  pattern: string | RegExp,
  options: PurgeTextOptions,
): Promise<PurgedText> {
  const where = check(scopeSchema, scope, 'privacy.purgeText: scope')
  const given = check(patternSchema, pattern, 'privacy.purgeText: pattern')
  const { dryRun, replacement, actor, reason } = check(purgeTextSchema, options, 'privacy.purgeText')
  const within = typeof given === 'string' ? unlimited : limited()
  const remover = (): TextRemover => new TextRemover(given, replacement)
  within(replacement.length, () => {
    const checking = remover()
    for (const [name, text] of Object.entries({ actor, reason }))
      if (text !== undefined && checking.isIn(text))
        throw invalid(`privacy.purgeText: ${name} must not contain the text that is removed`)
  })
  const removal: TextRemoval = { actor, reason, remover, within, dryRun, seen: new Set() }
  const storage = where === 'all' || 'session' in where ? context.storage : context.storageOf(where.owner)
  const { removals } = storage
  const sessions: PurgedSession[] = []
  let forks = 0
  const purge = async ({ id, owner, forkedFrom }: Session): Promise<void> => {
    // Several owners may have a session with this id.
    const removed = await storage.seenBy(owner ?? null).removals.purgeText(id, removal)
    // Other work of the process gets its turn between two sessions.
    await turn()
    if (removed.counts.matches === 0 && removed.kept.length === 0) return
    const { counts, kept, sharedWith } = removed
    sessions.push({ sessionId: id, ...counts, kept, sharedWith })
    if (forkedFrom !== undefined) forks++
  }
  if (where !== 'all' && 'session' in where)
    for (const target of await familyOf(context, where.session)) await purge(target)
  else for await (const target of sessionsIn(storage)) await unlessUnknown(purge(target))
  const owners = await ownersIn(storage, where)
  const ofNotes: RemovedText[] = []
  for (const owner of owners) ofNotes.push(await removals.purgeNotes(owner, removal))
  const all = [...sessions, ...ofNotes.map(({ counts }) => counts)]
  const counts = sumOf(all)
  const isCleared = dryRun || counts.matches === 0 || (await removals.clearFiles())
  const kept = ofNotes.flatMap((one) => one.kept)
  return { ...counts, dryRun, sessions, forks, kept, ...(!isCleared && { filesCleared: false }) }
}

/** Returns a session and the forks of it that the store sees, each after its origin. Throws `SESSION_NOT_FOUND`, `SESSION_AMBIGUOUS`. */
async function familyOf({ storage }: StoreContext, id: string): Promise<Session[]> {
  const family = [found(await storage.session(id), id)]
  for (const { id, owner } of family)
    for (const fork of await storage.seenBy(owner ?? null).forks(id)) family.push(fork)
  return family
}

async function ownersIn({ removals }: Storage, where: TextScope): Promise<readonly string[]> {
  if (where === 'all') return removals.noteOwners()
  return 'owner' in where ? [where.owner] : []
}

function sumOf(all: readonly TextCounts[]): TextCounts {
  const sum = (name: keyof TextCounts): number => all.reduce((total, one) => total + one[name], 0)
  return {
    ...{ matches: sum('matches'), messages: sum('messages'), summaries: sum('summaries') },
    ...{ replacements: sum('replacements'), notes: sum('notes'), requests: sum('requests') },
    ...{ compactions: sum('compactions'), jobs: sum('jobs'), audit: sum('audit'), fields: sum('fields') },
  }
}

const unlimited: TextRemoval['within'] = (_length, work) => work()

/** The time for a text, in milliseconds: at least this much, and a millisecond for this many UTF-16 units. */
const [MIN_TIME_MS, UNITS_PER_MS] = [1_000, 1_000]

/** Limits the time of regular expressions, which may be exponential. The engine interrupts an expression only through `node:vm`. */
function limited(): TextRemoval['within'] {
  const sandbox = createContext({ work: undefined })
  const script = new Script('work()')
  return <T>(length: number, work: () => T): T => {
    sandbox.work = work
    try {
      return script.runInContext(sandbox, { timeout: MIN_TIME_MS + Math.ceil(length / UNITS_PER_MS) }) as T
    } catch (error) {
      if ((error as { code?: unknown } | null)?.code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error
      throw invalid('privacy.purgeText: the pattern takes too long on a stored text; use a simpler one')
    }
  }
}
