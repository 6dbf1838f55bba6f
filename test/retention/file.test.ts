import { readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { isSubagent } from '../../src/core/retention/subagent.ts'
import { openStore, type Store } from '../../src/index.ts'
import { call, result, say, units } from '../support/conversation.ts'
import { newFile } from '../support/temporary.ts'
import { CANARY, fill, tomorrow } from './support.ts'

/* Retention in a file of SQLite: what is left in it, its size, and what others see of it. */

let file: string
let store: Store
beforeEach(async () => {
  file = newFile()
  store = await openStore(file, { durability: 'normal' })
})
afterEach(() => store.close())

const OLD = { olderThanDays: 1 }

function readable(): string[] {
  const folder = dirname(file)
  return readdirSync(folder).filter((name) => readFileSync(join(folder, name)).includes(CANARY))
}

test('nothing of what was removed is in a file once the files are cleared', async () => {
  await fill(store, 3, 12, 1)
  // The last turn of each is visible.
  const rules = { toolOutputs: { ...OLD, visible: true }, archived: OLD }
  await store.search(CANARY)
  expect(readable()).not.toEqual([])
  const report = await store.privacy.applyRetention({ rules, now: tomorrow(), clearFiles: true })
  expect(report).toMatchObject({
    content: { toolOutputs: { parts: 24 } },
    archived: { sessions: 1, messages: 48 },
  })
  expect(report).not.toHaveProperty('filesCleared')
  expect(readable()).toEqual([])
  expect((await store.search(CANARY)).hits).toEqual([])
})

test('without that, neither opening nor closing rewrites the files, and the next purge clears them', async () => {
  await fill(store, 1, 6, 0)
  const rules = { toolOutputs: { ...OLD, visible: true } }
  expect(await store.privacy.applyRetention({ rules, now: tomorrow() })).toMatchObject({
    filesCleared: false,
  })
  const pages = (): unknown => statSync(file).size
  await store.close()
  const size = pages()
  store = await openStore(file, { durability: 'normal' })
  expect(pages()).toBe(size)
  await store.append('other', [say('user', 'on')])
  expect(await store.sessions.purge('other')).not.toHaveProperty('filesCleared')
  expect(readable()).toEqual([])
})

test('a file that returns space is smaller afterwards, without being rewritten', async () => {
  const path = newFile()
  await using own = await openStore(path, { durability: 'normal', returnsSpace: true })
  await fill(own, 4, 60, 2)
  const pages = (): number[] => {
    const database = new BetterSqlite3(path, { readonly: true })
    const found = ['page_count', 'freelist_count'].map(
      (name) => database.pragma(name, { simple: true }) as number,
    )
    database.close()
    return found
  }
  const [before] = pages()
  await own.privacy.applyRetention({ rules: { hidden: OLD, archived: OLD }, now: tomorrow() })
  const [after, free] = pages()
  expect(free).toBe(0)
  expect(after).toBeLessThan(before! / 2)
  for (const { id } of await own.sessions.list()) expect((await own.sessions.verify(id)).findings).toEqual([])
  await own.append('s', [say('user', 'on')])
})

test('an older file returns space from the first time on that it is cleared', async () => {
  await fill(store, 2, 30, 0)
  await store.close()
  const size = statSync(file).size
  const again = await openStore(file, { durability: 'normal', returnsSpace: true })
  await again.privacy.applyRetention({ rules: { hidden: OLD }, now: tomorrow(), clearFiles: true })
  await again.close()
  const database = new BetterSqlite3(file, { readonly: true })
  expect(database.pragma('auto_vacuum', { simple: true })).toBe(2)
  database.close()
  expect(statSync(file).size).toBeLessThan(size)
})

test('a rewind that would show removed content is rejected; one that hides it again is not', async () => {
  await fill(store, 1, 4, 0)
  await store.append('session-0', [say('user', 'on'), say('assistant', 'done')])
  await store.privacy.applyRetention({ rules: { hidden: OLD }, now: tomorrow() })
  const view = await store.getEffectiveHistory('session-0')
  const beforeTheEnd = { from: { beforeMessage: 14 } }
  await expect(store.rewind('session-0', beforeTheEnd)).rejects.toMatchObject({
    code: 'CONTENT_RETIRED',
    facts: { messages: 12, parts: 12 },
  })
  expect(await store.getEffectiveHistory('session-0')).toEqual(view)
  const kept = await store.rewind('session-0', { ...beforeTheEnd, keepCompactions: true })
  await store.undoCompaction('session-0', kept.compactionId!)
  expect(await store.getEffectiveHistory('session-0')).toEqual(view)
  await store.rewind('session-0', { from: 'start' })
  expect(await store.getEffectiveHistory('session-0')).toEqual([])
  expect((await store.sessions.verify('session-0')).findings).toEqual([])
})

test('an undo as far as it fits stops before a compaction of which something was removed', async () => {
  await fill(store, 1, 4, 0)
  const [first] = await store.listCompactions('session-0')
  await store.privacy.applyRetention({ rules: { hidden: OLD }, now: tomorrow() })
  const undone = await store.undoCompaction('session-0', { ifFits: { provider: 'openai', model: 'gpt-4o' } })
  expect(undone).toMatchObject({ changed: false, blocked: [first!.id] })
})

test('what was shown as removed before a compaction may be shown so again', async () => {
  const thought = { type: 'reasoning', text: units(100) } as const
  await store.append('s', [
    say('user', 'go'),
    { role: 'assistant', content: [thought, { type: 'text', text: 'so' }] },
    say('user', 'on'),
    say('assistant', 'done'),
  ])
  await store.privacy.applyRetention({
    rules: { reasoning: { ...OLD, visible: true } },
    now: Date.now() - 1,
    dryRun: true,
  })
  const rules = { reasoning: { olderThanDays: 0, visible: true } }
  await store.privacy.applyRetention({ rules })
  const before = await store.getEffectiveHistory('s')
  await new Promise((resolve) => setTimeout(resolve, 5))
  const done = await store.compactSession('s', { range: { from: 1, to: 2 }, summary: 'So.' })
  await store.undoCompaction('s', done!.compactions[0]!.id)
  expect(await store.getEffectiveHistory('s')).toEqual(before)
})

test('a plan that was made before something it changes was removed is stale', async () => {
  await store.append('s', [
    say('user', 'go'),
    call('c1', 'read', { path: 'a.ts' }),
    result('c1', units(2_000)),
    say('assistant', 'so'),
    say('user', 'on'),
    say('assistant', 'done'),
  ])
  const preview = await store.previewCompaction('s', {
    ...{ enableDeduplicate: false, enableSummarize: false, enableTruncate: false, targetTokens: 0 },
    ...{ pruneProtectTokens: 0, pruneMinimumSavings: 0 },
  })
  await store.privacy.applyRetention({ rules: { toolOutputs: { ...OLD, visible: true } }, now: tomorrow() })
  await expect(store.compactSession('s', preview!)).rejects.toMatchObject({ code: 'STALE_PLAN' })
  expect((await store.sessions.verify('s')).findings).toEqual([])
})

test('a repeated append is recognized although its content was removed', async () => {
  const message = { ...say('user', 'once'), idempotencyKey: 'k' }
  await store.append('s', [message, say('assistant', units(100))])
  await store.compactSession('s', { range: { from: 1, to: 2 }, summary: 'So.' })
  await store.privacy.applyRetention({ rules: { hidden: OLD }, now: tomorrow() })
  expect((await store.append('s', [message])).messages).toMatchObject([{ position: 1, existing: true }])
})

test('aborted, it returns after the step under way; aborted before, it throws', async () => {
  await fill(store, 2, 40, 0)
  const abort = new AbortController()
  const running = store.privacy.applyRetention({
    rules: { hidden: OLD },
    now: tomorrow(),
    signal: abort.signal,
  })
  abort.abort()
  const report = await running
  expect(report).toMatchObject({ isComplete: false, content: { hidden: { sessions: 1 } } })
  await expect(store.privacy.applyRetention({ signal: abort.signal })).rejects.toMatchObject({
    code: 'ABORTED',
  })
})

test('wrong options write nothing', async () => {
  await fill(store, 1, 2, 0)
  const wrong: readonly (readonly [unknown, string])[] = [
    [{ rules: { toolOutput: OLD } }, 'rules: Unrecognized key: "toolOutput"'],
    [{ rules: { toolOutputs: {} } }, 'rules.toolOutputs: must have olderThanDays or largerThanBytes'],
    [{ rules: { toolOutputs: { olderThanDays: -1 } } }, 'rules.toolOutputs.olderThanDays: Too small'],
    [{ rules: { toolOutputs: [OLD, { age: 1 }] } }, 'rules.toolOutputs[1]: Unrecognized key: "age"'],
    [{ rules: { hidden: { ...OLD, visible: true } } }, 'rules.hidden: Unrecognized key: "visible"'],
    [{ rules: true }, 'rules: must be rules by class, or false'],
    [{ cursor: 'x' }, 'cursor must be one that a result of this method has'],
    [{ owner: 'a', sessions: ['b'] }, 'sessions: cannot be combined with owner'],
    [{ limit: 1 }, 'Unrecognized key: "limit"'],
  ]
  for (const [options, problem] of wrong)
    await expect(store.privacy.applyRetention(options as never)).rejects.toMatchObject({
      code: 'INVALID_INPUT',
      message: expect.stringContaining(problem),
    })
  await expect(store.privacy.applyRetention({ sessions: ['none'] })).rejects.toMatchObject({
    code: 'SESSION_NOT_FOUND',
  })
  await expect(store.sessions.create({ config: { retention: { hidden: {} } } })).rejects.toMatchObject({
    code: 'INVALID_INPUT',
  })
})

test('it applies to the sessions of an owner, or to those that are named', async () => {
  for (const id of ['a', 'b', 'c']) {
    await store.sessions.create({ id, owner: id === 'a' ? 'ann' : 'bob' })
    await store.sessions.archive(id)
  }
  const rules = { archived: OLD }
  const now = tomorrow()
  expect(await store.privacy.applyRetention({ rules, now, owner: 'ann' })).toMatchObject({
    sessions: 1,
    archived: { sessions: 1 },
  })
  expect(await store.privacy.applyRetention({ rules, now, sessions: ['b'] })).toMatchObject({
    archived: { sessions: 1 },
  })
  expect((await store.sessions.list({ archived: true })).map(({ id }) => id)).toEqual(['c'])
})

test.each([
  [{ undertext: { subagentOf: 'a' } }, true],
  [{ 'claude-code': { sessionId: 'a', agentId: 'b' } }, true],
  [{ 'claude-code': { sessionId: 'a' } }, false],
  [{ 'claude-agent-sdk': { key: { projectKey: 'p', sessionId: 'a', subpath: 'subagents/b' } } }, true],
  [{ 'claude-agent-sdk': { key: { projectKey: 'p', sessionId: 'a' } } }, false],
  [{ undertext: { subagentOf: null } }, false],
  [undefined, false],
])('the metadata %j is that of a subagent: %s', (metadata, expected) => {
  expect(isSubagent(metadata as never)).toBe(expected)
})
