import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Compaction, openStore, type Store } from '../../src/index.ts'
import { call, result, say } from './conversation.ts'

/** A store on disk that is small enough to be worked out by hand. */
export type SmallStore = {
  readonly path: string
  readonly folder: string
  /** In the order they were made. */
  readonly compactions: readonly Compaction[]
  /** Opens it, does something and closes it. */
  change<T>(work: (store: Store) => Promise<T>): Promise<T>
  remove(): void
}

/** When its messages were made: one a minute from 10:01 UTC on 1 March 2026. */
export function minute(position: number): number {
  return Date.UTC(2026, 2, 1, 10, position)
}

/**
 * Session `talk`: eight messages; positions 1 to 4 stand behind a summary, 6 was hidden by hand and that undone again, and 7 is pinned.
 * Session `older` holds one message, and `empty` none; `gone` is archived.
 */
export async function smallStore(): Promise<SmallStore> {
  const folder = mkdtempSync(join(tmpdir(), 'undertext-cli-'))
  const path = join(folder, 'chats.db')
  const store = await openStore(path, { env: false, estimator: 'neurolink' })
  await store.sessions.create({ id: 'empty', owner: 'bob' })
  await store.sessions.create({ id: 'older', title: 'Rounding of invoices' })
  await store.append('older', [{ ...say('user', 'Hello'), createdAt: minute(1) }])
  await store.sessions.create({ id: 'gone' })
  await store.sessions.archive('gone')
  await store.sessions.create({
    id: 'talk',
    title: 'The kettle',
    owner: 'ann',
    provider: 'openai',
    model: 'gpt-4o',
  })
  const messages = [
    say('user', 'Does the kettle work?'),
    call('c1', 'look', { at: 'kettle' }),
    result('c1', 'It is cold.\nIts plug is out.', 'look'),
    say('assistant', 'No: its plug is out.'),
    say('user', 'Put it in.'),
    say('assistant', 'Done.'),
    say('user', 'Thank you'),
    say('assistant', 'It boils.'),
  ]
  await store.append(
    'talk',
    messages.map((message, at) => ({ ...message, createdAt: minute(at + 1) })),
  )
  const ids = (await store.getMessages('talk')).map(({ id }) => id)
  await store.compactSession('talk', {
    range: { from: 1, to: 4 },
    summary: 'The plug was out.',
    actor: 'ann',
    reason: 'too long',
  })
  const hidden = await store.compactions.hide('talk', [ids[5]!], { actor: 'bob' })
  await store.undoCompaction('talk', hidden.id, { actor: 'ann', reason: 'a slip' })
  await store.messages.pin('talk', [ids[6]!], { actor: 'ann' })
  const compactions = await store.listCompactions('talk')
  await store.close()
  return {
    path,
    folder,
    compactions,
    change: async (work) => {
      const opened = await openStore(path, { env: false })
      try {
        return await work(opened)
      } finally {
        await opened.close()
      }
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}
