import { describe, expect, test } from 'vitest'
import type { NewMessage } from '../../../src/index.ts'
import { call, calls, chat, failure, result, say, units } from '../../support/conversation.ts'
import { appendAll, type Contract, ONLY, refusal, S } from './support.ts'

const outputs = (...ids: string[]): NewMessage => ({
  role: 'tool',
  content: ids.map((id) => ({
    type: 'tool-result' as const,
    toolCallId: id,
    output: { type: 'text' as const, value: `${id} says` },
  })),
})

export function describeToolCalls({ open, openBoth }: Contract): void {
  describe('getToolOutput', () => {
    test('returns the stored output of a pruned, deduplicated, condensed and hidden result [F3-03]', async () => {
      const { store, reopen } = await openBoth()
      const old = `old ${units(400)}`
      const ids = await appendAll(store, [
        say('user', 'go'),
        call('a', 'read', { path: 'src/a.ts', limit: 3 }),
        result('a', old),
        call('b', 'read', { path: 'src/b.ts' }),
        result('b', units(300), 'read'),
        call('c', 'read', { path: 'src/b.ts' }),
        result('c', units(300), 'read'),
        ...chat(3),
      ])
      const expected = {
        callId: 'a',
        toolName: 'read',
        paths: ['src/a.ts'],
        status: 'ok',
        // 404 units with the margin of 1.15: 401 of them are the text's (1,604 characters by 4).
        tokens: Math.ceil(401 * 1.15),
        call: { messageId: ids[1], position: 2, part: 0 },
        result: { messageId: ids[2], position: 3, part: 0 },
        input: { path: 'src/a.ts', limit: 3 },
        output: { type: 'text', value: old },
      }
      expect(await store.messages.toolOutput(S, 'a')).toEqual({ ...expected, shown: 'full' })
      await store.compactSession(S, {
        ...ONLY.prune,
        targetTokens: 0,
        pruneProtectTokens: 600,
        pruneMinimumSavings: 0,
      })
      expect(await store.messages.toolOutput(S, 'a')).toEqual({ ...expected, shown: 'replaced' })
      const deduplicated = { ...ONLY.deduplicate, targetTokens: 0, deduplicateMinimumSavings: 0 }
      await store.compactSession(S, deduplicated)
      expect(await store.messages.toolOutput(S, 'b')).toMatchObject({
        shown: 'replaced',
        output: { value: units(300) },
      })
      expect(await store.messages.toolOutput(S, 'c')).toMatchObject({ shown: 'full' })
      const run = await store.compactSession(S, { range: { from: 2, to: 3 }, summary: 'Read a.' })
      expect(await store.messages.toolOutput(S, 'a')).toEqual({ ...expected, shown: 'hidden' })
      await store.compactSession(S, { range: { from: 1, to: 5 }, summary: 'Read a and b.' })
      expect(await store.messages.toolOutput(S, 'a')).toEqual({ ...expected, shown: 'hidden' })
      await store.undoCompaction(S, run!.runId, { cascade: true })
      expect(await store.messages.toolOutput(S, 'a')).toEqual({ ...expected, shown: 'replaced' })
      await store.compactions.hide(S, [ids[1]!, ids[2]!])
      expect(await store.messages.toolOutput(S, 'a')).toEqual({ ...expected, shown: 'hidden' })
      if (reopen)
        expect(await (await reopen()).messages.toolOutput(S, 'a')).toEqual({ ...expected, shown: 'hidden' })
    })

    test('of a truncated result, and of one that was cut in an emergency [F3-03]', async () => {
      const store = await open()
      const long = `long ${units(3_000)}`
      await appendAll(store, [
        ...chat(1),
        say('user', 'one'),
        call('a', 'run'),
        result('a', long),
        say('assistant', 'done'),
        ...chat(2),
      ])
      await store.compactSession(S, { ...ONLY.truncate, targetTokens: 200 })
      expect(await store.messages.toolOutput(S, 'a')).toMatchObject({
        shown: 'hidden',
        output: { value: long },
      })
      await appendAll(store, [say('user', 'one'), call('b', 'run'), result('b', long)], 'cut')
      await store.compactSession('cut', {
        enablePrune: false,
        enableSummarize: false,
        targetTokens: 100_000,
        maxOutputTokens: 127_000,
      })
      const cut = await store.messages.toolOutput('cut', 'b')
      expect(cut).toMatchObject({ shown: 'replaced', output: { value: long } })
    })

    test('an id that is used again means the newest call, or the one at a position', async () => {
      const store = await open()
      await appendAll(store, [
        call('x', 'first'),
        result('x', 'one'),
        say('user', 'again'),
        call('x', 'second'),
        failure('x', 'two'),
        call('x', 'third'),
      ])
      const short = async (position?: number): Promise<unknown> => {
        const { toolName, status, output } = await store.messages.toolOutput(S, 'x', { position })
        return [toolName, status, output && 'value' in output ? output.value : undefined]
      }
      expect(await short()).toEqual(['third', 'pending', undefined])
      for (const position of [1, 2]) expect(await short(position)).toEqual(['first', 'ok', 'one'])
      for (const position of [4, 5]) expect(await short(position)).toEqual(['second', 'failed', 'two'])
      expect(await short(6)).toEqual(['third', 'pending', undefined])
      const pending = await store.messages.toolOutput(S, 'x')
      expect(pending).not.toHaveProperty('output')
      expect(pending).not.toHaveProperty('result')
      expect(pending).toMatchObject({ tokens: 0, shown: 'full', input: {} })
      const { facts } = await refusal(
        store.messages.toolOutput(S, 'x', { position: 3 }),
        'TOOL_CALL_NOT_FOUND',
      )
      expect(facts).toEqual({ sessionId: S, callId: 'x', position: 3 })
      // The late answer goes to the nearest open call.
      await appendAll(store, [result('x', 'three')])
      expect(await short()).toEqual(['third', 'ok', 'three'])
      expect(await short(7)).toEqual(['third', 'ok', 'three'])
    })

    test('parallel calls answered out of order, and an answer given twice', async () => {
      const store = await open()
      await appendAll(store, [calls(['p', 'one'], ['q', 'two']), outputs('q', 'p'), outputs('p')])
      expect(await store.messages.toolOutput(S, 'p')).toMatchObject({
        toolName: 'one',
        call: { position: 1, part: 0 },
        result: { position: 2, part: 1 },
        output: { value: 'p says' },
      })
      expect(await store.messages.toolOutput(S, 'q')).toMatchObject({ result: { position: 2, part: 0 } })
      // The second answer is found where it stands.
      expect(await store.messages.toolOutput(S, 'p', { position: 3 })).toMatchObject({
        toolName: 'one',
        call: { position: 1 },
        result: { position: 3 },
      })
    })

    test('a result without its call is found, without an input', async () => {
      const store = await open()
      await appendAll(store, [result('lost', 'here', 'read')])
      const found = await store.messages.toolOutput(S, 'lost')
      expect(found).toMatchObject({ toolName: 'read', status: 'ok', output: { value: 'here' } })
      expect(found).not.toHaveProperty('call')
      expect(found).not.toHaveProperty('input')
      expect(await store.messages.toolCalls(S)).toEqual([])
    })

    test('images in an output come back byte for byte', async () => {
      const store = await open()
      const image = new Uint8Array(9_000).map((_, at) => at % 251)
      const output = {
        type: 'content' as const,
        value: [
          { type: 'text' as const, text: 'seen' },
          { type: 'image' as const, image },
        ],
      }
      await appendAll(store, [
        call('i', 'look'),
        { role: 'tool', content: [{ type: 'tool-result', toolCallId: 'i', output }] },
        ...chat(2),
      ])
      await store.compactSession(S, { range: { from: 1, to: 4 }, summary: 'Looked.' })
      expect((await store.messages.toolOutput(S, 'i')).output).toEqual(output)
    })

    test('ids that look like something else are ids', async () => {
      const store = await open()
      const odd = ['__proto__', '', '"', '\\', '%', 'a\u0000b', '\ud800', "'; drop", '0']
      await appendAll(
        store,
        odd.filter((id) => id !== '').flatMap((id) => [call(id, 'x', { path: 'y' }), result(id, `of ${id}`)]),
      )
      for (const id of odd.slice(2)) {
        expect(await store.messages.toolOutput(S, id)).toMatchObject({
          callId: id,
          output: { value: `of ${id}` },
        })
      }
      await refusal(store.messages.toolOutput(S, 'y'), 'TOOL_CALL_NOT_FOUND')
      await refusal(store.messages.toolOutput('nobody', 'y'), 'SESSION_NOT_FOUND')
      await refusal(store.messages.toolCalls('nobody'), 'SESSION_NOT_FOUND')
    })
  })

  describe('listToolCalls', () => {
    test('tells of each call what became of it', async () => {
      const store = await open()
      const ids = await appendAll(store, [
        say('user', 'go'),
        calls(['a', 'read', { path: 'x.ts' }], ['b', 'run', { command: 'ls' }]),
        outputs('b', 'a'),
        say('user', 'more'),
        call('a', 'run'),
        failure('a', 'no such command'),
        call('c', 'wait'),
      ])
      await store.compactSession(S, { range: { from: 1, to: 3 }, summary: 'Went.' })
      const place = (position: number, part = 0) => ({ messageId: ids[position - 1], position, part })
      const plain = { paths: [], shown: 'full' }
      expect(await store.messages.toolCalls(S)).toEqual([
        {
          callId: 'a',
          toolName: 'read',
          paths: ['x.ts'],
          status: 'ok',
          tokens: 3,
          shown: 'hidden',
          call: place(2),
          result: place(3, 1),
        },
        {
          ...plain,
          callId: 'b',
          toolName: 'run',
          status: 'ok',
          tokens: 3,
          shown: 'hidden',
          call: place(2, 1),
          result: place(3),
        },
        // 15 characters are 4 units; 4 × 1.15 = 4.6.
        {
          ...plain,
          callId: 'a',
          toolName: 'run',
          status: 'failed',
          tokens: 5,
          call: place(5),
          result: place(6),
        },
        { ...plain, callId: 'c', toolName: 'wait', status: 'pending', tokens: 0, call: place(7) },
      ])
    })

    test('pairs what was rewound apart, so that a repeated id takes no result of another branch', async () => {
      const store = await open()
      await appendAll(store, [say('user', 'go'), calls(['x', 'one'])])
      const { messages } = await store.append(S, [calls(['x', 'again'])])
      await store.rewind(S, { from: { beforeMessage: messages[0]!.id } })
      // The nearest call of this id before the result is the rewound one.
      await appendAll(store, [outputs('x')])
      const short = async () =>
        (await store.messages.toolCalls(S)).map(({ toolName, status, result }) => [
          toolName,
          status,
          result?.position,
        ])
      expect(await short()).toEqual([
        ['one', 'ok', 4],
        ['again', 'pending', undefined],
      ])
      expect(await store.messages.toolOutput(S, 'x', { position: 4 })).toMatchObject({ toolName: 'one' })
      // A call whose result was rewound is open again.
      const { messages: late } = await store.append(S, [calls(['z', 'late']), outputs('z')])
      await store.rewind(S, { from: { beforeMessage: late.at(-1)!.id } })
      expect((await short()).at(-1)).toEqual(['late', 'pending', undefined])
    })

    test('comes in pages of whole messages, each pairing as the whole does', async () => {
      const store = await open()
      const messages: NewMessage[] = []
      for (let turn = 0; turn < 30; turn++) {
        messages.push(say('user', `turn ${turn}`), calls(['x', 'one'], ['y', 'two'], [`z${turn}`, 'three']))
        // Answers come late, or never.
        if (turn % 3 !== 0) messages.push(outputs('y', 'x'))
        if (turn % 7 === 6) messages.push(outputs('z0', `z${turn}`))
      }
      await appendAll(store, messages)
      const whole = await store.messages.toolCalls(S)
      expect(whole).toHaveLength(90)
      expect(whole.filter(({ status }) => status === 'pending')).toHaveLength(30 - 5 + 20)
      for (const limit of [1, 4, 50]) {
        const pages = []
        for (let after = 0; ; ) {
          const page = await store.messages.toolCalls(S, { after, limit })
          if (page.length === 0) break
          expect(page.length % 3).toBe(0)
          pages.push(...page)
          after = page.at(-1)!.call.position
        }
        expect(pages).toEqual(whole)
      }
    })
  })
}
