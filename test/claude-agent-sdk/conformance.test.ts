import { InMemorySessionStore, type SessionStore } from '@anthropic-ai/claude-agent-sdk'
import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import {
  type SessionKey,
  type SessionStoreEntry,
  undertextSessionStore,
} from '../../src/adapters/claude-agent-sdk/index.ts'
import { canonicalJson } from '../../src/core/messages/json.ts'
import { openStore } from '../../src/index.ts'
import { anyEntry, beside, turn } from './entries.ts'

/*
 * The SDK publishes no kit for stores. It publishes a store of its own, so the same calls go to that one and to ours, and the
 * answers must be the same. The two differ where the contract leaves it open, and the calls keep clear of that: the SDK's own
 * does not leave out entries whose uuid it has, and remembers a session that was given no entry.
 */

const stores = [await openStore(':memory:')]
afterAll(() => Promise.all(stores.map((store) => store.close())))

const MAIN = { projectKey: 'project', sessionId: 'one' }
const OTHER = { projectKey: 'project', sessionId: 'two' }
const ELSEWHERE = { projectKey: 'elsewhere', sessionId: 'one' }
const AGENT = { ...MAIN, subpath: 'subagents/agent-a' }
const DEEP = { ...MAIN, subpath: 'subagents/workflows/w/agent-b' }
const LIKE = { projectKey: 'project', sessionId: 'on' }

type Full = Required<SessionStore>

/** Everything a store answers about these keys, times left out, in an order of its own. */
async function answersOf(store: Full, keys: readonly SessionKey[]): Promise<unknown> {
  const projects = [...new Set(keys.map(({ projectKey }) => projectKey))]
  return {
    loaded: await Promise.all(keys.map(async (key) => canonicalJson(await store.load(key)))),
    listed: await Promise.all(
      projects.map(async (project) =>
        (await store.listSessions(project)).map(({ sessionId }) => sessionId).sort(),
      ),
    ),
    summaries: await Promise.all(
      projects.map(async (project) =>
        (await store.listSessionSummaries(project))
          .map(({ sessionId, data }) => canonicalJson({ sessionId, data }))
          .sort(),
      ),
    ),
    subkeys: await Promise.all(
      keys.map(async ({ projectKey, sessionId }) =>
        (await store.listSubkeys({ projectKey, sessionId })).sort(),
      ),
    ),
  }
}

type Call = readonly ['append', SessionKey, SessionStoreEntry[]] | readonly ['delete', SessionKey]

async function sameAfter(calls: readonly Call[], keys: readonly SessionKey[]): Promise<void> {
  const store = await openStore(':memory:')
  const [theirs, ours]: readonly Full[] = [new InMemorySessionStore(), undertextSessionStore({ store })]
  try {
    for (const call of calls)
      for (const one of [theirs!, ours!])
        await (call[0] === 'append' ? one.append(call[1], structuredClone(call[2])) : one.delete(call[1]))
    expect(await answersOf(ours!, keys)).toEqual(await answersOf(theirs!, keys))
    // Asked again: what was kept of the first answer gives the same.
    expect(await answersOf(ours!, keys)).toEqual(await answersOf(theirs!, keys))
    for (const { id } of await store.sessions.list({ limit: 100 }))
      expect((await store.sessions.verify(id)).findings).toEqual([])
  } finally {
    await store.close()
  }
}

const KEYS = [MAIN, OTHER, ELSEWHERE, AGENT, DEEP, LIKE]

describe("returns what the SDK's own store returns", () => {
  it.each<[string, Call[]]>([
    ['to nothing', []],
    ['to a session', [['append', MAIN, turn()]]],
    [
      'to batches',
      [
        ['append', MAIN, turn()],
        ['append', MAIN, turn('toolu_2')],
        ['append', MAIN, [beside.title]],
      ],
    ],
    [
      'to sessions of a project, and of another',
      [
        ['append', MAIN, turn()],
        ['append', OTHER, [beside.title]],
        ['append', LIKE, [beside.summary]],
        ['append', ELSEWHERE, turn()],
      ],
    ],
    [
      'to subagents',
      [
        ['append', MAIN, turn()],
        ['append', AGENT, turn()],
        ['append', DEEP, [{ type: 'agent_metadata', agentType: 'Explore' }]],
      ],
    ],
    ['to a subagent without its session', [['append', AGENT, turn()]]],
    [
      'to the same entry without uuid twice',
      [
        ['append', MAIN, [beside.title, beside.title]],
        ['append', MAIN, [beside.title]],
      ],
    ],
    [
      'to deletions of what was never there',
      [
        ['delete', MAIN],
        ['delete', AGENT],
      ],
    ],
    [
      'to a deletion with subagents',
      [
        ['append', MAIN, turn()],
        ['append', AGENT, turn()],
        ['append', OTHER, turn()],
        ['append', LIKE, turn()],
        ['delete', MAIN],
      ],
    ],
    [
      'to a deletion of a subagent',
      [
        ['append', MAIN, turn()],
        ['append', AGENT, turn()],
        ['append', DEEP, turn()],
        ['delete', AGENT],
      ],
    ],
    [
      'to a session after its deletion',
      [
        ['append', MAIN, turn()],
        ['delete', MAIN],
        ['append', MAIN, [beside.title]],
        ['append', AGENT, turn()],
        ['delete', MAIN],
        ['delete', MAIN],
        ['append', MAIN, [beside.summary]],
      ],
    ],
    [
      'to a tag that is taken off',
      [
        ['append', MAIN, [{ type: 'tag', tag: 'kept', sessionId: 'one' }]],
        ['append', MAIN, [{ type: 'tag', tag: '', sessionId: 'one' }]],
      ],
    ],
  ])('%s', (_, calls) => sameAfter(calls, KEYS))

  it('to entries that came before a deletion and come again', async () => {
    const entries = turn()
    await sameAfter(
      [
        ['append', MAIN, entries],
        ['delete', MAIN],
        ['append', MAIN, entries],
      ],
      KEYS,
    )
  })

  it('after any calls', async () => {
    const key = fc.constantFrom(...KEYS)
    const withoutUuid = anyEntry.map(({ uuid: _, ...entry }) => entry as SessionStoreEntry)
    const call: fc.Arbitrary<Call> = fc.oneof(
      {
        weight: 3,
        arbitrary: fc.tuple(
          fc.constant('append' as const),
          key,
          fc.array(withoutUuid, { minLength: 1, maxLength: 4 }),
        ),
      },
      { weight: 1, arbitrary: fc.tuple(fc.constant('delete' as const), key) },
    )
    await fc.assert(
      fc.asyncProperty(fc.array(call, { maxLength: 12 }), (calls) => sameAfter(calls, KEYS)),
      { numRuns: Number(process.env.LONG === '1' ? 1_000 : 60) },
    )
  })

  it('to keys of any text', async () => {
    const any = fc.string({ unit: 'binary', maxLength: 12 })
    // The SDK's own joins the pieces with slashes, and takes others for the same then.
    const piece = any.map((text) => `x${text.replaceAll('/', '')}`)
    const keys = fc.array(
      fc.record(
        { projectKey: piece, sessionId: piece, subpath: piece },
        { requiredKeys: ['projectKey', 'sessionId'] },
      ),
      { minLength: 1, maxLength: 4 },
    )
    await fc.assert(
      fc.asyncProperty(keys, (keys) =>
        sameAfter(
          keys.map((key, i) => ['append', key, [{ type: 'tag', tag: `${i}` }]] as const),
          keys,
        ),
      ),
      { numRuns: 40 },
    )
  })
})
