import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Json } from '../../src/core/messages/json.ts'
import type { Message, Part, ToolCallPart, ViewMessage } from '../../src/core/messages/message.ts'
import { type RenderOptions, renderView } from '../../src/core/rendering/render.ts'
import { validateHistory } from '../../src/core/rendering/validate.ts'
import { randomView } from './random-views.ts'
import { assistant, call, hosted, image, type Row, result, system, text, tool, user, view } from './views.ts'

/** A rendering for Anthropic, its mends as `kind messageId toolCallId`. */
function render(
  rows: readonly Row[],
  options: Partial<RenderOptions> = {},
): { messages: Message[]; mends: string[] } {
  const { messages, mends } = renderView(view(...rows), { provider: 'anthropic', ...options })
  return { messages, mends: mends.map((mend) => Object.values(mend).join(' ')) }
}

function plain(...rows: readonly Row[]): Message[] {
  return rows.map(({ kind, ...message }) => message)
}

const HALF = '\ud83d'
const thinking = (value: string, signature: string): Part => ({
  type: 'reasoning',
  text: value,
  providerOptions: { anthropic: { signature } },
})
const redacted = (data: string): Part => ({
  type: 'provider',
  provider: 'anthropic',
  data: { type: 'redacted_thinking', data },
})
const calling = (input: Json, extra: Partial<ToolCallPart> = {}): Part =>
  ({ ...(call('a') as ToolCallPart), input, ...extra }) as Part
const codes = (messages: readonly Message[], provider = 'anthropic'): string[] =>
  validateHistory(messages, provider).map(({ code }) => code)

describe('half a pair of surrogates', () => {
  it('becomes U+FFFD in texts, inputs, keys, results, names of files and provider parts; pairs stay', () => {
    const rows = [
      system(`s${HALF}`),
      user(`x${HALF}y 😀`, {
        type: 'file',
        data: 'JVBERi0x',
        mediaType: 'application/pdf',
        filename: `f${HALF}`,
      }),
      assistant(
        { type: 'provider', provider: 'anthropic', data: { type: 'x', of: [HALF] } },
        calling({ [`k${HALF}`]: `v${HALF}`, k: ['😀'] }),
      ),
      tool(result('a', `ok ${HALF}… errored`)),
    ]
    const { messages, mends } = render(rows)
    expect(messages).toEqual(
      plain(
        system('s\ufffd'),
        user('x\ufffdy 😀', {
          type: 'file',
          data: 'JVBERi0x',
          mediaType: 'application/pdf',
          filename: 'f\ufffd',
        }),
        assistant(
          { type: 'provider', provider: 'anthropic', data: { type: 'x', of: ['\ufffd'] } },
          calling({ 'k\ufffd': 'v\ufffd', k: ['😀'] }),
        ),
        tool(result('a', 'ok \ufffd… errored')),
      ),
    )
    expect(mends).toEqual([
      'characters-replaced m0',
      'characters-replaced m1',
      'characters-replaced m1',
      'characters-replaced m2',
      'characters-replaced m2 a',
      'characters-replaced m3 a',
    ])
    expect(codes(plain(...rows))).toEqual(Array(6).fill('UNPAIRED_SURROGATE'))
  })

  it('leaves ids of calls and results a pair, and both values under keys that differ in their halves only', () => {
    const odd = `a${HALF}`
    const rows = [
      assistant({ ...(call(odd) as ToolCallPart), input: { '\ud800': 1, '\ud801': 2, '\ufffd': 3 } }),
      tool(result(odd)),
    ]
    const { messages } = render(rows, { provider: 'openai' })
    expect(messages).toEqual(
      plain(
        assistant({
          ...(call('a\ufffd') as ToolCallPart),
          input: { '\ufffd2': 1, '\ufffd3': 2, '\ufffd': 3 },
        }),
        tool(result('a\ufffd')),
      ),
    )
  })

  it('is replaced in a summary and in the header around it', () => {
    const rows: Row[] = [{ kind: 'summary', role: 'user', content: `so far${HALF}` }, user('x')]
    const { messages } = render(rows, { provider: 'openai', summaryHeader: `H${HALF}` })
    expect(messages[0]!.content).toBe('H\ufffd\n\nso far\ufffd')
  })
})

describe('the input of a call', () => {
  const RIGHT: readonly (readonly [Json, Json])[] = [
    ['', {}],
    [' \n', {}],
    [null, {}],
    [[], {}],
    ['null', {}],
    ['[]', {}],
    ['{"a":1}', { a: 1 }],
    [7, { arguments: 7 }],
    [[{ a: 1 }], { arguments: [{ a: 1 }] }],
    ['{"command": "cat', { arguments: '{"command": "cat' }],
    ['[1]', { arguments: '[1]' }],
  ]
  it.each(RIGHT)('%j is sent as %j to every provider', (input, sent) => {
    for (const provider of ['anthropic', 'bedrock', 'google-ai', 'openai', 'azure', 'nobody']) {
      const rows = [user('q'), assistant(calling(input)), tool(result('a'))]
      const { messages, mends } = render(rows, { provider })
      expect(messages).toEqual(plain(user('q'), assistant(calling(sent)), tool(result('a'))))
      expect(mends).toEqual(['input-as-object m1 a'])
      expect(codes(plain(...rows), provider)).toEqual(['INPUT_NOT_OBJECT'])
    }
  })

  it('stays a text where OpenAI reads a text, and becomes an object elsewhere', () => {
    const custom = calling('raw', { providerOptions: { openai: { type: 'custom' } } })
    const rows = [user('q'), assistant(custom), tool(result('a'))]
    expect(render(rows, { provider: 'openai' })).toEqual({ messages: plain(...rows), mends: [] })
    const elsewhere = { ...(custom as ToolCallPart), input: { arguments: 'raw' } }
    expect(render(rows).messages[1]!.content).toEqual([elsewhere])
  })

  it('is not sent as the empty text of arguments that a format of OpenAI kept', () => {
    const blank = calling({}, { providerOptions: { openai: { function: { arguments: '' } } } })
    const { messages, mends } = render([user('q'), assistant(blank), tool(result('a'))], {
      provider: 'openai',
    })
    expect(messages[1]!.content).toEqual([calling({}, { providerOptions: { openai: { function: {} } } })])
    expect(mends).toEqual(['input-as-object m1 a'])
  })

  it('is shortened where it is longer than the provider accepts, the same at each reading', () => {
    const rows = [user('q'), assistant(calling({ s: 'z'.repeat(1_100_000), n: 1 })), tool(result('a', 'bad'))]
    const cut = `${'z'.repeat(10_000)}\n[… 1080000 characters are not shown …]\n${'z'.repeat(10_000)}`
    const first = render(rows, { provider: 'openai' })
    expect(first.messages[1]!.content).toEqual([calling({ s: cut, n: 1 })])
    expect(first.mends).toEqual(['input-shortened m1 a'])
    expect(render(rows, { provider: 'openai' })).toEqual(first)
    expect(codes(plain(...rows), 'openai')).toEqual(['INPUT_TOO_LONG'])
    expect(render(rows).mends).toEqual([])
    // Exactly the limit: {"s":"…"} has 8 characters besides the text.
    const most = [user('q'), assistant(calling({ s: 'z'.repeat(1_048_576 - 8) })), tool(result('a'))]
    expect(render(most, { provider: 'openai' })).toEqual({ messages: plain(...most), mends: [] })
  })

  it('is one cut text when many short texts make it too long', () => {
    const many = Object.fromEntries(
      Array.from({ length: 60_000 }, (_, i) => [`key-${i}`, 'twenty characters …']),
    )
    const { messages } = render([user('q'), assistant(calling(many)), tool(result('a'))], {
      provider: 'openai',
    })
    const [sent] = messages[1]!.content as [ToolCallPart]
    expect(Object.keys(sent.input as object)).toEqual(['arguments'])
    expect(JSON.stringify(sent.input).length).toBeLessThan(60_000)
  })
})

describe('the name of a tool', () => {
  it.each([
    ['openai', 'fs.read:0', 'fs_read_0'],
    ['openai', 'n'.repeat(65), `tool_${'n'.repeat(59)}`],
    ['anthropic', 'n'.repeat(65), 'n'.repeat(65)],
    ['anthropic', `b${HALF}`, 'b_'],
    ['anthropic', '', 'tool_'],
    ['google-ai', 'fs.read:0', 'fs.read:0'],
    ['google-ai', '0a', 'tool_0a'],
  ])('for %s, %j is sent as %j, in the call and in its result', (provider, name, sent) => {
    const named = (toolName: string): Row[] => [
      user('q'),
      assistant(calling({ q: 1 }, { toolName })),
      tool({ ...result('a'), toolName }),
    ]
    const { messages, mends } = render(named(name), { provider })
    expect(messages).toEqual(plain(...named(sent)))
    expect(mends).toEqual(name === sent ? [] : ['tool-renamed m1 a', 'tool-renamed m2 a'])
  })
})

describe('signed reasoning', () => {
  it('of two answers in one message is that of the answer with the open call, and leads it', () => {
    const rows = [
      user('q'),
      assistant(thinking('A', 'sigA'), 'one'),
      assistant(thinking('B', 'sigB'), call('a')),
      tool(result('a')),
    ]
    const { messages, mends } = render(rows)
    expect(messages).toEqual(
      plain(user('q'), assistant(thinking('B', 'sigB'), 'one', call('a')), tool(result('a'))),
    )
    expect(mends).toEqual(['merged m2', 'reasoning-dropped m1', 'reasoning-moved m1'])
  })

  it('of two answers without an open call is left out', () => {
    const rows = [
      user('q'),
      assistant(thinking('A', 'sigA'), 'one'),
      assistant(redacted('B'), 'two'),
      user('r'),
    ]
    const { messages } = render(rows)
    expect(messages).toEqual(plain(user('q'), assistant(text('one'), text('two')), user('r')))
  })

  it('of one response that is stored in several rows stays as it is', () => {
    const of = (id: string, ...content: Part[]): Row => ({
      ...assistant(...content),
      metadata: { anthropic: { id } },
    })
    const rows = [
      user('q'),
      of('msg_1', thinking('A', 'sigA')),
      of('msg_1', text('one')),
      of('msg_1', thinking('B', 'sigB')),
      of('msg_1', call('a')),
      tool(result('a')),
    ]
    expect(render(rows).messages).toEqual(
      plain(
        user('q'),
        assistant(thinking('A', 'sigA'), 'one', thinking('B', 'sigB'), call('a')),
        tool(result('a')),
      ),
    )
  })

  it('that stands alone before another answer is left out', () => {
    const rows = [
      user('q'),
      assistant(thinking('A', 'sigA')),
      assistant(thinking('B', 'sigB'), 'two'),
      user('r'),
    ]
    const { messages, mends } = render(rows)
    expect(messages).toEqual(plain(user('q'), assistant(thinking('B', 'sigB'), 'two'), user('r')))
    expect(mends).toEqual(['reasoning-dropped m1'])
  })

  it('that stands alone, readable or not, is left out', () => {
    const rows = [user('q'), assistant(thinking('A', 'sigA'), redacted('B')), user('r')]
    const { messages, mends } = render(rows, { provider: 'openai', alsoReads: ['anthropic'] })
    expect(messages).toEqual(plain(user('q'), user('r')))
    expect(mends).toEqual(['reasoning-dropped m1'])
    expect(codes(plain(...rows))).toContain('ORPHAN_REASONING')
  })

  it('at the end of a message is left out', () => {
    const rows = [
      user('q'),
      assistant(thinking('A', 'sigA'), 'Let me see', thinking('B', 'sigB'), redacted('C')),
      user('stop, do X'),
    ]
    const { messages, mends } = render(rows)
    expect(messages).toEqual(
      plain(user('q'), assistant(thinking('A', 'sigA'), 'Let me see'), user('stop, do X')),
    )
    expect(mends).toEqual(['reasoning-dropped m1', 'reasoning-dropped m1'])
    expect(codes(plain(...rows))).toEqual(['REASONING_AT_END', 'REASONING_AT_END'])
  })
})

describe('what a provider numbered', () => {
  it('is sent once: a signature, the id of an item, with what cannot be sent without it', () => {
    const item = { type: 'provider' as const, provider: 'openai', data: { type: 'compaction', id: 'cmp_1' } }
    const said = (id: string): Part => ({
      type: 'text',
      text: 'one',
      providerOptions: { openai: { itemId: id, phase: 'x' } },
    })
    const rows = [
      user('q'),
      assistant(thinking('A', 'sigA'), said('msg_1'), said('msg_1')),
      user('r'),
      assistant(thinking('A', 'sigA'), said('msg_1'), said('msg_2')),
    ]
    const { messages, mends } = render(rows, { provider: 'openai' })
    expect(messages[3]).toEqual({
      role: 'assistant',
      content: [{ type: 'text', text: 'one', providerOptions: { openai: { phase: 'x' } } }, said('msg_2')],
    })
    expect(messages[1]).toEqual(plain(rows[1]!)[0])
    expect(mends).toEqual(['repetition-dropped m3', 'repetition-dropped m3'])
    expect(codes([...plain(...rows), { role: 'assistant', content: [item, text('x')] }], 'openai')).toEqual([
      'REPEATED_NUMBER',
      'REPEATED_NUMBER',
    ])
  })
})

describe('calls of the provider’s own tools', () => {
  const used = (id: string): Part => ({
    type: 'provider',
    provider: 'anthropic',
    data: { type: 'server_tool_use', id, name: 'web_search', input: {} },
  })
  const found = (id: string): Part => ({
    type: 'provider',
    provider: 'anthropic',
    data: { type: 'web_search_tool_result', tool_use_id: id, content: [] },
  })

  it('and their results are sent together', () => {
    const rows = [
      user('q'),
      assistant(used('s1'), found('s1'), 'one', used('s2')),
      user('r'),
      assistant(found('s3'), 'two'),
      user('s'),
    ]
    const { messages, mends } = render(rows)
    expect(messages).toEqual(
      plain(
        user('q'),
        assistant(used('s1'), found('s1'), 'one'),
        user('r'),
        assistant(text('two')),
        user('s'),
      ),
    )
    expect(mends).toEqual(['hosted-use-dropped m1', 'hosted-use-dropped m3'])
  })

  it('stay in an answer that is not finished', () => {
    const rows = [user('q'), assistant('one', used('s1'))]
    expect(render(rows)).toEqual({ messages: plain(...rows), mends: [] })
  })
})

describe('cache marks', () => {
  const marked = (value: string): Part => ({
    type: 'text',
    text: value,
    providerOptions: { anthropic: { cache_control: { type: 'ephemeral' } } },
  })
  const stored = (row: Row, position: number): Row => ({ ...row, position })

  it('of former requests are not sent; those of the request and of the leading system messages are', () => {
    const rows = [
      stored(system(marked('s')), 1),
      stored(user(marked('q1')), 2),
      stored(assistant('a1'), 3),
      stored(user(marked('q2')), 4),
      stored(assistant('a2'), 5),
      user(marked('q3')),
    ]
    const { messages, mends } = render(rows)
    expect(messages.map(({ content }) => content)).toEqual([
      [marked('s')],
      [text('q1')],
      'a1',
      [text('q2')],
      'a2',
      [marked('q3')],
    ])
    expect(mends).toEqual(['mark-dropped m1', 'mark-dropped m3'])
  })

  it('are dropped from results, from the layout of their texts, and from blocks kept whole', () => {
    const rows = [
      stored(user('q'), 1),
      stored(assistant(call('a')), 2),
      stored(
        tool({
          ...result('a', 'ab'),
          providerOptions: {
            anthropic: {
              cache_control: { type: 'ephemeral' },
              content: [{ length: 1 }, { length: 1, fields: { cache_control: { type: 'ephemeral' } } }],
            },
          },
        }),
        3,
      ),
      stored(
        user({
          type: 'provider',
          provider: 'anthropic',
          data: { type: 'search_result', cache_control: { type: 'ephemeral' } },
        }),
        4,
      ),
    ]
    const { messages } = render(rows, { provider: 'anthropic' })
    expect(JSON.stringify(messages)).not.toContain('ephemeral')
    expect(JSON.stringify(messages)).toContain('search_result')
  })
})

describe('images and files', () => {
  const json: Part = { type: 'file', data: 'e30=', mediaType: 'application/json', filename: 'report.json' }

  it.each([
    [
      'openai',
      json,
      '[file report.json is not shown: the provider does not read files of the type application/json]',
    ],
    [
      'anthropic',
      json,
      '[file report.json is not shown: the provider does not read files of the type application/json]',
    ],
    [
      'anthropic',
      { type: 'image', image: '/uploads/a.png' } as Part,
      '[image /uploads/a.png is not shown: its address is relative, so the provider cannot load it]',
    ],
    [
      'nobody',
      { type: 'file', data: '/f/1', mediaType: 'application/pdf' } as Part,
      '[file /f/1 is not shown: its address is relative, so the provider cannot load it]',
    ],
    [
      'openai',
      { type: 'image', image: 'blob:http://localhost/1' } as Part,
      '[image blob:http://localhost/1 is not shown: the provider cannot load it from its address]',
    ],
    [
      'google-ai',
      { type: 'image', image: new Uint8Array([60, 115]), mediaType: 'image/svg+xml' } as Part,
      '[image is not shown: the provider does not read files of the type image/svg+xml]',
    ],
    ['openai', { type: 'image', image: '' } as Part, '[image is not shown: it is empty]'],
  ])('for %s, one that cannot be read is a text that names it and says why', (provider, part, words) => {
    const rows = [user('look', part), assistant('ok'), user('x')]
    const { messages, mends } = render(rows, { provider })
    expect(messages[0]).toEqual(plain(user('look', words))[0])
    expect(mends).toEqual(['media-as-text m0'])
    expect(codes(plain(...rows), provider)).toEqual(['UNREADABLE_MEDIA'])
  })

  it('in the result of a tool are texts as well', () => {
    const output = { type: 'content' as const, value: [json as never] }
    const { messages, mends } = render([user('q'), assistant(call('a')), tool(result('a', output))])
    expect(JSON.stringify(messages[2])).toContain('[file report.json is not shown')
    expect(mends).toEqual(['media-as-text m2'])
  })

  it('that the provider reads stay: the Responses API reads texts and documents too', () => {
    const rows = [user('look', image, json)]
    const responses = { provider: 'openai', alsoReads: ['openai-responses'] }
    expect(render(rows, responses)).toEqual({ messages: plain(...rows), mends: [] })
  })

  it('are sent as what their bytes are', () => {
    const jpeg: Part = { type: 'image', image: '/9j/4AAQSkZJRg==', mediaType: 'image/png' }
    const { messages, mends } = render([user('look', jpeg)])
    expect(messages[0]!.content).toEqual([text('look'), { ...jpeg, mediaType: 'image/jpeg' }])
    expect(mends).toEqual(['media-type-changed m0'])
  })
})

describe('the result of a tool that failed', () => {
  const shown = { type: 'text', text: 'no such button' } as const
  const failed = (value: readonly object[], isError: boolean): Row =>
    tool({ ...result('a'), output: { type: 'content', value, ...(isError && { isError }) } } as Part)

  it('and holds an image is sent whole and unmarked to Claude, which takes only text from failures', () => {
    const rows = [user('click'), assistant(call('a')), failed([shown, image], true)]
    const said = { type: 'text', text: '[The tool failed]' }
    for (const provider of ['anthropic', 'bedrock', 'vertex'])
      expect(render(rows, { provider })).toEqual({
        messages: plain(rows[0]!, rows[1]!, failed([said, shown, image], false)),
        mends: ['failure-unmarked m2 a'],
      })
    for (const provider of ['openai', 'google-ai', 'mistral'])
      expect(render(rows, { provider }).messages.at(-1)).toMatchObject({
        content: [{ output: { isError: true } }],
      })
  })

  it('and holds text alone keeps its mark', () => {
    const rows = [user('click'), assistant(call('a')), failed([shown], true)]
    expect(render(rows)).toEqual({ messages: plain(...rows), mends: [] })
  })
})

describe('a message with more calls than are accepted in one', () => {
  const ids = Array.from({ length: 300 }, (_, at) => `c${at}`)
  const of = (from: number, to: number, make: (id: string) => Part): Part[] => ids.slice(from, to).map(make)

  it('becomes several for Chat Completions, each followed by the results of its calls', () => {
    const rows = [
      user('q'),
      assistant('I look.', ...ids.map(call)),
      tool(...ids.map((id) => result(id))),
      user('?'),
    ]
    for (const provider of ['openai', 'azure', 'an-unknown-server'])
      expect(render(rows, { provider })).toEqual({
        messages: plain(
          user('q'),
          assistant('I look.', ...of(0, 128, call)),
          tool(...of(0, 128, (id) => result(id))),
          assistant(...of(128, 256, call)),
          tool(...of(128, 256, (id) => result(id))),
          assistant(...of(256, 300, call)),
          tool(...of(256, 300, (id) => result(id))),
          user('?'),
        ),
        mends: ['calls-divided m1'],
      })
    for (const provider of ['anthropic', 'google-ai'])
      expect(render(rows.slice(0, -1), { provider })).toEqual({
        messages: plain(...rows.slice(0, -1)),
        mends: [],
      })
  })

  it('keeps results that are messages of their own', () => {
    const own = ids.slice(0, 130).map((id) => tool(result(id)))
    const rows = [user('q'), assistant(...of(0, 130, call)), ...own]
    expect(render(rows, { provider: 'openai' }).messages).toEqual(
      plain(
        user('q'),
        assistant(...of(0, 128, call)),
        ...own.slice(0, 128),
        assistant(...of(128, 130, call)),
        ...own.slice(128),
      ),
    )
  })

  it('of 128 is whole, and calls that the provider ran itself do not count', () => {
    const rows = [user('q'), assistant(...of(0, 128, call)), tool(...of(0, 128, (id) => result(id)))]
    expect(render(rows, { provider: 'openai' })).toEqual({ messages: plain(...rows), mends: [] })
  })

  it('with repeated ids is accepted too, and a longer view begins with the same messages', () => {
    const same = Array.from({ length: 200 }, () => 'c')
    const rows = [user('q'), assistant(...same.map(call)), tool(...same.map((id) => result(id)))]
    const { messages } = render(rows, { provider: 'openai' })
    expect(codes(messages, 'openai')).toEqual([])
    const longer = render([...rows, assistant('done'), user('more')], { provider: 'openai' }).messages
    expect(longer.slice(0, messages.length)).toEqual(messages)
  })
})

describe('the empty id of a call', () => {
  it('is replaced for servers of the form of Chat Completions, whoever runs them', () => {
    const rows = [user('q'), assistant(call('')), tool(result(''))]
    for (const provider of ['ollama', 'huggingface', 'litellm', 'an-unknown-server'])
      expect(render(rows, { provider })).toEqual({
        messages: plain(user('q'), assistant(call('call')), tool(result('call'))),
        mends: ['call-renamed m1 '],
      })
  })
})

describe('white space', () => {
  it('at the end of a last message of the assistant is dropped where the provider goes on with it', () => {
    const rows = [user('q'), assistant('The answer is \n')]
    expect(render(rows)).toEqual({
      messages: plain(user('q'), assistant('The answer is')),
      mends: ['space-trimmed m1'],
    })
    expect(render([...rows, user('x')]).messages[1]!.content).toBe('The answer is \n')
    expect(render(rows, { provider: 'openai' }).mends).toEqual([])
    expect(codes(plain(...rows))).toEqual(['SPACE_AT_END'])
  })
})

/*
 * Laws over random views with such faults anywhere.
 */

const faulty: fc.Arbitrary<(part: Part) => Part> = fc.constantFrom<((part: Part) => Part)[]>(
  (part) => part,
  (part) => (part.type === 'tool-call' ? { ...part, input: { [`k${HALF}`]: HALF } } : part),
  (part) => (part.type === 'tool-call' ? { ...part, input: '{"a":' } : part),
  (part) => (part.type === 'tool-call' ? { ...part, toolName: 'a b' } : part),
  (part) => (part.type === 'reasoning' ? thinking('hm', 'sigA') : part),
  (part) => (part.type === 'reasoning' ? redacted('x') : part),
  (part) => (part.type === 'reasoning' ? { ...part, providerOptions: { openai: { itemId: 'rs_1' } } } : part),
  (part) => (part.type === 'image' ? { type: 'image', image: './a.png' } : part),
  (part) =>
    part.type === 'text'
      ? { ...part, providerOptions: { anthropic: { cacheControl: { type: 'ephemeral' }, note: HALF } } }
      : part,
)

const faultyView = fc
  .tuple(randomView, fc.array(faulty, { minLength: 12, maxLength: 12 }), fc.nat())
  .map(([rows, faults, start]) => {
    let at = start
    return rows.map((row, index): ViewMessage => {
      const { content } = row
      const own = row.kind === 'message' ? { position: index + 1 } : {}
      if (typeof content === 'string' || row.kind !== 'message') return { ...row, ...own }
      return { ...row, ...own, content: content.map((part) => faults[at++ % faults.length]!(part)) }
    })
  })

const PROVIDERS = ['anthropic', 'vertex', 'google-ai', 'mistral', 'openai', 'nobody'] as const
const RUNS = process.env.LONG === '1' ? 10_000 : 300

describe('a rendering of a view with such faults', () => {
  const holds = (law: (view: ViewMessage[], provider: string) => void): void =>
    fc.assert(fc.property(faultyView, fc.constantFrom(...PROVIDERS), law), { numRuns: RUNS })
  const asView = (messages: readonly Message[]): ViewMessage[] =>
    messages.map((message, index) => ({
      ...message,
      id: `r${index}`,
      kind: 'message',
      createdAt: 0,
      position: index + 1,
    }))

  it('is valid, well formed, and left as it is when it is rendered again', () => {
    holds((rows, provider) => {
      const { messages } = renderView(rows, { provider })
      expect(validateHistory(messages, provider)).toEqual([])
      expect(JSON.stringify(messages)).not.toMatch(/\\ud[89a-f]/)
      // Leading system messages keep their marks.
      const first = messages.findIndex(({ role }) => role !== 'system')
      if (first !== -1) expect(JSON.stringify(messages.slice(first))).not.toContain('ephemeral')
      expect(renderView(asView(messages), { provider })).toEqual({ messages, mends: [] })
    })
  })

  it('is the beginning of that of a longer view', () => {
    fc.assert(
      fc.property(faultyView, faultyView, fc.constantFrom(...PROVIDERS), (rows, others, provider) => {
        const isPlain = ({ kind, content }: ViewMessage): boolean =>
          kind === 'message' &&
          (typeof content === 'string' ||
            content.every(({ type }) => type !== 'tool-result' && type !== 'provider'))
        const more = others.filter(isPlain).map((row) => ({ ...row, id: `n${row.id}` }))
        const shorter = renderView(rows, { provider }).messages
        const longer = renderView([...rows, ...more], { provider }).messages
        const kept = shorter.slice(0, -1)
        expect(longer.slice(0, kept.length)).toEqual(kept)
      }),
      { numRuns: RUNS },
    )
  })

  it('changes nothing that it was given', () => {
    holds((rows, provider) => {
      const before = structuredClone(rows)
      renderView(rows, { provider })
      expect(rows).toEqual(before)
    })
  })
})

it('the table of the documentation lists every mend', () => {
  const source = readFileSync(new URL('../../src/core/rendering/draft.ts', import.meta.url), 'utf8')
  const kinds = /type MendKind =\n((?:\s*\| '[a-z-]+'\n)+)/.exec(source)![1]!.match(/[a-z-]+(?=')/g)!
  const page = readFileSync(new URL('../../docs/validity.md', import.meta.url), 'utf8')
  const section = page.split('## What is mended\n')[1]!.split('\n## ')[0]!
  const rows = section.split('\n').filter((line) => line.startsWith('| `'))
  const listed = rows.flatMap((row) => row.split('|')[1]!.match(/[a-z]+(?:-[a-z]+)*/g)!)
  expect(listed.toSorted()).toEqual(kinds.toSorted())
})

describe('calls and results without tools', () => {
  const rows = [
    user('q'),
    assistant(thinking('hm', 'AAAA'), 'let me see', call('a'), call('b')),
    tool(
      result('a', { type: 'content', value: [text('seen') as never, image as never] }),
      result('b', 'two'),
    ),
    user('and?'),
  ]
  const asText = plain(
    user('q'),
    assistant(
      thinking('hm', 'AAAA'),
      'let me see',
      text('[Call of tool look] {"q":1}'),
      text('[Call of tool look] {"q":1}'),
    ),
    user(text('[Result of tool look] seen'), image, text('[Result of tool look] two'), text('and?')),
  )

  it('are texts where they are asked for as texts, each reported', () => {
    const { messages, mends } = render(rows, { provider: 'bedrock', toolUse: 'text' })
    expect(messages).toEqual(asText)
    expect(mends).toEqual([
      'call-as-text m1 a',
      'call-as-text m1 b',
      'result-as-text m2 a',
      'result-as-text m2 b',
      'merged m3',
    ])
    expect(render(rows, { provider: 'bedrock' }).mends).toEqual(['merged m3'])
  })

  it('are texts within the answer for tools that the provider ran itself', () => {
    const { messages } = render([user('q'), assistant(hosted('a'), result('a', 'one'), 'ok'), user('x')], {
      provider: 'bedrock',
      toolUse: 'text',
    })
    expect(messages[1]!.content).toEqual([
      text('[Call of tool look] {"q":1}'),
      text('[Result of tool look] one'),
      text('ok'),
    ])
  })
})

it('a compaction block of Anthropic is a summary in messages of LangChain, which have no place for it', () => {
  const block: Part = {
    type: 'provider',
    provider: 'anthropic',
    data: { type: 'compaction', content: 'so far' },
  }
  const { messages, mends } = render([assistant(block, 'ok'), user('x')], { alsoReads: ['langchain'] })
  expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user'])
  expect(messages[0]!.content).toContain('so far')
  expect(mends).toEqual(['block-as-summary m0'])
  expect(render([assistant(block, 'ok'), user('x')]).mends).toEqual([])
})

describe('a call that Gemini streamed in pieces', () => {
  const piece = (functionCall: { readonly [field: string]: Json }): Part => ({
    type: 'provider',
    provider: 'google',
    data: { functionCall },
  })
  const streamed = calling(
    {},
    {
      providerOptions: {
        google: { thoughtSignature: 'c2ln', functionCall: { id: null, willContinue: true } },
      },
    },
  )
  const pieces = [
    piece({
      partialArgs: [{ jsonPath: '$.city', stringValue: 'Ro', willContinue: true }],
      willContinue: true,
    }),
    piece({
      partialArgs: [
        { jsonPath: '$.city', stringValue: 'me' },
        { jsonPath: '$.days[0].on', boolValue: true },
        { jsonPath: "$['a key']", numberValue: 7 },
        { jsonPath: '$.none', nullValue: 'NULL_VALUE' },
        { jsonPath: '$.__proto__.x', stringValue: 'y' },
        { jsonPath: '$.far[999999]', stringValue: 'y' },
      ],
      willContinue: true,
    }),
    piece({}),
  ]
  const whole = calling(
    { city: 'Rome', days: [{ on: true }], 'a key': 7, none: null, far: [] },
    { providerOptions: { google: { thoughtSignature: 'c2ln', functionCall: { id: null } } } },
  )

  it('is one call with its whole input for each provider, and the parts after it stay', () => {
    for (const provider of ['google-ai', 'anthropic', 'openai']) {
      const rows = [user('q'), assistant(streamed, ...pieces, 'then', calling({}, { toolCallId: 'b' }))]
      const answers = [tool(result('a'), result('b'))]
      const { messages, mends } = render([...rows, ...answers], { provider })
      expect(messages[1]!.content).toEqual([whole, text('then'), calling({}, { toolCallId: 'b' })])
      expect(mends).toEqual(['input-as-object m1 a'])
      expect(codes(plain(...rows, ...answers), provider)).toEqual(['INPUT_NOT_OBJECT'])
    }
  })

  it('that was cut off has the input that came', () => {
    const { messages } = render([user('q'), assistant(streamed, pieces[0]!)], { provider: 'google-ai' })
    expect((messages[1]!.content as Part[])[0]).toMatchObject({ input: { city: 'Ro' } })
  })
})
