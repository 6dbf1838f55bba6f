import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { isUndertextError, type NewMessage, openStore } from '../src/index.ts'
import { STORE_EVENTS } from '../src/store/events.ts'
import { say } from './support/conversation.ts'
import { holderOf, STORE_METHODS } from './support/methods.ts'

/* What docs/api.md says of the methods of a store, compared with the class. */

const page = readFileSync(join(import.meta.dirname, '..', 'docs', 'api.md'), 'utf8')

/** Every name in backticks in the first column of a table, without its arguments; test/entries.test.ts has the last section. */
const listed = page
  .split('\n## Names\n')[0]!
  .split('\n')
  .filter((line) => line.startsWith('| `'))
  .flatMap((line) => [...line.split(' | ')[0]!.matchAll(/`([\w.]+)/g)].map(([, name]) => name!))

describe('docs/api.md', () => {
  it('lists every method of a store, once', () => {
    const functions = ['openStore', 'resolveModelProfile']
    expect(listed.toSorted()).toEqual([...STORE_METHODS, ...functions].toSorted())
  })

  it('lists every event', () => {
    const line = page.split('\n').find((one) => one.startsWith('| `on`'))!
    const events = /Events \(([^)]*)\)/.exec(line)![1]!
    expect(events.split(', ').map((name) => name.slice(1, -1))).toEqual(STORE_EVENTS)
  })
})

const MORE: readonly NewMessage[] = [say('assistant', 'more')]

/** The arguments after the id of a session, for the methods that take one first. After a space: what is special about them. */
const ARGUMENTS: Record<string, readonly unknown[]> = {
  'sessions.get': [],
  'sessions.update': [{ title: 'x' }],
  'sessions.archive': [],
  'sessions.fork': [{ id: 'fork' }],
  'sessions.bringBack': [{ text: 'so' }],
  'sessions.forks': [],
  'sessions.purge': [],
  'sessions.config': [],
  'sessions.verify': [],
  'sessions.reestimate': [],
  append: [MORE],
  getMessages: [],
  getEffectiveHistory: [],
  'messages.moment': [{ audit: 1 }],
  'messages.diff': [{ audit: 1 }],
  'messages.timeline': [],
  renderHistory: [{ provider: 'openai' }],
  'messages.toolOutput': ['call'],
  'messages.toolCalls': [],
  'messages.expand': ['summary'],
  'messages.expand flat': ['summary', { flat: true }],
  'messages.pin': [['message']],
  'messages.unpin': [['message']],
  'messages.importance': [],
  rewind: [{ from: 'start' }],
  'rewind with messages': [{ from: 'start', append: MORE }],
  getContextStats: [],
  needsCompaction: [],
  'requests.recordUsage': [{ inputTokens: 5 }],
  'requests.usage': [],
  'limits.learn': ['prompt is too long: 900 tokens > 800 maximum'],
  previewCompaction: [],
  compactSession: [],
  'compactions.hide': [['message']],
  'compactions.recordProvider': [],
  listCompactions: [],
  'compactions.get': ['compaction'],
  'sessions.audit': [],
  'sessions.activeTurn': [],
  undoCompaction: ['compaction'],
  redoCompaction: ['compaction'],
  'undoCompaction that fits': [{ ifFits: {} }],
  'jobs.start': [],
  'jobs.list': [],
  'jobs.whenIdle': [],
  prepareRequest: [{ prompt: 'now' }],
  beginTurn: [{ waitMs: 0 }],
  recordResponse: [{ messages: MORE }],
  'requests.recordAnswer': ['request', [1, 1]],
  'requests.list': [],
  'requests.get': ['request'],
  'requests.compare': ['request'],
  withOverflowRecovery: [() => 1, { prompt: 'now' }],
  'sessions.export': [],
}

/** Methods of the store as a whole, of jobs, notes and events, and those that take the records of a session. */
const WITHOUT_A_SESSION = [
  ...['sessions.create', 'sessions.list', 'sessions.import', 'search', 'close', 'jobs.get', 'jobs.cancel'],
  ...[
    'requests.costs',
    'limits.set',
    'limits.list',
    'limits.forget',
    'notes.add',
    'notes.list',
    'notes.forget',
  ],
  ...['on', 'once', 'off', 'compactions.onBefore', 'backup', 'forOwner'],
  ...['privacy.eraseOwner', 'privacy.purgeText', 'privacy.applyRetention', 'privacy.scan'],
]

/** The names in a piece of the page. */
function namesBetween(start: string, next: string): string[] {
  const at = page.indexOf(start)
  expect(at, start).toBeGreaterThan(0)
  const end = page.indexOf(next, at)
  return [...page.slice(at, end).matchAll(/`([\w.]+)/g)].map(([, name]) => name!)
}

describe('a session that does not exist', () => {
  it('is tried with every method that takes its id', () => {
    const tried = Object.keys(ARGUMENTS).filter((name) => !name.includes(' '))
    expect([...tried, ...WITHOUT_A_SESSION].toSorted()).toEqual(STORE_METHODS.toSorted())
  })

  it('has with each method the outcome that docs/api.md states', async () => {
    const outcomes = { refused: [] as string[], created: [] as string[], empty: [] as string[] }
    for (const [name, rest] of Object.entries(ARGUMENTS)) {
      await using store = await openStore(':memory:')
      const [holder, own] = holderOf(store, name.split(' ')[0]!)
      const method = (holder as Record<string, (...input: unknown[]) => unknown>)[own]!
      const outcome = await (async () => {
        try {
          const returned = await method.call(holder, 'unknown', ...rest)
          if (name === 'sessions.export') for await (const _ of returned as AsyncIterable<unknown>);
          const sessions = await store.sessions.list()
          return sessions.length > 0 ? 'created' : 'empty'
        } catch (error) {
          if (isUndertextError(error) && error.code === 'SESSION_NOT_FOUND') return 'refused'
          throw error
        }
      })()
      outcomes[outcome as 'refused'].push(name)
    }
    const created = [...namesBetween('with these exceptions', ' create the session'), 'rewind with messages']
    expect(outcomes.created.toSorted()).toEqual(created.toSorted())
    const empty = namesBetween('when it receives messages', '\n\n')
      .filter((name) => name in ARGUMENTS)
      .toSorted()
    expect(outcomes.empty.toSorted()).toEqual(empty)
    expect(outcomes.refused).toHaveLength(
      Object.keys(ARGUMENTS).length - outcomes.created.length - outcomes.empty.length,
    )
  })
})
