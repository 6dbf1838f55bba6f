import { describe, expect, it } from 'vitest'
import { dropReasoning } from '../../src/compat/arrays/index.ts'
import {
  type HistoryRecord,
  type NewMessage,
  openStore,
  type Store,
  type UndertextError,
} from '../../src/index.ts'

/*
 * Taking back what was said last: one compaction that hides the end of the view whatever stands there, and messages in its place.
 */

const SAID: NewMessage[] = [
  { role: 'system', content: 'be brief' },
  { role: 'user', content: 'one' },
  { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'a', toolName: 'look', input: {} }] },
  {
    role: 'tool',
    content: [
      { type: 'tool-result', toolCallId: 'a', toolName: 'look', output: { type: 'text', value: 'x' } },
    ],
  },
  { role: 'assistant', content: 'two' },
]

async function started(): Promise<{ store: Store; ids: string[] }> {
  const store = await openStore(':memory:')
  const { messages } = await store.append('s', SAID)
  return { store, ids: messages.map(({ id }) => id) }
}

const textsOf = async (store: Store): Promise<unknown[]> =>
  (await store.getEffectiveHistory('s')).map(({ content }) =>
    typeof content === 'string' ? content : content.map(({ type }) => type).join(),
  )

const codeOf = async (work: Promise<unknown>): Promise<string> => {
  try {
    await work
    return 'nothing'
  } catch (error) {
    return (error as UndertextError).code
  }
}

it('hides everything, and shows everything again', async () => {
  const { store } = await started()
  const before = await store.getEffectiveHistory('s')
  const { compactionId, rowsHidden, messages, position, existing } = await store.rewind('s', {
    from: 'start',
    actor: 'somebody',
    reason: 'cleared',
  })
  expect({ rowsHidden, messages, position, existing }).toEqual({
    rowsHidden: 5,
    messages: [],
    position: 5,
    existing: false,
  })
  expect(await store.getEffectiveHistory('s')).toEqual([])
  expect(await store.compactions.get('s', compactionId!)).toMatchObject({
    kind: 'manual',
    status: 'active',
    trigger: 'manual',
    actor: 'somebody',
    reason: 'cleared',
    rowsHidden: 5,
    partsReplaced: 0,
    params: { rewind: true },
    tokensAfter: 0,
  })
  expect((await store.sessions.verify('s')).findings).toEqual([])
  await store.undoCompaction('s', compactionId!)
  expect(await store.getEffectiveHistory('s')).toEqual(before)
  await store.redoCompaction('s', compactionId!)
  expect(await store.getEffectiveHistory('s')).toEqual([])
})

it('keeps the codes of its caller in the parameters, also in a fork and a restored copy', async () => {
  const { store, ids } = await started()
  const params = { by: 'a-program', why: 'edited' }
  await store.compactions.hide('s', [ids[1]!], { reason: 'A sentence that nobody compares.', params })
  await store.rewind('s', { from: 'start', keepCompactions: true, params })
  const expected = [params, { ...params, rewind: true, keepCompactions: true }]
  const paramsIn = async (id: string) => (await store.listCompactions(id)).map((one) => one.params)
  expect(await paramsIn('s')).toEqual(expected)
  const { id } = await store.sessions.fork('s')
  expect(await paramsIn(id)).toEqual(expected)
  const history: HistoryRecord[] = []
  for await (const record of store.sessions.export('s')) history.push(record)
  await store.sessions.purge('s', { forks: 'keep' })
  await store.sessions.import(history, { id: 'copy' })
  expect(await paramsIn('copy')).toEqual(expected)

  for (const wrong of [
    { by: 'x' },
    { by: 'a b', why: 'y' },
    { by: 'x', why: '' },
    { by: 'x', why: 'y', z: 1 },
  ])
    await expect(store.rewind('copy', { from: 'start', params: wrong as never })).rejects.toMatchObject({
      code: 'INVALID_INPUT',
    })
  expect(await paramsIn('copy')).toEqual(expected)
})

it('hides from one message on and appends in the same step', async () => {
  const { store, ids } = await started()
  const done = await store.rewind('s', {
    from: { beforeMessage: ids[1]! },
    append: [{ role: 'user', content: 'another' }],
  })
  expect(done).toMatchObject({ rowsHidden: 4, position: 6 })
  expect(done.messages).toEqual([{ id: expect.any(String), position: 6, existing: false }])
  expect(await textsOf(store)).toEqual(['be brief', 'another'])
})

it('may part a call from its result: the call waits again', async () => {
  const { store, ids } = await started()
  const { compactionId } = await store.rewind('s', { from: { beforeMessage: ids[3]! } })
  expect(await textsOf(store)).toEqual(['be brief', 'one', 'tool-call'])
  expect((await store.sessions.verify('s')).findings).toEqual([])
  const stats = await store.getContextStats('s')
  expect(stats?.messageCount).toBe(3)
  await store.append('s', [SAID[3]!])
  expect((await store.sessions.verify('s')).findings).toEqual([])
  await store.undoCompaction('s', compactionId!, { both: true })
  expect(await textsOf(store)).toEqual(['be brief', 'one', 'tool-call', 'tool-result', 'two', 'tool-result'])
  expect((await store.sessions.verify('s')).findings).toEqual([])
})

it('hides pinned rows and summaries, and gives them back pinned', async () => {
  const { store, ids } = await started()
  const long = 'a sentence that says little, over and over. '.repeat(60)
  await store.append('s', [
    { role: 'user', content: long },
    { role: 'assistant', content: long },
    { role: 'user', content: 'last' },
  ])
  await store.compactSession('s', { targetTokens: 0, enableTruncate: false })
  expect((await store.getEffectiveHistory('s')).some(({ kind }) => kind === 'summary')).toBe(true)
  await store.messages.pin('s', [ids[0]!])
  const before = await store.getEffectiveHistory('s')
  const { compactionId } = await store.rewind('s', { from: 'start' })
  expect(await textsOf(store)).toEqual([])
  expect((await store.sessions.verify('s')).findings).toEqual([])
  await store.undoCompaction('s', compactionId!)
  expect(await store.getEffectiveHistory('s')).toEqual(before)
  expect((await store.getMessages('s'))[0]!.pinned).toBe(true)
  await store.redoCompaction('s', compactionId!)
  expect(await textsOf(store)).toEqual([])
})

it('gives idempotency keys free, keeps ids', async () => {
  const store = await openStore(':memory:')
  const message: NewMessage = { role: 'user', content: 'x', idempotencyKey: 'k' }
  await store.append('s', [message])
  const { messages } = await store.rewind('s', { from: 'start', append: [message] })
  expect(messages).toEqual([{ id: expect.any(String), position: 2, existing: false }])
  await store.append('s', [{ id: 'mine', role: 'user', content: 'y' }])
  expect(
    await codeOf(store.rewind('s', { from: 'start', append: [{ id: 'mine', role: 'user', content: 'z' }] })),
  ).toBe('MESSAGE_ID_TAKEN')
  expect(await textsOf(store)).toEqual(['x', 'y'])
})

it('frees the keys of what summaries replaced', async () => {
  const store = await openStore(':memory:')
  const said: NewMessage[] = ['one', 'two', 'three'].map((word) => ({
    role: 'user',
    content: `${word} `.repeat(200),
    idempotencyKey: word,
  }))
  await store.append('s', said)
  await store.compactSession('s', { range: { from: 1, to: 2 }, summary: 'one and two' })
  expect((await store.append('s', [said[0]!])).messages).toMatchObject([{ position: 1, existing: true }])
  // The summary is itself summarized.
  await store.compactSession('s', { range: { from: 1, to: 3 }, summary: 'all' })
  const { compactionId, messages } = await store.rewind('s', { from: 'start', append: said })
  expect(messages.map(({ position, existing }) => [position, existing])).toEqual([
    [4, false],
    [5, false],
    [6, false],
  ])
  expect((await store.getEffectiveHistory('s')).map(({ content }) => content)).toEqual(
    said.map(({ content }) => content),
  )
  expect((await store.append('s', said)).messages.map(({ position }) => position)).toEqual([4, 5, 6])
  await store.undoCompaction('s', compactionId!, { both: true })
  expect((await store.append('s', said)).messages.map(({ position }) => position)).toEqual([4, 5, 6])
})

it('makes the session when there is something to append', async () => {
  const store = await openStore(':memory:')
  expect(await codeOf(store.rewind('s', { from: 'start' }))).toBe('SESSION_NOT_FOUND')
  expect(
    await codeOf(
      store.rewind('s', { from: { beforeMessage: 'm' }, append: [{ role: 'user', content: 'x' }] }),
    ),
  ).toBe('SESSION_NOT_FOUND')
  expect(await store.sessions.list()).toEqual([])
  const done = await store.rewind('s', { from: 'start', append: [{ role: 'user', content: 'x' }] })
  expect(done).toEqual({
    sessionId: 's',
    rowsHidden: 0,
    messages: [{ id: expect.any(String), position: 1, existing: false }],
    position: 1,
    existing: false,
  })
})

describe('an operation id', () => {
  it('repeats nothing a second time, and returns the first result', async () => {
    const { store, ids } = await started()
    const options = {
      from: { beforeMessage: ids[4]! },
      append: [{ role: 'assistant', content: 'three' }],
      operationId: 'op',
    } as const
    const first = await store.rewind('s', options)
    await store.append('s', [{ role: 'user', content: 'four' }])
    const second = await store.rewind('s', options)
    expect(second).toEqual({
      ...first,
      position: 7,
      existing: true,
      messages: [{ ...first.messages[0]!, existing: true }],
    })
    expect(await textsOf(store)).toEqual(['be brief', 'one', 'tool-call', 'tool-result', 'three', 'four'])
    expect(await codeOf(store.rewind('s', { ...options, append: [] }))).toBe('OPERATION_CONFLICT')
    expect(await codeOf(store.rewind('s', { ...options, operationBody: 'other' }))).toBe('OPERATION_CONFLICT')
  })

  it('is known before functions are asked', async () => {
    const { store } = await started()
    let asked = 0
    const options = {
      from: () => {
        asked += 1
        return 'start' as const
      },
      operationId: 'op',
      operationBody: { what: 'clear' },
    }
    await store.rewind('s', options)
    expect((await store.rewind('s', options)).existing).toBe(true)
    expect(asked).toBe(1)
    expect(await codeOf(store.rewind('s', { from: () => 'start', operationId: 'other' }))).toBe(
      'INVALID_INPUT',
    )
  })
})

it('calls a function again when another writer appends in between', async () => {
  const { store } = await started()
  const seen: number[] = []
  let meddled: Promise<unknown> | undefined
  await store.rewind('s', {
    from: (view) => {
      seen.push(view.length)
      meddled ??= store.append('s', [{ role: 'user', content: 'late' }])
      return { beforeMessage: view.at(-1)!.id }
    },
    append: (hidden) => hidden.map(({ role, content }) => ({ role, content: `${content as string}!` })),
  })
  await meddled
  expect(seen).toEqual([5, 6])
  expect(await textsOf(store)).toEqual(['be brief', 'one', 'tool-call', 'tool-result', 'two', 'late!'])
})

it('calls a function again when another writer creates the session in between', async () => {
  const store = await openStore(':memory:')
  let meddled: Promise<unknown> | undefined
  await store.rewind('s', {
    from: () => {
      meddled ??= store.append('s', [{ role: 'user', content: 'theirs' }])
      return 'start'
    },
    append: (hidden) => [
      ...hidden.map(({ role, content }) => ({ role, content })),
      { role: 'user', content: 'mine' },
    ],
  })
  await meddled
  expect(await textsOf(store)).toEqual(['theirs', 'mine'])
})

it('asks a function again when the session was purged and made anew in between', async () => {
  const store = await openStore(':memory:')
  const mine: NewMessage = { id: 'm', role: 'user', content: 'x' }
  await store.append('s', [mine])
  let asked = 0
  let meddled: Promise<unknown> | undefined
  await store.rewind('s', {
    from: () => {
      asked += 1
      meddled ??= store.sessions.purge('s').then(() => store.append('s', [mine]))
      return { beforeMessage: 'm' }
    },
  })
  await meddled
  expect(asked).toBe(2)
})

it('asks a function once whose row is not there', async () => {
  const { store, ids } = await started()
  await store.rewind('s', { from: { beforeMessage: ids[4]! } })
  let asked = 0
  const from = () => {
    asked += 1
    return { beforeMessage: ids[4]! }
  }
  expect(await codeOf(store.rewind('s', { from }))).toBe('STALE_PLAN')
  expect(asked).toBe(1)
})

it('throws what a function throws, and changes nothing', async () => {
  const { store } = await started()
  const refuse = (): never => {
    throw new RangeError('no')
  }
  await expect(store.rewind('s', { from: refuse })).rejects.toThrow(RangeError)
  expect(await store.listCompactions('s')).toEqual([])
})

it('refuses what cannot be', async () => {
  const { store, ids } = await started()
  const { compactionId } = await store.rewind('s', { from: { beforeMessage: ids[4]! } })
  for (const [options, code] of [
    [{}, 'INVALID_INPUT'],
    [{ from: 'middle' }, 'INVALID_INPUT'],
    [{ from: { beforeMessage: '' } }, 'INVALID_INPUT'],
    [{ from: { beforeMessage: 0 } }, 'INVALID_INPUT'],
    [{ from: { beforeMessage: 1.5 } }, 'INVALID_INPUT'],
    [{ from: { messageId: 'm' } }, 'INVALID_INPUT'],
    [{ from: 'start', append: [{ role: 'nobody', content: '' }] }, 'INVALID_INPUT'],
    [{ from: 'start', append: 'x' }, 'INVALID_INPUT'],
    [{ from: 'start', unknown: 1 }, 'INVALID_INPUT'],
    [{ from: 'start', operationId: '' }, 'INVALID_INPUT'],
    [{ from: 'start', operationId: 'x', operationBody: () => 1 }, 'INVALID_INPUT'],
    [{ from: () => 'middle' }, 'INVALID_INPUT'],
    [{ from: 'start', append: () => 'x' }, 'INVALID_INPUT'],
    [{ from: { beforeMessage: 'nobody' } }, 'MESSAGE_NOT_FOUND'],
    [{ from: () => ({ beforeMessage: ids[4]! }) }, 'STALE_PLAN'],
    [{ from: 'start', keepCompactions: 1 }, 'INVALID_INPUT'],
    [{ from: 'start', expectedPosition: 4 }, 'POSITION_CONFLICT'],
  ] as const)
    expect([options, await codeOf(store.rewind('s', options as never))]).toEqual([options, code])
  expect((await store.listCompactions('s')).map(({ id }) => id)).toEqual([compactionId])
})

it('shows a deduplicated read again when the copy it points at is rewound', async () => {
  const store = await openStore(':memory:')
  const file = Array.from({ length: 60 }, (_, line) => `line ${line} of the file`).join('\n')
  const read = (id: string): NewMessage[] => [
    {
      role: 'assistant',
      content: [{ type: 'tool-call', toolCallId: id, toolName: 'read_file', input: { path: 'a.ts' } }],
    },
    {
      role: 'tool',
      content: [
        { type: 'tool-result', toolCallId: id, toolName: 'read_file', output: { type: 'text', value: file } },
      ],
    },
  ]
  await store.append('s', [
    { role: 'user', content: 'read' },
    ...read('a'),
    { role: 'user', content: 'again' },
  ])
  const { messages } = await store.append('s', [...read('b'), { role: 'assistant', content: 'done' }])
  const result = await store.compactSession('s', {
    targetTokens: 0,
    enablePrune: false,
    enableSummarize: false,
    enableTruncate: false,
  })
  expect(result!.compactions.map(({ kind }) => kind)).toEqual(['deduplicate'])
  const before = await store.getEffectiveHistory('s')
  const shownAt = (view: typeof before, index: number): unknown =>
    (view[index]!.content as unknown as { output: { value: string } }[])[0]!.output.value
  expect(shownAt(before, 2)).toBe('[File a.ts - refer to latest read below]')

  const { compactionId } = await store.rewind('s', { from: { beforeMessage: messages[0]!.id } })
  const after = await store.getEffectiveHistory('s')
  expect(after.length).toBe(4)
  expect(shownAt(after, 2)).toBe(file)
  expect((await store.sessions.verify('s')).findings).toEqual([])
  await store.undoCompaction('s', compactionId!)
  expect(await store.getEffectiveHistory('s')).toEqual(before)
  await store.redoCompaction('s', compactionId!)
  expect(await store.getEffectiveHistory('s')).toEqual(after)
  expect((await store.sessions.verify('s')).findings).toEqual([])
})

it('shows reasoning again that a tool loop needs which it opens again', async () => {
  const store = await openStore(':memory:')
  const calling = (id: string): NewMessage[] => [
    {
      role: 'assistant',
      content: [
        {
          type: 'reasoning',
          text: `thoughts of ${id} `.repeat(50),
          providerOptions: { anthropic: { signature: id } },
        },
        { type: 'tool-call', toolCallId: id, toolName: 'look', input: {} },
      ],
    },
    {
      role: 'tool',
      content: [
        { type: 'tool-result', toolCallId: id, toolName: 'look', output: { type: 'text', value: 'x' } },
      ],
    },
  ]
  const said: NewMessage[] = [
    { role: 'user', content: 'one' },
    ...calling('a'),
    { role: 'assistant', content: 'done' },
    { role: 'user', content: 'two' },
    ...calling('b'),
    ...calling('c'),
    { role: 'assistant', content: 'done again' },
    { role: 'user', content: 'three' },
    { role: 'assistant', content: 'yes' },
  ]
  const { messages } = await store.append('s', said)
  const dropped = await store.compactSession('s', { targetTokens: 0, stages: [dropReasoning()] })
  const before = await store.getEffectiveHistory('s')
  const reasoning = (view: typeof before): number[] =>
    view.map(({ content }) =>
      typeof content === 'string'
        ? 0
        : content.filter((part) => part.type === 'reasoning' && part.text !== '').length,
    )
  expect(reasoning(before)).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])

  // From "done again" on: the second turn's loop waits for an answer again, the first turn's stays as it is.
  const { compactionId } = await store.rewind('s', {
    from: { beforeMessage: messages[9]!.id },
    keepCompactions: true,
  })
  const after = await store.getEffectiveHistory('s')
  expect(reasoning(after)).toEqual([0, 0, 0, 0, 0, 1, 0, 1, 0])
  expect(after.slice(5).map(({ content }) => content)).toEqual(said.slice(5, 9).map(({ content }) => content))
  expect(after[5]!.replacedParts).toBe(undefined)
  expect((await store.sessions.verify('s')).findings).toEqual([])
  // What it shows again may go again, once the loop is over.
  await store.append('s', [
    { role: 'assistant', content: 'done anew' },
    { role: 'user', content: 'three' },
  ])
  const again = await store.compactSession('s', { targetTokens: 0, stages: [dropReasoning()] })
  expect(reasoning(await store.getEffectiveHistory('s'))).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])
  expect((await store.sessions.verify('s')).findings).toEqual([])
  await store.undoCompaction('s', again!.compactions[0]!.id)
  expect((await store.getEffectiveHistory('s')).slice(0, 9)).toEqual(after)
  // Without what was shown instead, it is the original still.
  await store.undoCompaction('s', dropped!.compactions[0]!.id)
  expect(reasoning(await store.getEffectiveHistory('s')).slice(0, 9)).toEqual([0, 1, 0, 0, 0, 1, 0, 1, 0])
  expect((await store.sessions.verify('s')).findings).toEqual([])
  await store.redoCompaction('s', dropped!.compactions[0]!.id)
  await store.undoCompaction('s', compactionId!, { both: true })
  expect((await store.getEffectiveHistory('s')).slice(0, 12)).toEqual(before)
  expect((await store.sessions.verify('s')).findings).toEqual([])
})

it('shows deduplicated pictures again, exactly', async () => {
  const store = await openStore(':memory:')
  const text = Array.from({ length: 60 }, (_, line) => `line ${line} of the file`).join('\n')
  const read = (id: string): NewMessage[] => [
    {
      role: 'assistant',
      content: [{ type: 'tool-call', toolCallId: id, toolName: 'read_file', input: { path: 'a.md' } }],
    },
    {
      role: 'tool',
      content: [
        {
          type: 'tool-result',
          toolCallId: id,
          toolName: 'read_file',
          output: {
            type: 'content',
            value: [
              { type: 'text', text },
              { type: 'image', image: 'iVBORw0KGgo=', mediaType: 'image/png' },
            ],
          },
        },
      ],
    },
  ]
  await store.append('s', [
    { role: 'user', content: 'read' },
    ...read('a'),
    { role: 'user', content: 'again' },
  ])
  const { messages } = await store.append('s', [...read('b'), { role: 'assistant', content: 'done' }])
  const before = await store.getEffectiveHistory('s')
  const result = await store.compactSession('s', {
    targetTokens: 0,
    enablePrune: false,
    enableSummarize: false,
    enableTruncate: false,
  })
  expect(result!.compactions.map(({ kind }) => kind)).toEqual(['deduplicate'])
  await store.rewind('s', { from: { beforeMessage: messages[0]!.id } })
  expect(await store.getEffectiveHistory('s')).toEqual(before.slice(0, 4))
  expect((await store.sessions.verify('s')).findings).toEqual([])
})

it('is not redone when a result came for a call it would hide', async () => {
  const { store, ids } = await started()
  await store.append('s', [
    { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'b', toolName: 'look', input: {} }] },
  ])
  const { compactionId } = await store.rewind('s', { from: { beforeMessage: ids[4]! } })
  await store.undoCompaction('s', compactionId!)
  await store.append('s', [
    {
      role: 'tool',
      content: [{ type: 'tool-result', toolCallId: 'b', output: { type: 'text', value: 'late' } }],
    },
  ])
  expect(await codeOf(store.redoCompaction('s', compactionId!))).toBe('INPUT_NOT_VISIBLE')
})
