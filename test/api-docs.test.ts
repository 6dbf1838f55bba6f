import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { isUndertextError, type NewMessage, openStore, STORE_EVENTS, Store } from '../src/index.ts'
import { say } from './support/conversation.ts'

/* What docs/api.md says of the methods of a store, compared with the class. */

const page = readFileSync(join(import.meta.dirname, '..', 'docs', 'api.md'), 'utf8')
const METHODS = Object.getOwnPropertyNames(Store.prototype).filter((name) => name !== 'constructor')

/** Every name in backticks in the first column of a table, without its arguments. */
const listed = page
  .split('\n')
  .filter((line) => line.startsWith('| `'))
  .flatMap((line) => [...line.split(' | ')[0]!.matchAll(/`(\w+)/g)].map(([, name]) => name!))

describe('docs/api.md', () => {
  it('lists every method of a store, once', () => {
    const functions = ['openStore', 'resolveModelProfile']
    expect(listed.toSorted()).toEqual([...METHODS, ...functions].toSorted())
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
  getSession: [],
  countMessages: [],
  updateSession: [{ title: 'x' }],
  archiveSession: [],
  forkSession: [{ id: 'fork' }],
  bringBack: [{ text: 'so' }],
  listForks: [],
  purgeSession: [],
  getConfig: [],
  verifySession: [],
  reestimate: [],
  append: [MORE],
  getMessages: [],
  getEffectiveHistory: [],
  getMoment: [{ audit: 1 }],
  diffViews: [{ audit: 1 }],
  renderHistory: [{ provider: 'openai' }],
  getToolOutput: ['call'],
  listToolCalls: [],
  expand: ['summary'],
  getSources: ['summary'],
  pin: [['message']],
  unpin: [['message']],
  getImportance: [],
  rewind: [{ from: 'start' }],
  'rewind with messages': [{ from: 'start', append: MORE }],
  getContextStats: [],
  needsCompaction: [],
  recordUsage: [{ inputTokens: 5 }],
  getUsage: [],
  recordOverflow: ['prompt is too long: 900 tokens > 800 maximum'],
  previewCompaction: [],
  compactSession: [],
  hideMessages: [['message']],
  recordProviderCompaction: [],
  listCompactions: [],
  getCompaction: ['compaction'],
  getAuditLog: [],
  undoCompaction: ['compaction'],
  redoCompaction: ['compaction'],
  undoIfFits: [],
  compactInBackground: [],
  listJobs: [],
  whenIdle: [],
  cancel: [],
  prepareRequest: [{ prompt: 'now' }],
  recordResponse: [{ messages: MORE }],
  recordAnswer: ['request', [1, 1]],
  listRequests: [],
  getRequest: ['request'],
  withOverflowRecovery: [() => 1, { prompt: 'now' }],
  beforeTurn: [],
  afterTurn: [],
  'afterTurn with messages': [{ messages: MORE }],
  importSession: [[{ type: 'message', message: say('user', 'x') }], { source: 'elsewhere' }],
  exportSession: [],
}

/** Methods of the store as a whole, of jobs, notes and events, and those that take the records of a session. */
const WITHOUT_A_SESSION = [
  ...['createSession', 'listSessions', 'newestSession', 'restoreSession', 'search', 'close'],
  ...['learnLimit', 'listLimits', 'forgetLimit', 'getJob', 'remember', 'recall', 'forget'],
  ...['on', 'once', 'off', 'onBeforeCompaction'],
]

/** The names in a piece of the page. */
function namesBetween(start: string, next: string): string[] {
  const at = page.indexOf(start)
  expect(at, start).toBeGreaterThan(0)
  const end = page.indexOf(next, at)
  return [...page.slice(at, end).matchAll(/`(\w+)/g)].map(([, name]) => name!)
}

describe('a session that does not exist', () => {
  it('is tried with every method that takes its id', () => {
    const tried = Object.keys(ARGUMENTS).filter((name) => !name.includes(' '))
    expect([...tried, ...WITHOUT_A_SESSION].toSorted()).toEqual(METHODS.toSorted())
  })

  it('has with each method the outcome that docs/api.md states', async () => {
    const outcomes = { refused: [] as string[], created: [] as string[], empty: [] as string[] }
    for (const [name, rest] of Object.entries(ARGUMENTS)) {
      await using store = await openStore(':memory:')
      const method = (store as unknown as Record<string, (...input: unknown[]) => unknown>)[
        name.split(' ')[0]!
      ]!
      const outcome = await (async () => {
        try {
          const returned = await method.call(store, 'unknown', ...rest)
          if (name === 'exportSession') for await (const _ of returned as AsyncIterable<unknown>);
          const sessions = await store.listSessions()
          return sessions.length > 0 ? 'created' : 'empty'
        } catch (error) {
          if (isUndertextError(error) && error.code === 'SESSION_NOT_FOUND') return 'refused'
          throw error
        }
      })()
      outcomes[outcome as 'refused'].push(name)
    }
    const withMessages = namesBetween('`rewind` and', 'do so too').map((name) => `${name} with messages`)
    const created = [...namesBetween('Create the session', '. '), ...withMessages]
    expect(outcomes.created.toSorted()).toEqual(created.toSorted())
    const empty = namesBetween('Do not need the session', '\n\n')
      .filter((name) => name in ARGUMENTS)
      .toSorted()
    expect(outcomes.empty.toSorted()).toEqual(empty)
    expect(outcomes.refused).toHaveLength(
      Object.keys(ARGUMENTS).length - outcomes.created.length - outcomes.empty.length,
    )
  })
})
