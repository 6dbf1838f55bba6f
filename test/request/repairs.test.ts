import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { toAnthropic } from '../../src/adapters/anthropic/index.ts'
import {
  type NewMessage,
  openStore,
  originalErrorOf,
  type PreparedRequest,
  type Store,
} from '../../src/index.ts'

let store: Store
beforeEach(async () => {
  store = await openStore(':memory:', { estimator: 'neurolink', env: false })
})
afterEach(() => store.close())

const findings = async (): Promise<unknown> => (await store.sessions.verify('s')).findings

function refusal(message: string, status = 400): Error {
  return Object.assign(new Error(`${status} ${message}`), {
    status,
    error: { type: 'error', error: { type: 'invalid_request_error', message } },
  })
}

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const BROKEN = 'bm8gaW1hZ2U='

const picture = (text: string, image: string): NewMessage => ({
  role: 'user',
  content: [
    { type: 'text', text },
    { type: 'image', image, mediaType: 'image/png' },
  ],
})

/** Calls with a server; returns the requests that it received. */
async function ask(
  server: (request: PreparedRequest) => void,
  options: object = { provider: 'anthropic', prompt: 'Go on.' },
): Promise<PreparedRequest[]> {
  const sent: PreparedRequest[] = []
  await store.withOverflowRecovery(
    's',
    (request) => {
      sent.push(request)
      server(request)
    },
    options,
  )
  return sent
}

/** Refuses an image, at its place in the wire form of Anthropic. */
const decodes =
  (message = 'Could not process image', named = true) =>
  (request: PreparedRequest): void => {
    for (const [m, { content }] of toAnthropic(request.messages).messages.entries())
      for (const [p, block] of (typeof content === 'string' ? [] : content).entries())
        if (JSON.stringify(block).includes(BROKEN))
          throw refusal(named ? `messages.${m}.content.${p}.image.source.base64: ${message}` : message)
  }

describe('a refusal of the content', () => {
  it('is answered after the part that it names is shown as a text, and nothing else changes', async () => {
    await store.append('s', [
      picture('This one', PNG),
      { role: 'assistant', content: 'A cat.' },
      picture('And this?', BROKEN),
      { role: 'assistant', content: 'A dog.' },
    ])
    const log = await store.getMessages('s')
    const before = await store.getEffectiveHistory('s')
    const sent = await ask(decodes())
    expect(sent).toHaveLength(2)
    const [compaction, ...others] = await store.listCompactions('s')
    expect(others).toEqual([])
    expect(compaction).toMatchObject({
      kind: 'repair',
      trigger: 'refusal',
      status: 'active',
      rowsHidden: 0,
      partsReplaced: 1,
      params: { refusal: 'media', path: 'messages.2.content.1.image.source.base64', provider: 'anthropic' },
    })
    expect(sent[1]!.repairs).toEqual([
      {
        compactionId: compaction!.id,
        kind: 'media',
        path: 'messages.2.content.1.image.source.base64',
        messageIds: [log[2]!.id],
      },
    ])
    const after = await store.getEffectiveHistory('s')
    expect(after.map(({ content }) => content)).toEqual(
      before.map(({ content }, at) =>
        at === 2
          ? [
              { type: 'text', text: 'And this?' },
              { type: 'text', text: '[image: the provider rejected it]' },
            ]
          : content,
      ),
    )
    // What people see is as it was, and the undo restores the view.
    const contents = (await store.getMessages('s')).map(({ content }) => content)
    expect(contents).toEqual(log.map(({ content }) => content))
    await store.undoCompaction('s', compaction!.id)
    expect(await store.getEffectiveHistory('s')).toEqual(before)
    await store.redoCompaction('s', compaction!.id)
    expect(await store.getEffectiveHistory('s')).toEqual(after)
    expect(await findings()).toEqual([])
  })

  it('without a place leads to the newest part that looks broken', async () => {
    await store.append('s', [
      picture('Broken', BROKEN),
      { role: 'assistant', content: 'No.' },
      picture('Good', PNG),
    ])
    const sent = await ask(decodes('Could not process image', false))
    expect(sent).toHaveLength(2)
    expect(JSON.stringify(sent[1]!.messages)).toContain(PNG)
  })

  it('without a place and without a suspect leads to all parts of the kind', async () => {
    // Each looks like an image, and the server cannot read the first.
    const odd = `${PNG.slice(0, 40)}AAAA`
    await store.append('s', [
      picture('Odd', odd),
      { role: 'assistant', content: 'No.' },
      picture('Good', PNG),
    ])
    const sent = await ask(({ messages }) => {
      if (JSON.stringify(messages).includes(odd)) throw refusal('Could not process image')
    })
    expect(sent).toHaveLength(3)
    // The first repair did not help, so it is undone.
    expect((await store.listCompactions('s')).map(({ kind, status }) => [kind, status])).toEqual([
      ['repair', 'undone'],
      ['repair', 'active'],
    ])
  })

  it('of a prompt that is not stored is passed on, and nothing is repaired', async () => {
    await store.append('s', [picture('Good', PNG), { role: 'assistant', content: 'Yes.' }])
    const error = await ask(decodes(), { provider: 'anthropic', prompt: picture('Broken', BROKEN) }).catch(
      (e) => e,
    )
    expect(error).toMatchObject({ status: 400 })
    expect(await store.listCompactions('s')).toEqual([])
  })

  it.each([
    ['a key', 401, 'invalid x-api-key'],
    ['a policy', 400, 'Output blocked by content filtering policy'],
    ['a rate limit', 429, 'messages.0.content.1: Could not process image'],
    ['a server', 500, 'messages.0.content.1: something went wrong'],
    ['roles', 400, 'messages: roles must alternate between "user" and "assistant"'],
  ])('for another reason (%s) is passed on at once', async (_, status, message) => {
    await store.append('s', [picture('Good', PNG)])
    const error = refusal(message, status)
    let calls = 0
    const thrown = await ask(() => {
      calls += 1
      throw error
    }).catch((e: unknown) => e)
    expect([thrown, calls]).toEqual([error, 1])
    expect(await store.listCompactions('s')).toEqual([])
  })

  it('is passed on when automatic changes are off', async () => {
    await store.append('s', [picture('Broken', BROKEN)])
    const error = await ask(decodes(), { provider: 'anthropic', auto: false }).catch((e) => e)
    expect(error).toMatchObject({ status: 400 })
    expect(await store.listCompactions('s')).toEqual([])
  })

  it('is passed on when a hook refuses the repair', async () => {
    const seen: unknown[] = []
    store.compactions.onBefore((about) => {
      seen.push([about.trigger, about.compactions.map(({ stage, partsReplaced }) => [stage, partsReplaced])])
      return false
    })
    await store.append('s', [picture('Broken', BROKEN)])
    const error = await ask(decodes()).catch((e) => e)
    expect(error).toMatchObject({ status: 400 })
    expect(seen).toEqual([['refusal', [['repair', 1]]]])
    expect(await store.listCompactions('s')).toEqual([])
  })

  it('that no repair removes ends with what was tried, and the view as it was', async () => {
    await store.append('s', [
      { role: 'user', content: 'Hello \u0007 you' },
      { role: 'assistant', content: 'Hi' },
    ])
    const before = await store.getEffectiveHistory('s')
    const error = refusal('messages.0.content.0.text: invalid character')
    const sent: string[] = []
    const thrown = await ask(({ messages }) => {
      sent.push(JSON.stringify(messages))
      throw error
    }).catch((e: unknown) => e)
    // Each request differs from those before.
    expect(sent).toHaveLength(3)
    expect(new Set(sent).size).toBe(3)
    const tried = {
      kind: 'characters',
      path: 'messages.0.content.0.text',
      messageIds: [before[0]!.id],
      undone: true,
    }
    expect(thrown).toMatchObject({
      code: 'REQUEST_REFUSED',
      facts: {
        sessionId: 's',
        provider: 'anthropic',
        kind: 'characters',
        path: 'messages.0.content.0.text',
        tried: [tried, tried],
      },
    })
    expect(String(thrown)).not.toContain('Hello')
    expect(originalErrorOf(thrown)).toBe(error)
    expect(await store.getEffectiveHistory('s')).toEqual(before)
  })

  it('repairs what laws protect from other compactions: pinned messages, system messages, reasoning of an open loop', async () => {
    await store.append('s', [
      { role: 'system', content: 'Be \ud83d brief.' },
      picture('Broken', BROKEN),
      {
        role: 'assistant',
        content: [
          { type: 'reasoning', text: 'Hm', providerOptions: { anthropic: { signature: 'poison' } } },
          { type: 'tool-call', toolCallId: 'toolu_1', toolName: 'look', input: {} },
        ],
      },
      {
        role: 'tool',
        content: [{ type: 'tool-result', toolCallId: 'toolu_1', output: { type: 'text', value: 'ok' } }],
      },
    ])
    await store.messages.pin('s', [(await store.getMessages('s'))[1]!.id])
    const sent = await ask(
      (request) => {
        decodes()(request)
        const { system, messages } = toAnthropic(request.messages)
        if (JSON.stringify(messages).includes('poison'))
          throw refusal('messages.1.content.0: Invalid `signature` in `thinking` block')
        if (JSON.stringify(system).includes('\\ud83d')) throw refusal('no low surrogate in string')
      },
      { provider: 'anthropic' },
    )
    expect(toAnthropic(sent.at(-1)!.messages)).toEqual({
      system: 'Be \ufffd brief.',
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Broken' },
            { type: 'text', text: '[image: the provider rejected it]' },
          ],
        },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'look', input: {} }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'ok' }] },
      ],
    })
    expect(await findings()).toEqual([])
  })

  it('of a call shows it and its result as texts, and both again after an undo', async () => {
    await store.append('s', [
      { role: 'user', content: 'Look' },
      {
        role: 'assistant',
        content: [{ type: 'tool-call', toolCallId: 'toolu_9', toolName: 'look', input: { path: 'a' } }],
      },
      {
        role: 'tool',
        content: [
          {
            type: 'tool-result',
            toolCallId: 'toolu_9',
            toolName: 'look',
            output: { type: 'text', value: 'ok' },
          },
        ],
      },
    ])
    const before = await store.renderHistory('s', { provider: 'anthropic' })
    const sent = await ask(({ messages }) => {
      if (JSON.stringify(messages).includes('tool-call'))
        throw refusal(
          'messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_9.',
        )
    })
    expect(toAnthropic(sent[1]!.messages).messages).toEqual([
      { role: 'user', content: 'Look' },
      { role: 'assistant', content: [{ type: 'text', text: '[Call of tool look] {"path":"a"}' }] },
      {
        role: 'user',
        content: [
          { type: 'text', text: '[Result of tool look] ok' },
          { type: 'text', text: 'Go on.' },
        ],
      },
    ])
    const id = (await store.listCompactions('s'))[0]!.id
    await store.undoCompaction('s', id)
    expect(await store.renderHistory('s', { provider: 'anthropic' })).toEqual(before)
  })
})
