import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type PromptHistory, readPrompt } from '../../src/adapters/ai-sdk/prompt-matching.ts'
import type { Message, NewMessage, Part } from '../../src/index.ts'

const u = (content: string): NewMessage => ({ role: 'user', content })
const a = (content: string): NewMessage => ({ role: 'assistant', content })
const call = (id: string, text?: string): NewMessage => ({
  role: 'assistant',
  content: [
    ...(text === undefined ? [] : [{ type: 'text', text } satisfies Part]),
    { type: 'tool-call', toolCallId: id, toolName: 'look', input: {} },
  ],
})
const result = (...ids: string[]): NewMessage => ({
  role: 'tool',
  content: ids.map((toolCallId) => ({
    type: 'tool-result',
    toolCallId,
    toolName: 'look',
    output: { type: 'text', value: 'seen' },
  })),
})

type Case = {
  readonly log: readonly Message[]
  readonly prompt: readonly NewMessage[]
  readonly fresh: readonly NewMessage[]
  /** Messages of the log the prompt goes on from. Default: all. */
  readonly shared?: number
  readonly history?: PromptHistory
}

const CASES: Readonly<Record<string, Case>> = {
  'the first message of a session': { log: [], prompt: [u('hi')], fresh: [u('hi')] },
  'a history that is brought along to an empty session': {
    log: [],
    prompt: [u('hi'), a('hello'), u('go')],
    fresh: [u('hi'), a('hello'), u('go')],
  },
  'the new message alone': { log: [u('hi'), a('hello')], prompt: [u('go')], fresh: [u('go')] },
  'the whole history': {
    log: [u('hi'), a('hello')],
    prompt: [u('hi'), a('hello'), u('go')],
    fresh: [u('go')],
  },
  'the end of the history': {
    log: [u('hi'), a('hello'), u('go'), a('gone')],
    prompt: [u('go'), a('gone'), u('back')],
    fresh: [u('back')],
  },
  'the same said twice': { log: [u('yes'), a('ok')], prompt: [u('yes')], fresh: [u('yes')] },
  'the same said twice, with the history': {
    log: [u('yes'), a('ok')],
    prompt: [u('yes'), a('ok'), u('yes')],
    fresh: [u('yes')],
  },
  'the same said three times, with the history': {
    log: [u('yes'), a('ok'), u('yes'), a('ok')],
    prompt: [u('yes'), a('ok'), u('yes'), a('ok'), u('yes')],
    fresh: [u('yes')],
  },
  'a message that is stored already and was not answered': {
    log: [u('hi'), a('hello'), u('go')],
    prompt: [u('go')],
    fresh: [],
  },
  'the same with the history': {
    log: [u('hi'), a('hello'), u('go')],
    prompt: [u('hi'), a('hello'), u('go')],
    fresh: [],
  },
  'a step of a loop, the new message alone': {
    log: [u('old'), a('done'), u('go'), call('1')],
    prompt: [u('go'), call('1'), result('1')],
    fresh: [result('1')],
  },
  'results that come in two steps, sent as one message': {
    log: [u('go'), call('1'), result('1'), call('2')],
    prompt: [u('go'), call('1'), result('1'), call('2'), result('2')],
    fresh: [result('2')],
  },
  'results of parallel calls, one of them stored': {
    log: [
      u('go'),
      { role: 'assistant', content: [...(call('1').content as Part[]), ...(call('2').content as Part[])] },
      result('1'),
    ],
    prompt: [
      u('go'),
      { role: 'assistant', content: [...(call('1').content as Part[]), ...(call('2').content as Part[])] },
      result('1', '2'),
    ],
    fresh: [result('2')],
  },
  'ids that repeat from turn to turn': {
    log: [u('go'), call('0'), result('0'), a('done'), u('again'), call('0')],
    prompt: [u('go'), call('0'), result('0'), a('done'), u('again'), call('0'), result('0')],
    fresh: [result('0')],
  },
  'ids that repeat within a turn': {
    log: [u('go'), call('0'), result('0'), call('0')],
    prompt: [u('go'), call('0'), result('0'), call('0'), result('0')],
    fresh: [result('0')],
  },
  'results alone': { log: [u('go'), call('1')], prompt: [result('1')], fresh: [result('1')] },
  'the last answer and its results': {
    log: [u('go'), call('1')],
    prompt: [call('1'), result('1')],
    fresh: [result('1')],
  },
  'a result that comes late': {
    log: [u('go'), call('1'), u('never mind'), a('fine')],
    prompt: [u('go'), call('1'), result('1'), u('never mind'), a('fine'), u('next')],
    fresh: [result('1'), u('next')],
  },
  'a history without its tools': {
    log: [u('go'), call('1', 'Looking. '), result('1'), a('Done.')],
    prompt: [u('go'), a('Looking. '), a('Done.'), u('next')],
    fresh: [u('next')],
  },
  'an answer of several steps kept as one text': {
    log: [u('go'), call('1', 'Looking.'), result('1'), a('Done.')],
    prompt: [u('go'), a('Looking.\n\nDone.'), u('next')],
    fresh: [u('next')],
  },
  'an answer of several steps kept as its last step': {
    log: [u('go'), call('1', 'Looking.'), result('1'), a('Done.'), u('on'), a('Yes.')],
    prompt: [u('go'), a('Done.'), u('on'), a('Yes.'), u('next')],
    fresh: [u('next')],
  },
  'an answer without its reasoning': {
    log: [
      u('go'),
      {
        role: 'assistant',
        content: [
          { type: 'reasoning', text: 'hm' },
          { type: 'text', text: 'Done.', providerOptions: { openai: { itemId: 'm' } } },
        ],
      },
    ],
    prompt: [u('go'), a('Done.'), u('next')],
    fresh: [u('next')],
  },
  'arguments that a schema filled in': {
    log: [
      u('go'),
      { role: 'assistant', content: [{ type: 'tool-call', toolCallId: '1', toolName: 'look', input: {} }] },
    ],
    prompt: [
      u('go'),
      {
        role: 'assistant',
        content: [{ type: 'tool-call', toolCallId: '1', toolName: 'look', input: { deep: true } }],
      },
      result('1'),
    ],
    fresh: [result('1')],
  },
  'a partial answer the application kept of a stream that broke': {
    log: [u('hi'), a('hello')],
    prompt: [u('hi'), a('hello'), u('go'), a('I am go'), u('go on')],
    fresh: [u('go'), a('I am go'), u('go on')],
  },
  'an answer that is to be made anew': {
    log: [u('hi'), a('hello'), u('go'), a('gone')],
    prompt: [u('hi'), a('hello'), u('go')],
    fresh: [],
    shared: 3,
  },
  'an answer with tools that is to be made anew': {
    log: [u('hi'), a('hello'), u('go'), call('1'), result('1'), a('gone')],
    prompt: [u('hi'), a('hello'), u('go')],
    fresh: [],
    shared: 3,
  },
  'the first answer, to be made anew, by an application that sends everything': {
    log: [u('hi'), a('hello')],
    prompt: [u('hi')],
    history: 'whole',
    fresh: [],
    shared: 1,
  },
  'an old message that was edited': {
    log: [u('hi'), a('hello'), u('go'), a('gone'), u('back'), a('here')],
    prompt: [u('hi'), a('hello'), u('go left'), a('gone left')],
    fresh: [u('go left'), a('gone left')],
    shared: 2,
  },
  'the first message, edited, by an application that sends everything': {
    log: [u('hi'), a('hello')],
    prompt: [u('hey')],
    history: 'whole',
    fresh: [u('hey')],
    shared: 0,
  },
  'a loop that failed half-way, tried again with the history': {
    log: [u('hi'), a('hello'), u('go'), call('1')],
    prompt: [u('hi'), a('hello'), u('go')],
    fresh: [],
    shared: 3,
  },
  'words after calls that nobody answered': {
    log: [u('hi'), a('hello'), u('go'), call('1')],
    prompt: [u('hi'), a('hello'), u('go'), u('stop')],
    fresh: [u('stop')],
  },
  'a new message equal to one long past': {
    log: [u('go'), a('gone'), u('back'), a('here')],
    prompt: [u('go')],
    fresh: [u('go')],
  },
  'a conversation that has nothing to do with the log': {
    log: [u('go'), a('gone')],
    prompt: [u('other'), a('thing'), u('next')],
    fresh: [u('other'), a('thing'), u('next')],
  },
  'examples sent with every call, all new when that is said': {
    log: [u('2+2'), a('4'), u('3+3'), a('6')],
    prompt: [u('2+2'), a('4'), u('5+5')],
    history: 'new',
    fresh: [u('2+2'), a('4'), u('5+5')],
  },
}

describe('what of a prompt is new', () => {
  for (const [name, { log, prompt, fresh, shared = log.length, history }] of Object.entries(CASES))
    it(name, () => expect(readPrompt(log, prompt, history)).toEqual({ fresh, shared }))
})

describe('pictures and files', () => {
  const picture = (image: string | Uint8Array): NewMessage => ({
    role: 'user',
    content: [
      { type: 'text', text: 'what is this?' },
      { type: 'image', image },
    ],
  })
  const log = [picture(new Uint8Array([1, 2, 3])), a('a cat')]

  it('are known by their bytes, however they are written', () => {
    for (const data of [new Uint8Array([1, 2, 3]), 'AQID', 'data:image/png;base64,AQID'])
      expect(readPrompt(log, [picture(data), a('a cat'), u('sure?')]).fresh).toEqual([u('sure?')])
  })

  it('are taken for known where one side has an address only, for addresses are signed anew', () => {
    expect(
      readPrompt(log, [picture('https://example.com/1.png?sig=2'), a('a cat'), u('sure?')]).fresh,
    ).toEqual([u('sure?')])
  })

  it('are new when the bytes are others', () => {
    const other = picture(new Uint8Array([4]))
    expect(readPrompt([picture(new Uint8Array([1]))], [other]).fresh).toEqual([other])
  })
})

/** Turns of a conversation: few texts and few ids, so that many repeat. */
const turn = fc
  .tuple(fc.constantFrom('yes', 'no', 'go'), fc.integer({ min: 0, max: 2 }), fc.constantFrom('ok', 'done'))
  .map(([said, calls, answer]): NewMessage[] => [
    u(said),
    ...Array.from({ length: calls }, (_, index) => [
      call(String(index % 2)),
      result(String(index % 2)),
    ]).flat(),
    a(answer),
  ])

describe('laws', () => {
  it('a whole history adds only its new message, at every step of a loop', () => {
    fc.assert(
      fc.property(fc.array(turn, { minLength: 1, maxLength: 6 }), (turns) => {
        const all = turns.flat()
        for (let length = 1; length < all.length; length++) {
          const isAnswer = all[length]!.role === 'assistant'
          if (!isAnswer) continue
          // What stands before an answer is asked for it; what was new then was stored with the answer before.
          const stored = all.slice(0, length).findLastIndex(({ role }) => role === 'assistant') + 1
          const { fresh, shared } = readPrompt(all.slice(0, stored), all.slice(0, length))
          expect({ fresh, shared }).toEqual({ fresh: all.slice(stored, length), shared: stored })
        }
      }),
      { numRuns: 200 },
    )
  })

  it('a new message alone is new after every finished turn', () => {
    fc.assert(
      fc.property(fc.array(turn, { maxLength: 6 }), turn, (turns, [next]) => {
        expect(readPrompt(turns.flat(), [next!]).fresh).toEqual([next])
      }),
      { numRuns: 200 },
    )
  })

  it('a call that failed is tried again without storing anything twice', () => {
    fc.assert(
      fc.property(fc.array(turn, { maxLength: 6 }), turn, (turns, [next]) => {
        const log = [...turns.flat(), next!]
        expect(readPrompt(log, [next!]).fresh).toEqual([])
        expect(readPrompt(log, log).fresh).toEqual([])
      }),
      { numRuns: 200 },
    )
  })
})
