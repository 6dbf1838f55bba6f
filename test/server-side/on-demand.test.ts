import { describe, expect, it } from 'vitest'
import { fromAnthropic, toAnthropic } from '../../src/adapters/anthropic/index.ts'
import { openStore, renderView, type Store } from '../../src/index.ts'
import { PrefixRule, type WireMessage } from '../support/prefix-server.ts'

const S = 's'
const SYSTEM = 'Be brief.'

/** Three turns with a rule that makes reasoning for each. */
async function threeTurns(): Promise<{ store: Store; rule: PrefixRule }> {
  const store = await openStore(':memory:', { env: false })
  const rule = new PrefixRule({ silent: 0 })
  await store.sessions.create({ id: S, provider: 'anthropic' })
  for (const text of ['One?', 'Two?', 'Three?']) await turn(store, rule, text)
  return { store, rule }
}

async function turn(store: Store, rule: PrefixRule, text: string): Promise<void> {
  await store.append(S, [{ role: 'user', content: text }])
  const { content } = rule.answer({ system: SYSTEM, messages: await sent(store) })
  await store.append(S, fromAnthropic([{ role: 'assistant', content }]))
}

async function sent(store: Store): Promise<WireMessage[]> {
  const { messages } = await store.renderHistory(S, { provider: 'anthropic' })
  return toAnthropic(messages, { forRequest: true }).messages as WireMessage[]
}

/** Has the rule summarize what precedes a message of the view, counted from 0, or all of it. */
async function summarize(store: Store, rule: PrefixRule, keep?: number) {
  const view = await store.getEffectiveHistory(S)
  const older = renderView(view.slice(0, keep), { provider: 'anthropic' }).messages
  const messages = toAnthropic(older, { forRequest: true }).messages as WireMessage[]
  const { content } = rule.answer({ system: SYSTEM, messages, compaction: { type: 'summarize' } })
  const [answer] = fromAnthropic([{ role: 'assistant', content }])
  return { answer: answer!, ...(keep !== undefined && { keepFrom: view[keep]!.id }) }
}

const texts = (messages: readonly WireMessage[]): string[] =>
  messages.map(({ role, content }) => {
    const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : content
    const [shown] = blocks.filter(({ type }) => !type.endsWith('thinking'))
    return `${role} ${shown!.type} ${String((shown as { text?: unknown }).text ?? '').slice(0, 9)}`.trim()
  })

describe('a summary that the provider wrote on demand', () => {
  it('is sent first, with its signature, before the turns that were kept, whose reasoning stays valid', async () => {
    const { store, rule } = await threeTurns()
    const input = await summarize(store, rule, 4)
    const { block, tokensBefore, tokensAfter } = await store.compactions.recordProvider(S, input)
    expect(block).toBe('recorded')
    expect(tokensAfter).toBeLessThan(tokensBefore)
    await turn(store, rule, 'Four?')
    expect(texts(await sent(store))).toEqual([
      'assistant compaction',
      'user text Three?',
      'assistant text Answer 3:',
      'user text Four?',
      'assistant text Answer 5:',
    ])
    expect(rule.refused).toEqual([])
    // The kept turn's block, when the fourth question was asked.
    expect(rule.requests.at(-1)).toMatchObject({ returned: 1, kept: 1, most: 1 })
    expect((await store.sessions.verify(S)).findings).toEqual([])
    await store.close()
  })

  it('keeps the reasoning of a session whose model checks it, until what was sent is shown again', async () => {
    const store = await openStore(':memory:', { env: false })
    const rule = new PrefixRule({ silent: 0 })
    await store.sessions.create({ id: S, provider: 'anthropic', model: 'claude-opus-5-5' })
    const ask = async (text: string): Promise<number> => {
      const request = await store.prepareRequest(S, { system: SYSTEM, prompt: text })
      const { messages } = toAnthropic(request.messages, { forRequest: true })
      const { content } = rule.answer({ system: SYSTEM, messages: messages as WireMessage[] })
      await store.recordResponse(S, { request, messages: fromAnthropic([{ role: 'assistant', content }]) })
      const { kept, most } = rule.requests.at(-1)!
      expect(kept).toBe(most)
      return kept
    }
    for (const text of ['One?', 'Two?', 'Three?']) await ask(text)
    const first = await store.compactions.recordProvider(S, await summarize(store, rule, 4))
    // The third answer's block; then that of the fourth too.
    expect(await ask('Four?')).toBe(1)
    expect(await ask('Five?')).toBe(2)
    // A block that stands for a block and two turns.
    const second = await store.compactions.recordProvider(S, await summarize(store, rule, 3))
    expect(await ask('Six?')).toBe(2)
    // The first block again: the third to the fifth answer, but not the sixth, which came after the second block.
    await store.undoCompaction(S, second.runId!)
    expect(await ask('Seven?')).toBe(3)
    // All messages: the first three answers alone came after them.
    await store.undoCompaction(S, first.runId!)
    expect(await ask('Eight?')).toBe(3)
    expect(rule.refused).toEqual([])
    await store.close()
  })

  it('covers the whole view without a first kept message', async () => {
    const { store, rule } = await threeTurns()
    await store.compactions.recordProvider(S, await summarize(store, rule))
    expect(texts(await sent(store))).toEqual(['assistant compaction'])
    await turn(store, rule, 'Four?')
    expect(rule.refused).toEqual([])
    await store.close()
  })

  it('is one compaction of kind provider, which is undone, redone, replaced by the next, and recorded once', async () => {
    const { store, rule } = await threeTurns()
    const before = await sent(store)
    const input = await summarize(store, rule, 4)
    const { runId } = await store.compactions.recordProvider(S, input)
    const compacted = await sent(store)
    expect(await store.listCompactions(S)).toMatchObject([{ kind: 'provider', rowsHidden: 4 }])
    await store.undoCompaction(S, runId!)
    expect(await sent(store)).toEqual(before)
    expect(await store.compactions.recordProvider(S, input)).toMatchObject({
      recorded: false,
      block: 'known',
    })
    await store.redoCompaction(S, runId!)
    expect(await sent(store)).toEqual(compacted)
    await turn(store, rule, 'Four?')
    await store.compactions.recordProvider(S, await summarize(store, rule, 3))
    // The second block covers the first: exactly one may be sent.
    expect(texts(await sent(store))).toEqual([
      'assistant compaction',
      'user text Four?',
      'assistant text Answer 5:',
    ])
    await turn(store, rule, 'Five?')
    expect(rule.refused).toEqual([])
    await store.close()
  })

  it('is refused with other content, without a block, or with a first kept message that is hidden', async () => {
    const { store, rule } = await threeTurns()
    const input = await summarize(store, rule, 4)
    const wrong = [
      { ...input, answer: { role: 'assistant' as const, content: 'No summary.' } },
      { ...input, answer: { role: 'assistant' as const, content: [] } },
      {
        ...input,
        answer: {
          ...input.answer,
          content: [...(input.answer.content as []), { type: 'text', text: 'And.' }],
        },
      },
      { keepFrom: input.keepFrom! },
      { ...input, messageId: input.keepFrom! },
    ]
    for (const one of wrong)
      await expect(store.compactions.recordProvider(S, one as never)).rejects.toMatchObject({
        code: 'INVALID_INPUT',
      })
    await expect(store.compactions.recordProvider(S, { ...input, keepFrom: 'other' })).rejects.toMatchObject({
      code: 'MESSAGE_NOT_FOUND',
    })
    await store.rewind(S, { from: { beforeMessage: input.keepFrom! } })
    await expect(store.compactions.recordProvider(S, input)).rejects.toMatchObject({ code: 'STALE_PLAN' })
    expect(await store.listCompactions(S)).toHaveLength(1)
    await store.close()
  })
})
