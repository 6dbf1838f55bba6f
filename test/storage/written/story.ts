import { createHash } from 'node:crypto'
import type { Store } from '../../../src/index.ts'
import { call, chat, result, say, units } from '../../support/conversation.ts'

/* What the files beside this one hold, and what is compared of it: sessions with everything that a store keeps. */

/** Sessions whose compactions are undone and redone one by one. */
const TURNED = ['compacted', 'replaced', 'rewound', 'background']
const KEPT = [...TURNED, 'branched', 'plain']

/** Fills a store by its verbs. */
export async function live(store: Store): Promise<void> {
  await store.append('plain', [
    { ...say('user', 'Hello \u0000 \ud800'), id: 'id-of-plain', idempotencyKey: 'key-of-plain' },
  ])
  await store.sessions.update('plain', { title: 'Title of plain', owner: 'anna', metadata: { a: [1] } })
  await store.sessions.archive('plain')

  await store.append('compacted', chat(8))
  await store.compactSession('compacted', { range: { from: 1, to: 4 }, summary: 'One.', actor: 'anna' })
  const second = await store.compactSession('compacted', { range: { from: 5, to: 8 }, summary: 'Two.' })
  await store.undoCompaction('compacted', second!.runId, { reason: 'too early' })
  await store.compactions.hide('compacted', [(await store.getMessages('compacted'))[11]!.id])
  await store.append('compacted', chat(2))
  await store.messages.pin('compacted', [(await store.getMessages('compacted'))[9]!.id])

  const image = Buffer.from('a picture '.repeat(1_000)).toString('base64')
  await store.append('replaced', [
    say('user', 'go'),
    call('a', 'read', { path: 'a.ts' }),
    result('a', units(900)),
    { role: 'user', content: [{ type: 'image', image }] },
    ...chat(4),
  ])
  await store.compactSession('replaced', {
    enableDeduplicate: false,
    enableSummarize: false,
    enableTruncate: false,
    targetTokens: 0,
    pruneProtectTokens: 0,
    pruneMinimumSavings: 0,
  })
  await store.requests.recordUsage('replaced', {
    inputTokens: 500,
    outputTokens: 5,
    provider: 'openai',
    model: 'gpt-4o',
  })
  await store.limits.set({ provider: 'openai', model: 'gpt-4o', tokens: 90_000 })

  await store.append('rewound', chat(4))
  const point = (await store.getMessages('rewound'))[5]!.id
  await store.rewind('rewound', { from: { beforeMessage: point }, operationId: 'once', reason: 'said wrong' })
  await store.append('branched', chat(2))
  await store.rewind('branched', { from: 'end', operationId: 'again', append: [say('user', 'instead')] })

  await store.append('background', chat(20, 200))
  await store.jobs.start('background', { targetTokens: 2_000, keepRecentTokens: 500 })
  await store.jobs.whenIdle('background')

  await store.append('gone', chat(3))
  await store.sessions.purge('gone', { actor: 'anna', reason: 'asked to' })
}

/** What every later version must find in the file. */
export async function standing(store: Store): Promise<unknown> {
  const sessions = []
  for (const id of KEPT) {
    const { title, owner, metadata, messageCount, archivedAt } = await store.sessions.get(id)
    const messages = (await store.getMessages(id)).map(({ id, position, role, content, createdAt }) => ({
      ...{ id, position, role, content: digest(content), createdAt },
    }))
    const compactions = (await store.listCompactions(id)).map(
      ({ id, runId, kind, status, trigger, rowsHidden, rowsInserted, createdAt }) => ({
        ...{ id, runId, kind, status, trigger, rowsHidden, rowsInserted, createdAt },
      }),
    )
    const audit = (await store.sessions.audit(id)).map(({ event, compactionId }) => ({ event, compactionId }))
    const jobs = (await store.jobs.list(id)).map(({ id, state }) => ({ id, state }))
    const session = { id, title, owner, metadata, messageCount, archivedAt }
    sessions.push({ session, messages, compactions, audit, jobs })
  }
  const limits = (await store.limits.list()).map(({ model, tokens }) => ({ model, tokens }))
  const usage = (await store.requests.usage('replaced')).total.inputTokens
  return JSON.parse(JSON.stringify({ sessions, limits, usage, views: await views(store) }))
}

/** The views after each undo, newest compaction first, and after each redo, oldest first. */
export async function turned(store: Store): Promise<unknown> {
  const seen: unknown[] = []
  for (const id of TURNED) {
    const active = (await store.listCompactions(id)).filter(({ status }) => status === 'active')
    for (const compaction of active.toReversed()) {
      await store.undoCompaction(id, compaction.id)
      seen.push(await view(store, id))
    }
    for (const compaction of active) {
      await store.redoCompaction(id, compaction.id)
      seen.push(await view(store, id))
    }
  }
  return JSON.parse(JSON.stringify(seen))
}

async function views(store: Store): Promise<unknown[]> {
  const all: unknown[] = []
  for (const id of KEPT) all.push(await view(store, id))
  return all
}

async function view(store: Store, id: string): Promise<unknown> {
  return (await store.getEffectiveHistory(id)).map(({ id, role, content }) =>
    [id, role, digest(content)].join(' '),
  )
}

/** Contents are compared byte for byte, and are too long to be kept each time. */
function digest(content: unknown): string {
  return createHash('sha256').update(JSON.stringify(content)).digest('base64url').slice(0, 16)
}
