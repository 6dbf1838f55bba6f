import { describe, expect, it } from 'vitest'
import type { NewMessage, Part, Store } from '../../../src/index.ts'
import { call, result, say, units } from '../../support/conversation.ts'
import { type Contract, refusal } from './support.ts'

/** Removing a text from everything that is stored. */

const SECRET = 'sk-live-9Qz7'

const PRUNE = {
  ...{ enableDeduplicate: false, enableSummarize: false, enableTruncate: false, targetTokens: 0 },
  ...{ pruneProtectTokens: 0, pruneMinimumSavings: 0 },
}

/** A session in which every kind of stored text has the secret once, and its fork. */
async function conversation(store: Store): Promise<void> {
  await store.sessions.create({ id: 'a', title: `of ${SECRET}`, metadata: { m: [SECRET] }, owner: 'ann' })
  await store.append('a', [
    { ...say('user', `use ${SECRET}`), metadata: { field: SECRET } },
    call('c1', 'run', { [SECRET]: { env: [`x${SECRET}`] } }),
    result('c1', `out ${SECRET} ${units(3_000)}`),
    say('assistant', 'done'),
    say('user', 'again'),
  ])
  await store.compactSession('a', { ...PRUNE, prunePlaceholder: `cut ${SECRET} ${units(40)}` })
  await store.sessions.fork('a', { id: 'b' })
  await store.append('b', [say('user', `in b ${SECRET}`)])
  await store.compactSession('a', {
    ...{ range: { from: 1, to: 4 }, summary: `Sum ${SECRET}.`, reason: `why ${SECRET}`, actor: 'ann' },
  })
  await store.notes.add(`note ${SECRET}`, { session: 'a', metadata: { field: SECRET } })
  await store.notes.add(`note ${SECRET}`, { owner: 'ann' })
  const request = await store.prepareRequest('a', { system: `sys ${SECRET}`, prompt: `ask ${SECRET}` })
  await store.recordResponse('a', { request, messages: [say('assistant', `so ${SECRET}`)] })
}

async function shown(store: Store, id: string): Promise<string> {
  const records: unknown[] = []
  for await (const record of store.sessions.export(id)) records.push(record)
  const requests = await store.requests.list(id)
  const rendered = await Promise.all(requests.map((one) => store.requests.get(id, one.id)))
  return JSON.stringify([
    ...[await store.sessions.get(id), await store.getMessages(id, { shown: true }), records, rendered],
    ...[await store.listCompactions(id), await store.sessions.audit(id), await store.getEffectiveHistory(id)],
    await store.notes.list({ session: id, all: true }),
  ])
}

async function sound(store: Store, ...ids: string[]): Promise<void> {
  for (const id of ids) expect((await store.sessions.verify(id)).findings, id).toEqual([])
}

export function describePurgeText({ open, keeps }: Contract): void {
  describe.skipIf(!keeps.histories)('removing a text', () => {
    it('changes every kind of stored text, in forks too, and counts them', async () => {
      const store = await open()
      await conversation(store)
      const counts = {
        // Messages 2 + 2 + 1 + 1 + 1 + 1, a replacement, a summary and its digest, notes 2 + 1, a request, a reason, fields 2 + 2.
        ...{ matches: 20, messages: 6, summaries: 1, replacements: 1, notes: 2, requests: 1 },
        ...{ compactions: 1, jobs: 0, audit: 0, fields: 2 },
      }
      const dry = await store.privacy.purgeText('all', SECRET, { dryRun: true })
      expect(dry).toMatchObject({ dryRun: true, forks: 1, kept: [] })
      expect(await shown(store, 'a')).toContain(SECRET)
      const purged = await store.privacy.purgeText('all', SECRET, { actor: 'bob', reason: 'leaked' })
      expect(purged).toMatchObject({ ...counts, dryRun: false, forks: 1, kept: [] })
      expect({ ...dry, dryRun: false, sessions: [] }).toMatchObject({ ...counts })
      expect(purged.sessions.map(({ sessionId }) => sessionId).sort()).toEqual(['a', 'b'])
      for (const id of ['a', 'b']) expect(await shown(store, id)).not.toContain(SECRET)
      await sound(store, 'a', 'b')
      expect(await store.privacy.purgeText('all', SECRET)).toMatchObject({ matches: 0, sessions: [] })
    })

    it('keeps ids, places and the rest of each text, and marks what was changed', async () => {
      const store = await open()
      await conversation(store)
      const before = await store.getMessages('a')
      await store.privacy.purgeText({ session: 'a' }, SECRET, { replacement: '***' })
      const after = await store.getMessages('a')
      expect(after.map(({ id, kind, position, anchor }) => [id, kind, position, anchor])).toEqual(
        before.map(({ id, kind, position, anchor }) => [id, kind, position, anchor]),
      )
      const edited = { undertext: { edited: true } }
      expect(after[0]).toMatchObject({ content: 'use ***', metadata: { field: '***', ...edited } })
      expect((after[1]!.content as Part[])[0]).toMatchObject({ input: { '***': { env: ['x***'] } } })
      expect(after.find(({ kind }) => kind === 'summary')).toMatchObject({
        content: 'Sum ***.',
        metadata: { ...edited, textLength: 8 },
      })
      expect(after.find(({ position }) => position === 4)).not.toHaveProperty('metadata')
      expect(await store.sessions.get('a')).toMatchObject({ title: 'of ***', metadata: { m: ['***'] } })
    })

    it('undo shows the changed originals, and redo shows the same view again', async () => {
      const store = await open()
      await conversation(store)
      await store.privacy.purgeText('all', SECRET)
      const view = await store.getEffectiveHistory('a')
      const compactions = await store.listCompactions('a')
      for (const { id } of [...compactions].reverse()) await store.undoCompaction('a', id)
      await sound(store, 'a')
      const originals = await store.getEffectiveHistory('a')
      expect(originals.map(({ position }) => position)).toEqual([1, 2, 3, 4, 5, 6, 7])
      expect(originals[0]!.content).toBe('use [removed]')
      expect((originals[2]!.content as Part[])[0]).toMatchObject({
        output: { value: `out [removed] ${units(3_000)}` },
      })
      for (const { id } of compactions) await store.redoCompaction('a', id)
      await sound(store, 'a')
      expect(await store.getEffectiveHistory('a')).toEqual(view)
    })

    it.skipIf(!keeps.search)('removes its words from the index of the search', async () => {
      const store = await open()
      await store.append('a', [say('user', 'the heronword is here'), say('user', 'another')])
      expect((await store.search('heronword')).hits).toHaveLength(1)
      await store.privacy.purgeText('all', 'heronword', { replacement: 'ibisword' })
      expect((await store.search('heronword')).hits).toEqual([])
      expect((await store.search('ibisword')).hits).toHaveLength(1)
    })

    it('in a fork changes what it shares in its origin too, and nothing else there', async () => {
      const store = await open()
      await store.append('a', [say('user', `shared ${SECRET}`)])
      await store.sessions.fork('a', { id: 'b' })
      await store.append('a', [say('user', `own ${SECRET}`)])
      const purged = await store.privacy.purgeText({ session: 'b' }, SECRET)
      expect(purged.sessions).toMatchObject([{ sessionId: 'b', messages: 1, sharedWith: ['a'] }])
      expect((await store.getMessages('a')).map(({ content }) => content)).toEqual([
        'shared [removed]',
        `own ${SECRET}`,
      ])
      await sound(store, 'a', 'b')
    })

    it('of an owner changes only their sessions, archived ones too, and their notes', async () => {
      const store = await open()
      for (const [id, owner] of [
        ['a', 'ann'],
        ['b', 'ann'],
        ['c', 'bob'],
      ] as const) {
        await store.sessions.create({ id, owner })
        await store.append(id, [say('user', SECRET)])
      }
      await store.sessions.archive('b')
      for (const owner of ['ann', 'bob']) await store.notes.add(SECRET, { owner })
      expect(await store.privacy.purgeText({ owner: 'ann' }, SECRET)).toMatchObject({ messages: 2, notes: 1 })
      const texts = ['a', 'b', 'c'].map(async (id) => (await store.getMessages(id))[0]!.content)
      expect(await Promise.all(texts)).toEqual(['[removed]', '[removed]', SECRET])
      expect((await store.notes.list({ owner: 'ann' }))[0]!.text).toBe('[removed]')
      expect((await store.notes.list({ owner: 'bob' }))[0]!.text).toBe(SECRET)
    })

    it('leaves ids and names that contain it, and reports them', async () => {
      const store = await open()
      await store.append('a', [
        { ...say('user', 'hi'), id: `m-${SECRET}`, idempotencyKey: `k-${SECRET}` },
        call(`c-${SECRET}`, `t-${SECRET}`),
        result(`c-${SECRET}`, 'ok'),
      ])
      const { matches, sessions } = await store.privacy.purgeText('all', SECRET)
      expect(matches).toBe(0)
      expect(sessions[0]!.kept).toEqual([
        { kind: 'messageId', count: 1, positions: [1] },
        { kind: 'idempotencyKey', count: 1, positions: [1] },
        { kind: 'toolCallId', count: 2, positions: [2, 3] },
        { kind: 'toolName', count: 1, positions: [2] },
      ])
      await sound(store, 'a')
    })

    it('replaces a part whose signature would no longer hold with a text', async () => {
      const store = await open()
      const signed = { anthropic: { signature: 'c2lnbmVk' } }
      const content: Part[] = [
        { type: 'reasoning', text: `I use ${SECRET}`, providerOptions: signed },
        { type: 'reasoning', text: 'I think', providerOptions: signed },
        { type: 'provider', provider: 'openai', data: { type: 'reasoning', encrypted_content: SECRET } },
        { type: 'text', text: 'done' },
      ]
      await store.append('a', [say('user', 'go'), { role: 'assistant', content }])
      await store.privacy.purgeText('all', SECRET)
      const removed = { type: 'text', text: '[removed]' }
      expect((await store.getMessages('a'))[1]!.content).toEqual([removed, content[1], removed, content[3]])
      await sound(store, 'a')
    })

    it('finds a text in the spellings of JSON, in numbers, in text files, and twice in a row', async () => {
      const store = await open()
      const secret = 'päss"wörd\n7'
      const file = (text: string): Part => ({
        type: 'file',
        mediaType: 'text/plain',
        data: Buffer.from(text.repeat(500)).toString('base64'),
      })
      await store.append('a', [
        say('user', JSON.stringify({ key: secret })),
        say('user', JSON.stringify(JSON.stringify({ key: secret }))),
        say('user', 'p\\u00e4ss\\"w\\u00F6rd\\n7'),
        say('user', `${secret}${secret}`),
        { role: 'user', content: [file(`${secret} `)] },
      ])
      expect(await store.privacy.purgeText('all', secret)).toMatchObject({ messages: 5, matches: 505 })
      const contents = (await store.getMessages('a')).map(({ content }) => content)
      expect(contents.slice(0, 4)).toEqual([
        '{"key":"[removed]"}',
        '"{\\"key\\":\\"[removed]\\"}"',
        '[removed]',
        '[removed][removed]',
      ])
      expect(contents[4]).toEqual([file('[removed] ')])
      await store.append('b', [call('c', 'pay', { card: 4_111_111_111_111_111, other: 5 })])
      await store.privacy.purgeText({ session: 'b' }, '4111111111111111')
      expect(((await store.getMessages('b'))[0]!.content as Part[])[0]).toMatchObject({
        input: { card: '[removed]', other: 5 },
      })
      await sound(store, 'a', 'b')
    })

    it('takes a regular expression', async () => {
      const store = await open()
      await store.append('a', [say('user', 'sk-1234 and SK-99 and sk-')])
      expect(await store.privacy.purgeText('all', /sk-\d+/i)).toMatchObject({ matches: 2 })
      expect((await store.getMessages('a'))[0]!.content).toBe('[removed] and [removed] and sk-')
    })

    it('makes a plan that was read before stale, since it may contain the text', async () => {
      const store = await open()
      await store.append('a', [say('user', 'key one 1'), say('assistant', 'ok'), say('user', 'on')])
      const preview = await store.previewCompaction('a', { range: { from: 1, to: 2 }, summary: 'one 1' })
      // The same length, so that no size shows the change.
      await store.privacy.purgeText('all', 'one 1', { replacement: 'two 2' })
      await refusal(store.compactSession('a', preview!), 'STALE_PLAN')
    })

    it('recognizes an original that is appended again, and does not store it', async () => {
      const store = await open()
      const message: NewMessage = { ...say('user', SECRET), idempotencyKey: 'k' }
      await store.append('a', [message])
      await store.privacy.purgeText('all', SECRET)
      expect((await store.append('a', [message])).messages).toMatchObject([{ position: 1, existing: true }])
      expect((await store.getMessages('a')).map(({ content }) => content)).toEqual(['[removed]'])
    })

    it('says of a recorded request that a text of it was removed', async () => {
      const store = await open()
      const request = await store.prepareRequest('a', { system: `sys ${SECRET}`, prompt: 'hi' })
      await store.recordResponse('a', { request, messages: [say('assistant', 'so')] })
      const other = await store.prepareRequest('a', { prompt: `ask ${SECRET}` })
      await store.recordResponse('a', { request: other, messages: [say('assistant', 'yes')] })
      await store.privacy.purgeText('all', SECRET)
      const [first, second] = await store.requests.list('a')
      expect(await store.requests.get('a', first!.id)).toMatchObject({
        ...{ system: 'sys [removed]', matches: false, reason: 'purged' },
      })
      expect(await store.requests.get('a', second!.id)).toMatchObject({ matches: false, reason: 'purged' })
      await sound(store, 'a')
    })

    it.skipIf(!keeps.audit)('is recorded in the audit by numbers', async () => {
      const store = await open()
      await store.append('a', [say('user', `${SECRET} ${SECRET}`)])
      await store.sessions.fork('a', { id: 'b' })
      await store.privacy.purgeText({ session: 'a' }, SECRET, { actor: 'bob', reason: 'leaked' })
      const last = async (id: string) => (await store.sessions.audit(id)).at(-1)
      expect(await last('a')).toMatchObject({ event: 'text purged', actor: 'bob' })
      expect((await last('a'))!.detail).toEqual({ matches: 2, messages: 1, reason: 'leaked', viewEpoch: 1 })
      expect((await last('b'))!.detail).toMatchObject({ sharedWith: 'a', rows: 1 })
    })

    it('refuses what it cannot remove, and writes nothing', async () => {
      const store = await open()
      await store.append('a', [say('user', 'aaaa')])
      const purge = (...args: unknown[]) =>
        refusal(
          (store.privacy.purgeText as (...all: unknown[]) => Promise<unknown>).apply(store.privacy, args),
          'INVALID_INPUT',
        )
      await purge('all', '')
      await purge('all', /a*/)
      await purge('all', /(?=a)/)
      await purge('all', 'a', { replacement: 'banana' })
      await purge('all', 'leak', { reason: 'a leak' })
      await purge('all', 'leak', { actor: 'leak' })
      await purge({}, 'a')
      await purge({ session: 'a', owner: 'b' }, 'a')
      await purge({ owner: undefined }, 'a')
      await purge('everything', 'a')
      await purge('all', 'a', { dryrun: true })
      await refusal(store.privacy.purgeText({ session: 'x' }, 'a'), 'SESSION_NOT_FOUND')
      expect((await store.getMessages('a'))[0]!.content).toBe('aaaa')
    })
  })
}
