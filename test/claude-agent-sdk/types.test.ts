import {
  foldSessionSummary,
  InMemorySessionStore,
  type Options,
  type SessionStore,
  type SessionStoreEntry as TheirEntry,
  type SessionKey as TheirKey,
  type SessionSummaryEntry as TheirSummary,
} from '@anthropic-ai/claude-agent-sdk'
import { expect, it } from 'vitest'
import {
  type FoldSessionSummary,
  type SessionKey,
  type SessionStoreEntry,
  type SessionSummaryEntry,
  undertextSessionStore,
} from '../../src/adapters/claude-agent-sdk/index.ts'
import { openStore } from '../../src/index.ts'

it("has the SDK's forms, both ways", async () => {
  const store = await openStore(':memory:')
  const ours: Required<SessionStore> = undertextSessionStore({ store })
  const options: Options = { sessionStore: ours }
  const fold: FoldSessionSummary = foldSessionSummary
  const theirs = { type: 'x' } as TheirEntry
  const entry: SessionStoreEntry = theirs
  const entryBack: TheirEntry = entry
  const key: SessionKey = { projectKey: 'p', sessionId: 's' } as TheirKey
  const keyBack: TheirKey = key
  const summary: SessionSummaryEntry = { sessionId: 's', mtime: 1, data: {} } as TheirSummary
  const summaryBack: TheirSummary = summary

  expect([entryBack, keyBack, summaryBack].every(Boolean)).toBe(true)
  expect(fold).toBeTypeOf('function')
  // Nothing the SDK's own store answers to is missing here.
  const verbs = Object.getOwnPropertyNames(InMemorySessionStore.prototype)
  const helpers = ['constructor', 'keyToString', 'getEntries', 'size', 'clear']
  for (const verb of verbs.filter((name) => !helpers.includes(name)))
    expect((options.sessionStore as unknown as Record<string, unknown>)[verb]).toBeTypeOf('function')
  await store.close()
})
