import { isUndertextError, type Store } from '../../src/index.ts'
import { say, units } from '../support/conversation.ts'
import { CANARY } from '../support/failures.ts'
import { contentsOf, type Furnished, furnish, READS, WRITES } from './verbs.ts'

/* Fills the disk under a store, tries everything, makes room, and tries again. Plain data comes out. */

export type Filled = {
  /** What the append ended in that found no more room. */
  readonly ended: string
  /** What each verb ended in while there was no room: "done" or a code. */
  readonly whileFull: Readonly<Record<string, string>>
  /** The same for verbs that had been refused, once there was room. */
  readonly afterwards: Readonly<Record<string, string>>
  /** Everything that went otherwise than it must. */
  readonly problems: readonly string[]
}

/** Most appends it may take; a disk that never fills up tests nothing. */
const MOST_APPENDS = 10_000

export async function fillUp(
  store: Store,
  { shrink, makeRoom }: { readonly shrink: () => unknown; readonly makeRoom: () => unknown },
): Promise<Filled> {
  const problems: string[] = []
  const furnished = await furnish(store)
  await shrink()
  const acknowledged: string[] = []
  let ended = 'never'
  for (let count = 0; ended === 'never' && count < MOST_APPENDS; count++) {
    const text = `${CANARY} ${count} ${units(count % 2 === 0 ? 2_000 : 20)}`
    const outcome = await outcomeOf(async () => {
      await store.append('filled', [say('user', text)])
      acknowledged.push(text)
    })
    if (outcome !== 'done') ended = outcome
  }

  const whileFull: Record<string, string> = {}
  const reads = async (): Promise<string> => JSON.stringify(await answersOf(store, furnished))
  for (const [name, act] of Object.entries(READS))
    whileFull[name] = await outcomeOf(() => act(store, furnished))
  for (const [name, act] of Object.entries(WRITES)) {
    const before = [await contentsOf(store), await reads()]
    whileFull[name] = await outcomeOf(() => act(store, furnished))
    if (whileFull[name] === 'done') continue
    const after = [await contentsOf(store), await reads()]
    if (before[0] !== after[0] || before[1] !== after[1])
      problems.push(`${name} failed and changed something`)
  }
  await makeRoom()
  const afterwards: Record<string, string> = {}
  for (const [name, act] of Object.entries(WRITES))
    if (whileFull[name] !== 'done') afterwards[name] = await outcomeOf(() => act(store, furnished))
  const stored = (await store.getMessages('filled')).map(({ content }) => content)
  if (JSON.stringify(stored) !== JSON.stringify(acknowledged))
    problems.push(`${acknowledged.length} were acknowledged and ${stored.length} are there`)
  for (const session of ['s', 'filled'])
    for (const { code } of (await store.sessions.verify(session)).findings)
      problems.push(`${session}: ${code}`)
  return { ended, whileFull, afterwards, problems }
}

async function answersOf(store: Store, furnished: Furnished): Promise<unknown[]> {
  const answers: unknown[] = []
  for (const [name, act] of Object.entries(READS))
    if (name !== 'previewCompaction') answers.push(await act(store, furnished))
  return answers
}

/** "done", the code of one of our errors, or everything about what is neither or says too much. */
export async function outcomeOf(act: () => unknown): Promise<string> {
  try {
    await act()
    return 'done'
  } catch (error) {
    if (!isUndertextError(error)) return `raw: ${error instanceof Error ? error.stack : String(error)}`
    const said = [
      error.message,
      JSON.stringify(error.facts),
      String((error.cause as Error | undefined)?.message),
    ]
    return said.join().includes(CANARY) ? `quoting: ${said.join()}` : error.code
  }
}
