import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { transcriptOf } from '../../src/adapters/claude-agent-sdk/entry.ts'
import {
  type SessionStoreEntry,
  type UndertextSessionStore,
  undertextSessionStore,
} from '../../src/adapters/claude-agent-sdk/index.ts'
import { canonicalJson } from '../../src/core/messages/json.ts'
import { openStore, type Store, validateHistory } from '../../src/index.ts'
import { newFolder } from '../support/temporary.ts'
import { anyEntry, asks, beside, nextUuid, says, turn } from './entries.ts'

const MAIN = { projectKey: 'project', sessionId: 'one' }
const AGENT = { ...MAIN, subpath: 'subagents/agent-a' }
const { id: SESSION_ID } = transcriptOf(MAIN)

let folder: string
let store: Store
let transcripts: UndertextSessionStore
beforeEach(async () => {
  folder = newFolder()
  store = await openStore(join(folder, 'chats.db'))
  transcripts = undertextSessionStore({ store })
})
afterEach(async () => {
  await store.close()
})

const listed = async (): Promise<string[]> =>
  (await transcripts.listSessions('project')).map(({ sessionId }) => sessionId)

describe('append', () => {
  it('round-trips any entries exactly, in order, after a restart', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(anyEntry, { minLength: 1, maxLength: 8 }),
        fc.uuid(),
        async (entries, sessionId) => {
          const key = { projectKey: 'any', sessionId }
          await transcripts.append(key, entries)
          const seen = new Set<unknown>()
          const once = entries.filter(({ uuid }) => {
            if (typeof uuid !== 'string' || uuid === '') return true
            return !seen.has(uuid) && seen.add(uuid)
          })
          expect(canonicalJson(await transcripts.load(key))).toBe(canonicalJson(once))
        },
      ),
      { numRuns: 60 },
    )
    await transcripts.append(MAIN, turn())
    const before = await transcripts.load(MAIN)
    await store.close()
    store = await openStore(join(folder, 'chats.db'))
    expect(await undertextSessionStore({ store }).load(MAIN)).toStrictEqual(before)
  })

  it('stores provider and model of the first answer, and not the name of a synthetic one', async () => {
    const names = async (): Promise<unknown> => {
      const { provider, model = null } = await store.sessions.get(SESSION_ID)
      return { provider, model }
    }
    await transcripts.append(MAIN, [
      asks('Hi'),
      { ...says('Stopped.'), message: { role: 'assistant', model: '<synthetic>', content: [] } },
    ])
    expect(await names()).toEqual({ provider: 'anthropic', model: null })
    await transcripts.append(MAIN, [says('Hello.')])
    expect(await names()).toEqual({ provider: 'anthropic', model: 'claude-sonnet-4-5' })
  })

  it('takes an entry of ten megabytes', async () => {
    const entry = asks('x'.repeat(10_000_000), { toolUseResult: 'y\0'.repeat(100_000) })
    await transcripts.append(MAIN, [entry])
    expect(await transcripts.load(MAIN)).toStrictEqual([entry])
  })

  it('omits an entry whose uuid is stored, with any content', async () => {
    const [first, second, third] = [asks('one'), says('two'), asks('three')]
    await transcripts.append(MAIN, [first, second])
    await transcripts.append(MAIN, [
      first,
      { ...second, requestId: 'another' },
      third,
      { ...third, cwd: '/other' },
    ])
    await transcripts.append(MAIN, [first, second, third])
    expect(await transcripts.load(MAIN)).toStrictEqual([first, second, third])
    expect((await store.sessions.get(SESSION_ID)).messageCount).toBe(3)
  })

  it('takes uuids of any text for what they are', async () => {
    const entries = ['a', 'a\0', '%', '%0061', 'x'.repeat(5_000), `${'x'.repeat(5_000)}y`, ''].map(
      (uuid) => ({ type: 'x', uuid }),
    )
    await transcripts.append(MAIN, entries)
    await transcripts.append(MAIN, entries)
    // An empty uuid names nothing.
    expect(await transcripts.load(MAIN)).toStrictEqual([...entries, entries.at(-1)])
  })

  it('keeps the order of calls that are not waited for', async () => {
    const entries = Array.from({ length: 40 }, (_, i) => asks(`${i}`))
    await Promise.all(entries.map((entry) => transcripts.append(MAIN, [entry])))
    expect(await transcripts.load(MAIN)).toStrictEqual(entries)
  })

  it('writes all of a batch or nothing of it', async () => {
    const bad = [asks('one'), { type: 'x', n: Number.NaN }, asks('three')]
    await expect(transcripts.append(MAIN, bad)).rejects.toMatchObject({
      code: 'INVALID_INPUT',
      facts: { problems: "entries[1]: contains a number that isn't finite in an object" },
    })
    await expect(transcripts.append({ projectKey: 'p' } as typeof MAIN, turn())).rejects.toMatchObject({
      code: 'INVALID_INPUT',
    })
    expect(await transcripts.load(MAIN)).toBeNull()
    expect(await store.sessions.list()).toEqual([])
  })

  it('writes nothing for an empty batch', async () => {
    await transcripts.append(MAIN, [])
    expect(await store.sessions.list()).toEqual([])
  })

  it('continues after a failed append', async () => {
    await store.close()
    await expect(transcripts.append(MAIN, turn())).rejects.toMatchObject({ code: 'STORE_CLOSED' })
    store = await openStore(join(folder, 'chats.db'))
    const again = undertextSessionStore({ store })
    const entries = turn()
    await again.append(MAIN, entries)
    expect(await again.load(MAIN)).toHaveLength(entries.length)
  })
})

describe('the view', () => {
  it('is the conversation, valid for the provider', async () => {
    await transcripts.append(MAIN, [...turn('toolu_1'), ...turn('toolu_2')])
    const { messages } = await store.renderHistory(SESSION_ID, { provider: 'anthropic' })
    expect(validateHistory(messages, 'anthropic')).toEqual([])
    expect(
      messages.map(({ role, content }) => [
        role,
        typeof content === 'string' ? content : content.map(({ type }) => type).join(),
      ]),
    ).toEqual([
      ['user', 'Read a.txt'],
      ['assistant', 'reasoning,text,tool-call'],
      ['tool', 'tool-result'],
      ['assistant', 'text'],
      ['user', 'Read a.txt'],
      ['assistant', 'reasoning,text,tool-call'],
      ['tool', 'tool-result'],
      ['assistant', 'text'],
    ])
    for (const provider of ['openai', 'mistral', 'google'])
      expect(
        validateHistory((await store.renderHistory(SESSION_ID, { provider })).messages, provider),
      ).toEqual([])
  })

  it('is counted, compacted and undone like any other, and the transcript stays whole', async () => {
    const entries = Array.from({ length: 30 }, () => [
      asks('word '.repeat(400)),
      beside.lastPrompt,
      says('word '.repeat(400)),
    ]).flat()
    await transcripts.append(MAIN, entries)
    const stats = await store.getContextStats(SESSION_ID, 'anthropic', 'claude-sonnet-4-5')
    // 60 messages of 2,000 characters, a token for about four of them.
    expect(stats!.estimatedInputTokens).toBeGreaterThan(25_000)
    const run = await store.compactSession(SESSION_ID, { targetTokens: 5_000, enableSummarize: false })
    expect(run!.compacted).toBe(true)
    expect((await store.sessions.get(SESSION_ID)).visibleCount).toBeLessThan(45)
    expect(await transcripts.load(MAIN)).toStrictEqual(entries)
    await transcripts.append(MAIN, entries.slice(0, 3))
    // Of those three only the one without uuid is new.
    expect(await transcripts.load(MAIN)).toStrictEqual([...entries, beside.lastPrompt])
    expect((await store.sessions.verify(SESSION_ID)).findings).toEqual([])
  })

  it('shows all of a transcript that Claude Code compacted: what was, and its summary', async () => {
    const summary = asks('This session is being continued: a file was read.', { isCompactSummary: true })
    await transcripts.append(MAIN, [...turn(), { ...beside.boundary, uuid: nextUuid() }, summary])
    const { messages } = await store.renderHistory(SESSION_ID, { provider: 'anthropic' })
    expect(messages[0]!.content).toBe('Read a.txt')
    expect(messages.at(-1)!.content).toBe('This session is being continued: a file was read.')
    expect(await transcripts.load(MAIN)).toHaveLength(turn().length + 2)
  })
})

describe('delete', () => {
  const entries = turn()
  beforeEach(async () => {
    await transcripts.append(MAIN, entries)
    await transcripts.append(AGENT, entries)
  })

  it('hides everything in compactions that can be undone', async () => {
    await undertextSessionStore({ store, actor: 'ada' }).delete(MAIN)
    expect([await transcripts.load(MAIN), await transcripts.load(AGENT), await listed()]).toEqual([
      null,
      null,
      [],
    ])
    expect(await store.getEffectiveHistory(SESSION_ID)).toEqual([])
    const [deletion, ...more] = await store.listCompactions(SESSION_ID)
    expect(more).toEqual([])
    expect(deletion).toMatchObject({
      kind: 'manual',
      status: 'active',
      actor: 'ada',
      params: { by: 'claude-agent-sdk', why: 'deleted' },
    })

    await store.undoCompaction(SESSION_ID, deletion!.id)
    expect(await transcripts.load(MAIN)).toStrictEqual(entries)
    await store.redoCompaction(SESSION_ID, deletion!.id)
    expect(await transcripts.load(MAIN)).toBeNull()
  })

  it('is undone together with what was deleted with it', async () => {
    expect(await transcripts.restore(MAIN)).toBe(false)
    const second = { ...MAIN, subpath: 'subagents/agent-b' }
    await transcripts.append(second, entries)
    await transcripts.delete(second)
    await transcripts.delete(MAIN)
    expect(await transcripts.restore(MAIN)).toBe(true)
    expect(await transcripts.load(MAIN)).toStrictEqual(entries)
    expect(await transcripts.load(AGENT)).toStrictEqual(entries)
    expect(await listed()).toEqual(['one'])
    // That one was deleted by itself before.
    expect(await transcripts.listSubkeys(MAIN)).toEqual(['subagents/agent-a'])
    expect(await transcripts.restore(second)).toBe(true)
    expect((await transcripts.listSubkeys(MAIN)).sort()).toEqual(['subagents/agent-a', 'subagents/agent-b'])
    expect(await transcripts.restore(MAIN)).toBe(false)
  })

  it('leaves entries free to come again, also those a compaction had hidden before', async () => {
    const long = Array.from({ length: 20 }, () => [
      asks('word '.repeat(400)),
      says('word '.repeat(400)),
    ]).flat()
    await transcripts.append(MAIN, long)
    await store.compactSession(SESSION_ID, { targetTokens: 4_000, enableSummarize: false })
    await transcripts.delete(MAIN)
    await transcripts.append(MAIN, long)
    expect(await transcripts.load(MAIN)).toStrictEqual(long)
    expect(await listed()).toEqual(['one'])
    await transcripts.append(MAIN, long)
    expect(await transcripts.load(MAIN)).toStrictEqual(long)
    // Back with what was there before: nothing is there twice.
    await transcripts.restore(MAIN)
    expect(await transcripts.load(MAIN)).toStrictEqual([...entries, ...long])
    expect((await store.sessions.verify(SESSION_ID)).findings).toEqual([])
  })

  it('recognizes each deletion separately, in any order of undos', async () => {
    await transcripts.delete(MAIN)
    const later = [asks('later')]
    await transcripts.append(MAIN, later)
    await transcripts.delete(MAIN)
    const [first, second] = (await store.listCompactions(SESSION_ID)).map(({ id }) => id).reverse()
    const ids = [first!, second!]
    const oldest = (await store.compactions.get(SESSION_ID, ids[0]!)).rowsHidden > 2 ? ids : ids.reverse()
    await store.undoCompaction(SESSION_ID, oldest[0]!)
    expect(await transcripts.load(MAIN)).toStrictEqual(entries)
    await store.undoCompaction(SESSION_ID, oldest[1]!)
    expect(await transcripts.load(MAIN)).toStrictEqual([...entries, ...later])
    await store.redoCompaction(SESSION_ID, oldest[0]!)
    expect(await transcripts.load(MAIN)).toStrictEqual(later)
  })

  it('is not assumed when the application hides messages', async () => {
    const ids = (await store.getMessages(SESSION_ID)).map(({ id }) => id)
    await store.compactions.hide(SESSION_ID, ids)
    expect(await transcripts.load(MAIN)).toStrictEqual(entries)
    expect(await listed()).toEqual(['one'])
  })

  it('is not assumed when a compaction hides the mark of an undone one', async () => {
    await transcripts.delete(MAIN)
    await transcripts.restore(MAIN)
    const long = Array.from({ length: 20 }, () => [
      asks('word '.repeat(400)),
      says('word '.repeat(400)),
    ]).flat()
    await transcripts.append(MAIN, long)
    await store.compactSession(SESSION_ID, { targetTokens: 2_000, enableSummarize: false })
    const mark = (await store.getMessages(SESSION_ID))[entries.length]!
    expect(mark.metadata).toEqual({ 'claude-agent-sdk': { deleted: expect.any(String) } })
    expect(mark.truncationParent).toBeDefined()
    expect(await transcripts.load(MAIN)).toStrictEqual([...entries, ...long])
    expect(await listed()).toEqual(['one'])
    // The next one hides what stands before that mark as well.
    await transcripts.delete(MAIN)
    expect(await transcripts.load(MAIN)).toBeNull()
    await transcripts.restore(MAIN)
    expect(await transcripts.load(MAIN)).toStrictEqual([...entries, ...long])
  })

  it('is followed by the summaries, there and back', async () => {
    const promptAndTitle = async (): Promise<unknown> =>
      (await transcripts.listSessionSummaries('project')).map(({ data }) => [
        data.firstPrompt,
        data.customTitle,
      ])
    expect(await promptAndTitle()).toEqual([['Read a.txt', undefined]])
    await transcripts.delete(MAIN)
    expect(await promptAndTitle()).toEqual([])
    await transcripts.append(MAIN, [beside.title])
    expect(await promptAndTitle()).toEqual([[undefined, 'Reading']])
    await transcripts.restore(MAIN)
    expect(await promptAndTitle()).toEqual([['Read a.txt', 'Reading']])
    const [deletion] = await store.listCompactions(SESSION_ID)
    await store.redoCompaction(SESSION_ID, deletion!.id)
    expect(await promptAndTitle()).toEqual([[undefined, 'Reading']])
  })

  it('loses nothing that is appended meanwhile', async () => {
    const more: SessionStoreEntry[] = Array.from({ length: 20 }, (_, i) => asks(`more ${i}`))
    const other = undertextSessionStore({ store })
    await Promise.all([...more.map((entry) => other.append(MAIN, [entry])), transcripts.delete(MAIN)])
    const left = (await transcripts.load(MAIN)) ?? []
    // What came after the deletion is there, and what came before is behind it.
    expect(left).toStrictEqual(more.slice(more.length - left.length))
    expect(await listed()).toEqual(left.length === 0 ? [] : ['one'])
    await transcripts.restore(MAIN)
    expect(await transcripts.load(MAIN)).toStrictEqual([...entries, ...more])
  })
})

describe('other content of the store', () => {
  it('is not listed, and is left alone', async () => {
    await store.sessions.create({ id: 'chat', owner: 'project' })
    await store.append('chat', [{ role: 'user', content: 'hello' }])
    await transcripts.append(MAIN, turn())
    await store.append(SESSION_ID, [{ role: 'user', content: "the application's own" }])
    expect(await listed()).toEqual(['one'])
    expect(await transcripts.load(MAIN)).toHaveLength(turn().length)
    await store.sessions.update(SESSION_ID, {
      metadata: { ...(await store.sessions.get(SESSION_ID)).metadata, mine: 1 },
    })
    await transcripts.listSessionSummaries('project')
    expect((await store.sessions.get(SESSION_ID)).metadata).toMatchObject({ mine: 1 })
  })

  it('is listed by the time of its last append, not by the time of the call', async () => {
    await transcripts.append(MAIN, turn())
    const [before] = await transcripts.listSessions('project')
    const [summary] = await transcripts.listSessionSummaries('project')
    expect(summary!.mtime).toBe(before!.mtime)
    await new Promise((resolve) => setTimeout(resolve, 5))
    await transcripts.listSessionSummaries('project')
    expect(await transcripts.listSessions('project')).toEqual([before])
  })

  it('a session that was purged is made anew and listed', async () => {
    await transcripts.append(MAIN, turn())
    await store.sessions.purge(SESSION_ID)
    expect(await transcripts.load(MAIN)).toBeNull()
    await transcripts.append(MAIN, turn())
    expect(await listed()).toEqual(['one'])
  })
})

it.each<[string, unknown, RegExp]>([
  ['no store', {}, /^undertextSessionStore: store: must be a store/],
  ['another store', { store: new Map() }, /^undertextSessionStore: store: must be a store/],
  ['a misspelled option', { store: { append() {} }, acter: 'x' }, /^undertextSessionStore: /],
])('is not built from %s', (_, options, problem) => {
  expect(() => undertextSessionStore(options as { store: Store })).toThrow(
    expect.objectContaining({ code: 'INVALID_INPUT', facts: { problems: expect.stringMatching(problem) } }),
  )
})
