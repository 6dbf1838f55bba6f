import { describe, expect, it } from 'vitest'
import { requestDifference, type SentRequest } from '../../src/core/model/request-difference.ts'
import { call, say } from '../support/conversation.ts'

const SENT: SentRequest = {
  tools: '["t"]',
  system: '"s"',
  messages: [say('user', 'Hi'), say('assistant', 'Yes')],
}
const lineOf = (message: SentRequest['messages'][number]) => JSON.stringify([message.role, message.content])
const differ = (before: SentRequest, after: SentRequest) => requestDifference(before, after, lineOf)
const NOTHING = { tools: false, system: false, messages: false }

// `["t"]` and its end are 6 units, `"s"` 4, `["user","Hi"]` 14, `["assistant","Yes"]` 20.
const LENGTH = 44

describe('the difference of two requests', () => {
  it('is nothing for equal ones, all of which is shared', () => {
    expect(differ(SENT, SENT)).toEqual({
      length: { before: LENGTH, after: LENGTH, shared: LENGTH },
      messages: { same: 2, before: 2, after: 2 },
      changed: NOTHING,
    })
  })

  it('is nothing for a request that continues the other one', () => {
    const after = { ...SENT, messages: [...SENT.messages, say('user', 'On')] }
    expect(differ(SENT, after)).toEqual({
      length: { before: LENGTH, after: LENGTH + 14, shared: LENGTH },
      messages: { same: 2, before: 2, after: 3 },
      changed: NOTHING,
    })
  })

  it('is nothing if only parts are added to the last message', () => {
    const text = (of: string) => ({ type: 'text', text: of }) as const
    const before = { ...SENT, messages: [{ role: 'user', content: [text('a')] }] as const }
    const after = { ...SENT, messages: [{ role: 'user', content: [text('a'), text('b')] }] as const }
    // `["user",[{"type":"text","text":"a"}]]` is 37 units, the part of the second text 27 more with its comma.
    const found = differ(before, after)
    expect(found).toEqual({
      length: { before: 10 + 38, after: 10 + 38 + 27, shared: 10 + 38 },
      messages: { same: 0, before: 1, after: 1 },
      changed: NOTHING,
    })
    expect(differ(after, before)).toMatchObject({ changed: { messages: true } })
  })

  it('begins in the first message that changed', () => {
    const after = { ...SENT, messages: [say('user', 'Ho'), say('assistant', 'Yes'), say('user', 'On')] }
    expect(differ(SENT, after)).toEqual({
      // `["user","H` is shared.
      length: { before: LENGTH, after: LENGTH + 14, shared: 10 + 10 },
      firstChanged: {
        part: 'messages',
        message: 0,
        offset: 10,
        before: '["user","Hi"]',
        after: '["user","Ho"]',
      },
      messages: { same: 0, before: 2, after: 3 },
      changed: { ...NOTHING, messages: true },
    })
  })

  it('begins where messages are missing', () => {
    const after = { ...SENT, messages: SENT.messages.slice(0, 1) }
    expect(differ(SENT, after)).toEqual({
      length: { before: LENGTH, after: LENGTH - 20, shared: LENGTH - 20 },
      firstChanged: { part: 'messages', message: 1, offset: 0, before: '["assistant","Yes"]', after: '' },
      messages: { same: 1, before: 2, after: 1 },
      changed: { ...NOTHING, messages: true },
    })
  })

  it('begins in the tools, whatever follows, because they come first', () => {
    const after = { ...SENT, tools: '["u"]', messages: [call('c1', 'read', {})] }
    const found = differ(SENT, after)
    expect(found.length.shared).toBe(2)
    expect(found.firstChanged).toEqual({ part: 'tools', offset: 2, before: '["t"]', after: '["u"]' })
    expect(found.changed).toEqual({ tools: true, system: false, messages: true })
    expect(found.messages.same).toBe(0)
  })

  it('counts equal messages behind another system prompt, and shares nothing of a missing one', () => {
    const after = { ...SENT, system: '' }
    expect(differ(SENT, after)).toEqual({
      length: { before: LENGTH, after: LENGTH - 3, shared: 6 },
      firstChanged: { part: 'system', offset: 0, before: '"s"', after: '' },
      messages: { same: 2, before: 2, after: 2 },
      changed: { ...NOTHING, system: true },
    })
  })

  it('shows up to 60 units before a change and 140 after it', () => {
    const of = (letter: string) => ({ ...SENT, system: `${'x'.repeat(100)}${letter.repeat(200)}` })
    expect(differ(of('a'), of('b')).firstChanged).toEqual({
      part: 'system',
      offset: 100,
      before: `${'x'.repeat(60)}${'a'.repeat(140)}`,
      after: `${'x'.repeat(60)}${'b'.repeat(140)}`,
    })
  })

  it('never cuts a surrogate pair, neither where the texts part nor where they are shown', () => {
    // 😀 and 😁 have the same first half.
    const of = (emoji: string) => ({
      ...SENT,
      system: `${'x'.repeat(3)}${'😂'.repeat(40)}${emoji.repeat(100)}`,
    })
    const { firstChanged } = differ(of('😀'), of('😁'))
    // 3 units and 40 pairs; 60 units before begin at a pair, and 140 units are 70 pairs.
    expect(firstChanged).toMatchObject({ offset: 83, after: `${'😂'.repeat(30)}${'😁'.repeat(70)}` })
    const odd = (emoji: string) => ({ ...SENT, system: `${'😂'.repeat(40)}y${emoji.repeat(100)}` })
    // 60 units before 81 are in the middle of a pair: 59 units, `y` and 29 pairs, are shown.
    expect(differ(odd('😀'), odd('😁')).firstChanged).toMatchObject({
      offset: 81,
      before: `${'😂'.repeat(29)}y${'😀'.repeat(70)}`,
    })
  })
})
