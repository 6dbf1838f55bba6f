import { describe, expect, it } from 'vitest'
import { fromUIMessages } from '../../src/adapters/ai-sdk/index.ts'
import { afterTurn } from '../../src/compat/index.ts'
import { brokenOff } from '../../src/core/messages/stop-reason.ts'
import { openStore } from '../../src/index.ts'
import { exportHtml, exportMarkdown } from '../../src/transfer/index.ts'
import { say } from '../support/conversation.ts'

const answer = (metadata: object) => ({ role: 'assistant' as const, metadata: metadata as never })

describe('an answer that was broken off', () => {
  it('is stored as such by the calls that know its stop reason', async () => {
    await using store = await openStore(':memory:')
    for (const [at, [stopReason, expected]] of [
      ['max_tokens', 'length'],
      ['MAX_TOKENS', 'length'],
      ['aborted', 'stopped'],
      ['stop', undefined],
      ['tool_use', undefined],
      [undefined, undefined],
    ].entries()) {
      const recorded = { messages: [say('user', 'Why?'), say('assistant', 'Because')], stopReason }
      await store.recordResponse(`r${at}`, recorded)
      await afterTurn(store, `a${at}`, recorded)
      for (const id of [`r${at}`, `a${at}`]) {
        const [asked, answered] = await store.getMessages(id)
        expect(answered!.content).toBe('Because')
        expect(brokenOff(answered!), `${stopReason}`).toBe(expected)
        expect(asked!.metadata).toBeUndefined()
        if (expected === undefined) expect(answered!.metadata).toBeUndefined()
      }
    }
    const { metadata } = (await store.getMessages('r0'))[1]!
    expect(metadata).toEqual({ undertext: { brokenOff: 'length' } })
  })

  it('keeps its own metadata, and is recognized when it is recorded again', async () => {
    await using store = await openStore(':memory:')
    const messages = [{ ...say('assistant', 'Half'), metadata: { own: 1 }, idempotencyKey: 'k' }]
    for (let time = 0; time < 2; time++) await store.recordResponse('s', { messages, stopReason: 'length' })
    const rows = await store.getMessages('s')
    expect(rows.map(({ metadata }) => metadata)).toEqual([{ own: 1, undertext: { brokenOff: 'length' } }])
  })

  it('is recognized by what chats, agents and providers store', () => {
    const parts = (state: string) => [{ type: 'text', text: 'Hal', state }]
    const [streaming] = fromUIMessages([{ id: 'a', role: 'assistant', parts: parts('streaming') } as never])
    const [done] = fromUIMessages([{ id: 'a', role: 'assistant', parts: parts('done') } as never])
    expect(brokenOff(streaming!)).toBe('stopped')
    expect(brokenOff(done!)).toBeUndefined()
    expect(brokenOff(answer({ anthropic: { stop_reason: 'max_tokens' } }))).toBe('length')
    expect(brokenOff(answer({ anthropic: { stop_reason: 'end_turn' } }))).toBeUndefined()
    const ofLangChain = { response_metadata: { finish_reason: 'length' } }
    expect(brokenOff(answer({ langchain: ofLangChain }))).toBe('length')
    expect(brokenOff(answer({ langchain: { response_metadata: { finish_reason: 'stop' } } }))).toBeUndefined()
    expect(brokenOff(answer({ 'openai-agents': { status: 'incomplete' } }))).toBe('stopped')
    expect(brokenOff(answer({ 'openai-agents': { status: 'completed' } }))).toBeUndefined()
    const details = { incomplete_details: { reason: 'max_output_tokens' } }
    expect(brokenOff(answer({ 'openai-responses': { status: 'incomplete', ...details } }))).toBe('length')
    const entry = { type: 'assistant', message: { stop_reason: 'max_tokens' } }
    expect(brokenOff(answer({ 'claude-agent-sdk': { entry } }))).toBe('length')
    expect(brokenOff(answer({ pi: { type: 'message', message: { stopReason: 'aborted' } } }))).toBe('stopped')
    expect(
      brokenOff({ role: 'user', metadata: { anthropic: { stop_reason: 'max_tokens' } } }),
    ).toBeUndefined()
    for (const odd of [
      { a: null },
      { a: [] },
      { undertext: { brokenOff: 'x' } },
      { 'ai-sdk': { ui: { parts: 5 } } },
    ])
      expect(brokenOff(answer(odd))).toBeUndefined()
  })

  it('is shown as such in exports', async () => {
    await using store = await openStore(':memory:')
    await store.recordResponse('s', {
      messages: [say('user', 'Why?'), say('assistant', 'Because')],
      stopReason: 'length',
    })
    const read = async (lines: AsyncIterable<string>): Promise<string> => {
      let text = ''
      for await (const line of lines) text += line
      return text
    }
    expect(await read(exportMarkdown(store, 's'))).toContain('broken off at the limit of output')
    expect(await read(exportHtml(store, 's'))).toContain('broken off at the limit of output')
  })
})
