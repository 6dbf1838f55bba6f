import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { toAnthropic } from '../../src/adapters/anthropic/index.ts'
import { toOpenAI } from '../../src/adapters/openai/index.ts'
import { type NewMessage, openStore, type PreparedRequest, type Store } from '../../src/index.ts'
import { newFile } from '../support/temporary.ts'

/* Refusals that come at a bad moment, or are about a part in an unusual place. */

let store: Store
beforeEach(async () => {
  store = await openStore(':memory:', { estimator: 'neurolink', env: false })
})
afterEach(() => store.close())

function refusal(message: string, status = 400): Error {
  return Object.assign(new Error(`${status} ${message}`), {
    status,
    error: { type: 'error', error: { type: 'invalid_request_error', message } },
  })
}

const PNG = 'iVBORw0KGgo'
const image = (name: string) => ({ type: 'image', image: `${PNG}${name}`, mediaType: 'image/png' }) as const
/** A message of the user. */
const user = (...content: (string | ReturnType<typeof image>)[]): NewMessage => ({
  role: 'user',
  content: content.map((part) => (typeof part === 'string' ? { type: 'text', text: part } : part)),
})
const said = (content: string): NewMessage => ({ role: 'assistant', content })

/** The first block of a request that contains a text, with its path in the Messages API. */
function find({ messages }: PreparedRequest, poison: string): string | undefined {
  for (const [m, { content }] of toAnthropic(messages, { forRequest: true }).messages.entries())
    for (const [p, block] of (typeof content === 'string' ? [content] : content).entries())
      if (JSON.stringify(block).includes(poison)) return `messages.${m}.content.${p}`
  return undefined
}

/** Refuses each poison at its place. */
const refusing =
  (words: (path: string) => string, ...poison: string[]) =>
  (request: PreparedRequest): void => {
    for (const one of poison) {
      const path = find(request, one)
      if (path !== undefined) throw refusal(words(path))
    }
  }
const undecodable = (path: string): string => `${path}.image.source.base64: Could not process image`

const CLAUDE = { provider: 'anthropic', prompt: 'Go on.' }

async function ask(
  server: (request: PreparedRequest, attempt: number) => unknown,
  options: object = CLAUDE,
  sessionId = 's',
): Promise<PreparedRequest[]> {
  const sent: PreparedRequest[] = []
  await store.withOverflowRecovery(
    sessionId,
    async (request, attempt) => {
      sent.push(request)
      await server(request, attempt)
    },
    options,
  )
  return sent
}

const repairsOf = async (sessionId = 's') =>
  (await store.listCompactions(sessionId)).filter(({ kind }) => kind === 'repair')
const contents = async (sessionId = 's'): Promise<unknown[]> =>
  (await store.getEffectiveHistory(sessionId)).map(({ content }) => content)

afterEach(async () => {
  for (const { id } of await store.sessions.list())
    expect((await store.sessions.verify(id)).findings).toEqual([])
})

describe('a refusal of one part', () => {
  it('and then of another in the same message is repaired part by part', async () => {
    await store.append('s', [user('See.', image('badA'), image('good'), image('badB')), said('Seen.')])
    const sent = await ask(refusing(undecodable, 'badA', 'badB'))
    expect(sent).toHaveLength(3)
    expect((await contents())[0]).toEqual([
      { type: 'text', text: 'See.' },
      { type: 'text', text: '[image: the provider rejected it]' },
      image('good'),
      { type: 'text', text: '[image: the provider rejected it]' },
    ])
  })

  it('that is not sent any more after its repair keeps the repair when the next part has its place', async () => {
    const reasoning = (signature: string) =>
      ({ type: 'reasoning', text: 'Hm.', providerOptions: { anthropic: { signature } } }) as const
    const answer = (signature: string): NewMessage => ({
      role: 'assistant',
      content: [reasoning(signature), { type: 'text', text: 'Yes.' }],
    })
    await store.append('s', [user('A'), answer('badA'), user('B'), answer('badB'), user('C'), answer('good')])
    // This server names the answers that have reasoning, not the messages: both errors have the same words.
    const sent = await ask((request) => {
      if (['badA', 'badB'].some((one) => find(request, one) !== undefined))
        throw refusal('Invalid `signature` in `thinking` block')
    })
    expect(sent.length).toBeLessThanOrEqual(4)
    expect(find(sent.at(-1)!, 'bad')).toBeUndefined()

    // An empty text that is left out leaves its place to the next.
    await store.append('t', [
      user('Say.'),
      { role: 'assistant', content: [...blanks('\u2800', '\u2800', 'end')] },
    ])
    const others = await ask(
      (request) => {
        const path = find(request, '\u2800')
        if (path !== undefined)
          throw refusal(`${path}.text: text content blocks must contain non-whitespace text`)
      },
      CLAUDE,
      't',
    )
    expect(others).toHaveLength(3)
    expect((await repairsOf('t')).map(({ status, partsReplaced }) => [status, partsReplaced])).toEqual([
      ['active', 1],
      ['active', 1],
    ])
  })

  it('names the ids of ten calls one after the other: the third repair is of all that are left', async () => {
    for (let at = 0; at < 10; at++)
      await store.append('s', [
        user(`Look ${at}`),
        {
          role: 'assistant',
          content: [{ type: 'tool-call', toolCallId: `call_${at}_abcdefgh`, toolName: 'look', input: {} }],
        },
        {
          role: 'tool',
          content: [
            {
              type: 'tool-result',
              toolCallId: `call_${at}_abcdefgh`,
              toolName: 'look',
              output: { type: 'text', value: `saw ${at}` },
            },
          ],
        },
        said('Seen.'),
      ])
    // A gateway whose name says nothing of the provider after it.
    const sent = await ask(
      ({ messages }) => {
        const id = /"id":"(call_\d_\w+)"/.exec(JSON.stringify(toOpenAI(messages)))?.[1]
        if (id !== undefined)
          throw refusal(`Tool call id was ${id} but must be a-z, A-Z, 0-9, with a length of 9.`)
      },
      { provider: 'litellm', prompt: 'Go on.' },
    )
    expect(sent).toHaveLength(4)
    const shown = JSON.stringify(sent.at(-1)!.messages)
    for (let at = 0; at < 10; at++) expect(shown).toContain(`[Result of tool look] saw ${at}`)
    const repairs = await repairsOf()
    expect(repairs.map(({ status, partsReplaced }) => [status, partsReplaced])).toEqual([
      ['active', 1],
      ['active', 1],
      ['active', 8],
    ])
  })
})

describe('a place in a refusal', () => {
  const photos = (): NewMessage[] =>
    Array.from({ length: 12 }, (_, at) => [user(`Photo ${at}`, image(`photo${at}x`)), said('Nice.')]).flat()

  it('of an image that is too large is repaired there, and the other images stay', async () => {
    await store.append('s', photos())
    const sent = await ask(
      refusing(
        (path) => `${path}.image.source.base64: image exceeds 5 MB maximum: 6291456 bytes > 5242880 bytes`,
        'photo3x',
      ),
    )
    expect(sent).toHaveLength(2)
    const shown = JSON.stringify(sent[1]!.messages)
    for (let at = 0; at < 12; at++) expect(shown.includes(`photo${at}x`)).toBe(at !== 3)
    expect((await store.listCompactions('s')).map(({ kind }) => kind)).toEqual(['repair'])
  })

  it('does not count where the error names the most images that a request may have', async () => {
    await store.append('s', photos())
    const sent = await ask(({ messages }) => {
      if ((JSON.stringify(messages).match(/photo\d+x/g) ?? []).length > 8)
        throw refusal('messages.23.content.1: too many images and documents: 12 + 0 > 8')
    })
    expect(sent).toHaveLength(2)
    // Seven tenths of 8.
    expect(JSON.stringify(sent[1]!.messages).match(/photo\d+x/g)).toHaveLength(5)
    expect(await repairsOf()).toEqual([])
  })

  it('that the repair does not help is left as it was before others are shown as texts', async () => {
    await store.append('s', photos())
    const sent = await ask(({ messages }) => {
      const count = (JSON.stringify(messages).match(/photo\d+x/g) ?? []).length
      if (count > 6)
        throw refusal(
          'messages.6.content.1.image.source.base64.data: At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels',
        )
    })
    expect(sent).toHaveLength(3)
    expect((await store.listCompactions('s')).map(({ kind, status }) => [kind, status])).toEqual([
      ['repair', 'undone'],
      ['prune', 'active'],
    ])
    // Half of the 11 that the second request had.
    expect(JSON.stringify(sent[2]!.messages).match(/photo\d+x/g)).toHaveLength(5)
  })

  it.each([
    ['one that the application sent before the history', 'messages[3].content[1].image_url', 1],
    ['none', 'messages[2].content[1].image_url', 0],
    [
      'several, so that the place is of a part that cannot be the cause',
      'messages[5].content[1].image_url',
      3,
    ],
  ])('counts from another base, with messages of the application: %s', async (_, path, before) => {
    await store.append('s', [
      user('Hi.'),
      said('Hello.'),
      user('See.', image('bad')),
      said('Seen.'),
      said('End.'),
    ])
    const sent = await ask(
      ({ messages }) => {
        const own = Array.from({ length: before }, () => ({ role: 'system', content: 'Be brief.' }))
        const list: readonly object[] = [...own, ...toOpenAI(messages)]
        const at = list.findIndex((one) => JSON.stringify(one).includes('bad'))
        if (at === -1) return
        expect(`messages[${at}].content[1].image_url`).toBe(path)
        throw refusal(`Invalid '${path}'. You uploaded an unsupported image.`)
      },
      { provider: 'openai', prompt: 'Go on.' },
    )
    expect(sent).toHaveLength(2)
    expect((await repairsOf()).map(({ status, partsReplaced }) => [status, partsReplaced])).toEqual([
      ['active', 1],
    ])
  })
})

describe('poison', () => {
  it('in a summary is repaired there; the undo of both restores the history', async () => {
    await store.close()
    const summarizer = {
      name: 'made-up',
      usesModel: false,
      summarize: async () => ({ text: 'They counted \ue000badSign to four.' }),
    }
    store = await openStore(':memory:', { estimator: 'neurolink', env: false, summarizer })
    const filler = 'x '.repeat(1_000)
    for (const word of ['One', 'Two', 'Three'])
      await store.append('s', [user(`${word} ${filler}`), said(`${word}, yes. ${filler}`)])
    const before = await contents()
    await store.compactSession('s', {
      enablePrune: false,
      enableDeduplicate: false,
      enableTruncate: false,
      targetTokens: 100,
      keepRecentTokens: 10,
    })
    expect(JSON.stringify(await contents())).toContain('\ue000badSign')
    const summarized = await contents()
    const sent = await ask(refusing((path) => `${path}.text: invalid unicode character`, '\ue000badSign'))
    expect(JSON.stringify(sent.at(-1)!.messages)).toContain('They counted \ufffdbadSign to four.')
    const [repair] = await repairsOf()
    await store.undoCompaction('s', repair!.id)
    expect(await contents()).toEqual(summarized)
    await store.redoCompaction('s', repair!.id)
    const summary = (await store.listCompactions('s')).find(({ kind }) => kind !== 'repair')!
    await store.undoCompaction('s', summary.id)
    expect(await contents()).toEqual(before)
  })

  it.each([
    [
      'named by its id',
      'Item with id cmp_1 not found. Items are not persisted when `store` is set to false.',
    ],
    ['encrypted for another key', 'The encrypted content gAAA...DQ== could not be verified.'],
  ])(
    'in the block of a compaction that a provider made, %s: the messages before it are shown again',
    async (_, message) => {
      await store.append('s', [user('Never call me.'), said('Noted.'), user('Hello.')])
      const before = await contents()
      const data = { type: 'compaction', id: 'cmp_1', encrypted_content: 'b3BhcXVl' }
      await store.append('s', [
        { role: 'assistant', content: [{ type: 'provider', provider: 'openai', data }] },
      ])
      await store.append('s', [said('Hi.')])
      const compacted = await contents()
      expect(JSON.stringify(compacted)).not.toContain('Never call me.')
      const sent = await ask(
        ({ messages }) => {
          if (JSON.stringify(messages).includes('b3BhcXVl')) throw refusal(message)
        },
        { provider: 'openai', prompt: 'Go on.' },
      )
      expect(sent).toHaveLength(2)
      expect(JSON.stringify(sent[1]!.messages)).toContain('Never call me.')
      expect((await contents()).slice(0, 3)).toEqual(before)
      const [block] = await store.listCompactions('s')
      expect(block).toMatchObject({ kind: 'provider', status: 'undone' })
      await store.redoCompaction('s', block!.id)
      expect(await contents()).toEqual(compacted)
    },
  )

  it('before reasoning that is bound to it: the reasoning is left out with the repair, and sent again after its undo', async () => {
    await store.sessions.create({ id: 's', provider: 'anthropic', model: 'claude-opus-5-5' })
    await store.append('s', [
      user('See.', image('bad')),
      {
        role: 'assistant',
        content: [
          { type: 'reasoning', text: 'Hm.', providerOptions: { anthropic: { signature: 'sigOld' } } },
          { type: 'text', text: 'Seen.' },
        ],
      },
    ])
    const sent = await ask(refusing(undecodable, 'bad'), { prompt: 'Go on.' })
    expect(sent.map((request) => find(request, 'sigOld') !== undefined)).toEqual([true, false])
    await store.undoCompaction('s', (await repairsOf())[0]!.id)
    const again = await store.prepareRequest('s', { prompt: 'Go on.' })
    expect(find(again, 'sigOld')).toBeDefined()
  })

  it('in a prompt that is not stored is passed on at once, when nothing else may be the cause', async () => {
    await store.append('s', [user('Hello.', image('good')), said('Hi.')])
    const prompts: readonly (readonly [NewMessage, string])[] = [
      [user('A sign \u0007'), 'We could not parse the JSON body of your request.'],
      [user('See', { ...image(''), image: 'bm8gaW1hZ2U=' as never }), 'Could not process image'],
    ]
    for (const [prompt, message] of prompts) {
      let calls = 0
      const error = refusal(message)
      const thrown = await ask(
        () => {
          calls += 1
          throw error
        },
        { provider: 'anthropic', prompt },
      ).catch((e: unknown) => e)
      expect([thrown, calls]).toEqual([error, 1])
    }
    expect(await store.listCompactions('s')).toEqual([])
  })

  it('in a row that a fork shares is repaired in the session that asks, and only there', async () => {
    await store.append('s', [user('See.', image('bad')), said('Seen.')])
    await store.sessions.fork('s', { id: 'fork' })
    const before = await contents()
    await ask(refusing(undecodable, 'bad'), CLAUDE, 'fork')
    expect(JSON.stringify(await contents('fork'))).not.toContain('bad')
    expect(await contents()).toEqual(before)
    expect(await repairsOf()).toEqual([])
    await ask(refusing(undecodable, 'bad'))
    expect(await contents()).toEqual(await contents('fork'))
    // A fork of what was repaired has the repair.
    await store.sessions.fork('s', { id: 'later' })
    expect((await ask(refusing(undecodable, 'bad'), CLAUDE, 'later')).length).toBe(1)
  })

  it('in a part that shows a replacement is repaired in what it shows, and the undo shows that again', async () => {
    const long = 'line \ue000badSign of the output\n'.repeat(20_000)
    await store.append('s', [
      user('Look.'),
      { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'c1', toolName: 'look', input: {} }] },
      {
        role: 'tool',
        content: [
          { type: 'tool-result', toolCallId: 'c1', toolName: 'look', output: { type: 'text', value: long } },
        ],
      },
      said('Seen.'),
    ])
    expect((await store.listCompactions('s')).map(({ kind }) => kind)).toEqual(['preview'])
    const shown = await contents()
    await ask(refusing((path) => `${path}: invalid unicode character`, '\ue000badSign'))
    const repaired = JSON.stringify(await contents())
    expect(repaired).toBe(JSON.stringify(shown).replaceAll('\ue000', '\ufffd'))
    const [repair] = await repairsOf()
    await store.undoCompaction('s', repair!.id)
    expect(await contents()).toEqual(shown)
  })
})

describe('while a request is repaired', () => {
  it('another writer changes the view before the repair: the request is sent again with that change', async () => {
    await store.append('s', [user('Old.', image('bad')), said('Seen.'), user('New.'), said('Yes.')])
    const [first, second] = await store.getMessages('s')
    const sent = await ask(async (request, attempt) => {
      if (attempt === 1) await store.compactions.hide('s', [first!.id, second!.id])
      refusing(undecodable, 'bad')(request)
    })
    expect(sent).toHaveLength(2)
    // What is hidden needs no repair.
    expect(await repairsOf()).toEqual([])
  })

  it('another writer changes the view within the repair: it is planned again on the view as it is', async () => {
    await store.append('s', [user('See.', image('bad')), said('Seen.'), user('Old.'), said('Yes.')])
    const rows = await store.getMessages('s')
    let vetoes = 0
    store.compactions.onBefore(async ({ trigger }) => {
      if (trigger !== 'refusal' || vetoes++ > 0) return
      await store.compactions.hide('s', [rows[0]!.id, rows[1]!.id])
    })
    const sent = await ask(refusing(undecodable, 'bad'))
    expect(sent).toHaveLength(2)
    expect(find(sent[1]!, 'bad')).toBeUndefined()
    expect(await repairsOf()).toEqual([])
  })

  it('messages that were appended meanwhile are no part of the request, and are not repaired', async () => {
    await store.append('s', [user('See.', image('odd')), said('Seen.')])
    const sent = await ask(async (request, attempt) => {
      if (attempt === 1) await store.append('s', [user('Later.', image('good'))])
      if (find(request, 'odd') !== undefined) throw refusal('Could not process image')
    })
    expect(sent).toHaveLength(2)
    expect(JSON.stringify(await contents())).toContain('good')
    expect(await repairsOf()).toHaveLength(1)
  })

  it('another writer compacts what was repaired: the answer comes, and the undo of both restores the view', async () => {
    const filler = 'x '.repeat(600)
    await store.append('s', [
      user('See.', image('bad')),
      said(filler),
      user(filler),
      said(filler),
      user('Now.'),
      said('Yes.'),
    ])
    const before = await contents()
    const sent = await ask(async (request, attempt) => {
      if (attempt === 2)
        await store.compactSession('s', {
          enablePrune: false,
          enableDeduplicate: false,
          enableTruncate: false,
          targetTokens: 100,
          keepRecentTokens: 10,
        })
      refusing(undecodable, 'bad')(request)
    })
    expect(sent).toHaveLength(2)
    const made = (await store.listCompactions('s')).filter(({ status }) => status === 'active')
    expect(made.map(({ kind }) => kind === 'repair')).toEqual([true, false])
    for (const { id } of made.toReversed()) await store.undoCompaction('s', id)
    expect(await contents()).toEqual(before)
  })

  it('two calls meet the same poison: both are answered', async () => {
    await store.append('s', [user('See.', image('bad')), said('Seen.')])
    const both = await Promise.all([1, 2, 3].map(() => ask(refusing(undecodable, 'bad'))))
    for (const sent of both) expect(sent.length).toBeLessThanOrEqual(3)
    expect((await repairsOf()).filter(({ status }) => status === 'active')).toHaveLength(1)
  })

  it('another writer undoes the repair: the error reports as undone what is not in force', async () => {
    await store.append('s', [user('See.', image('bad')), said('Seen.'), user('More.'), said('Yes.')])
    const rows = await store.getMessages('s')
    const error = refusal('messages.0.content.1.image.source.base64: Could not process image')
    const thrown = await ask(async (_, attempt) => {
      if (attempt === 2) await store.undoCompaction('s', (await repairsOf())[0]!.id)
      throw error
    }).catch((e: unknown) => e)
    expect(thrown).toMatchObject({
      code: 'REQUEST_REFUSED',
      facts: { tried: [{ messageIds: [rows[0]!.id] }] },
    })
    const inForce = (await repairsOf()).filter(({ status }) => status === 'active')
    const { tried } = (thrown as { facts: { tried: readonly { undone: boolean }[] } }).facts
    expect(tried.filter(({ undone }) => !undone)).toHaveLength(inForce.length)
  })
})

describe('a refusal is passed on unchanged', () => {
  it('by a store that is read only', async () => {
    const path = newFile()
    const writer = await openStore(path, { env: false })
    await writer.append('s', [user('See.', image('bad')), said('Seen.')])
    await writer.close()
    await using reader = await openStore(path, { env: false, readonly: true })
    const error = refusal('Could not process image')
    let calls = 0
    const thrown = await reader
      .withOverflowRecovery(
        's',
        () => {
          calls += 1
          throw error
        },
        CLAUDE,
      )
      .catch((e: unknown) => e)
    expect([thrown, calls]).toEqual([error, 1])
  })

  it.each([
    ['the setting auto: false of the store', { config: { auto: false } }, {}],
    ['auto: false of the call', {}, { auto: false }],
  ])('with %s', async (_, storeOptions, callOptions) => {
    await store.close()
    store = await openStore(':memory:', { env: false, ...storeOptions } as never)
    await store.append('s', [user('See.', image('bad')), said('Seen.')])
    const thrown = await ask(refusing(undecodable, 'bad'), { ...CLAUDE, ...callOptions }).catch(
      (e: unknown) => e,
    )
    expect(thrown).toMatchObject({ status: 400 })
    expect(await store.listCompactions('s')).toEqual([])
  })

  it('when a hook refuses the repair, which is asked once', async () => {
    await store.append('s', [user('See.', image('bad')), said('Seen.')])
    const asked: unknown[] = []
    store.compactions.onBefore(({ trigger }) => {
      asked.push(trigger)
      return false
    })
    const large = (path: string): string => `${path}.image.source.base64: image exceeds 5 MB maximum`
    const thrown = await ask(refusing(large, 'bad')).catch((e: unknown) => e)
    expect(thrown).toMatchObject({ status: 400 })
    expect(asked.filter((trigger) => trigger === 'refusal')).toHaveLength(1)
  })

  it('after an abort', async () => {
    await store.append('s', [user('See.', image('bad')), said('Seen.')])
    const controller = new AbortController()
    const error = refusal('messages.0.content.1: Could not process image')
    const thrown = await ask(
      () => {
        controller.abort()
        throw error
      },
      { ...CLAUDE, signal: controller.signal },
    ).catch((e: unknown) => e)
    expect(thrown).toBe(error)
    expect(await store.listCompactions('s')).toEqual([])
  })
})

it('after three repairs the error says what was tried; those that helped stay, and the next call goes on', async () => {
  const names = ['badA', 'badB', 'badC', 'badD', 'badE']
  await store.append(
    's',
    names.flatMap((name) => [user('See.', image(name)), said('Seen.')]),
  )
  const rows = await store.getMessages('s')
  const thrown = await ask(refusing(undecodable, ...names)).catch((e: unknown) => e)
  expect(thrown).toMatchObject({
    code: 'REQUEST_REFUSED',
    facts: {
      kind: 'media',
      path: 'messages.6.content.1.image.source.base64',
      tried: [0, 2, 4].map((at) => ({
        kind: 'media',
        path: `messages.${at}.content.1.image.source.base64`,
        messageIds: [rows[at]!.id],
        undone: false,
      })),
    },
  })
  expect(await ask(refusing(undecodable, ...names))).toHaveLength(3)
  expect((await repairsOf()).map(({ status }) => status)).toEqual(Array.from(names, () => 'active'))
  // What people see is as it was.
  expect((await store.getMessages('s')).map(({ content }) => content)).toEqual(
    rows.map(({ content }) => content),
  )
})

function blanks(...texts: string[]) {
  return texts.map((text) => ({ type: 'text', text }) as const)
}
