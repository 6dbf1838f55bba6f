import { describe, expect, it } from 'vitest'
import {
  type Block,
  type MessagesBody,
  PrefixRule,
  startPrefixServer,
  type WireMessage,
} from './prefix-server.ts'

/* The rule, by the rows of the table "What counts as an edit" of Anthropic's page on preserved thinking. */

const TOOL = { name: 'find', description: 'Finds.', input_schema: { type: 'object' } }

/** A rule and a conversation of three answers, each with reasoning, the first with a call. */
function conversation(): { rule: PrefixRule; body: MessagesBody } {
  for (let seed = 1; ; seed++) {
    const rule = new PrefixRule({ seed, calls: 1, silent: 0 })
    const messages: WireMessage[] = [{ role: 'user', content: 'One?' }]
    const body = { system: 'Be brief.', tools: [TOOL], messages }
    const answers = [1, 2, 3].map((number) => {
      const { content } = rule.answer(body)
      messages.push({ role: 'assistant', content })
      const calls = content.filter(({ type }) => type === 'tool_use')
      const results = calls.map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: 'Found.' }))
      messages.push({ role: 'user', content: calls.length > 0 ? results : `And ${number}?` })
      return content
    })
    const isWanted = answers.every(
      (content, at) =>
        reasoningIn(content).length === 1 && content.some(({ type }) => type === 'tool_use') === (at === 0),
    )
    if (isWanted) return { rule, body }
  }
}

function reasoningIn(content: WireMessage['content']): Block[] {
  return typeof content === 'string' ? [] : content.filter(({ type }) => type.endsWith('thinking'))
}

/** The conversation with some messages changed. */
function changed(
  body: MessagesBody,
  change: (message: WireMessage, at: number) => WireMessage,
): MessagesBody {
  return { ...body, messages: body.messages.map(change) }
}

/** Without the reasoning of some answers, counted from 0. */
function without(body: MessagesBody, ...answers: number[]): MessagesBody {
  return changed(body, ({ role, content }, at) =>
    answers.includes((at - 1) / 2) && typeof content !== 'string'
      ? { role, content: content.filter(({ type }) => !type.endsWith('thinking')) }
      : { role, content },
  )
}

function refusalOf(rule: PrefixRule, body: MessagesBody): string | undefined {
  try {
    rule.answer(body)
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}

const between: WireMessage = { role: 'user', content: 'By the way.' }

const figures = ({ requests }: PrefixRule) => {
  const { returned, kept, most } = requests.at(-1)!
  return { returned, kept, most }
}

describe('a server that binds reasoning to its prefix', () => {
  it('accepts what was sent before and messages after it', () => {
    const { rule, body } = conversation()
    expect(refusalOf(rule, body)).toBeUndefined()
    expect(figures(rule)).toEqual({ returned: 3, kept: 3, most: 3 })
  })

  it('compares neither cache marks, nor the order of keys, nor other fields of the request', () => {
    const { rule, body } = conversation()
    const marked = changed(body, ({ content, role }) => ({
      content:
        typeof content === 'string'
          ? [{ cache_control: { type: 'ephemeral' }, text: content, type: 'text' }]
          : content,
      role,
    }))
    expect(
      refusalOf(rule, { ...marked, max_tokens: 7, tool_choice: { type: 'none' } } as MessagesBody),
    ).toBeUndefined()
  })

  it.each([
    ['the system prompt changed', (body: MessagesBody) => ({ ...body, system: 'Be long.' }), 1],
    ['a tool changed', (body: MessagesBody) => ({ ...body, tools: [{ ...TOOL, description: 'Seeks.' }] }), 1],
    [
      'the first message changed',
      (body: MessagesBody) => changed(body, (m, at) => (at === 0 ? { ...m, content: 'Uno?' } : m)),
      1,
    ],
    [
      'a tool result changed',
      (body: MessagesBody) =>
        changed(body, (m, at) =>
          at === 2 ? { ...m, content: (m.content as Block[]).map((b) => ({ ...b, content: 'Gone.' })) } : m,
        ),
      3,
    ],
    [
      'a turn is missing',
      (body: MessagesBody) => ({ ...body, messages: [body.messages[0]!, ...body.messages.slice(3)] }),
      1,
    ],
  ])('refuses, with the path of the first block after it, when %s', (_, change, at) => {
    const { rule, body } = conversation()
    const message = refusalOf(rule, change(body))
    expect(message).toMatch(
      new RegExp(
        `^messages\\.${at}\\.content\\.0: Invalid \`signature\` in \`(redacted_)?thinking\` block\\. The block is bound to a different conversation\\.`,
      ),
    )
  })

  it('accepts another deferred tool', () => {
    const { rule, body } = conversation()
    const deferred = { ...TOOL, name: 'later', defer_loading: true }
    expect(refusalOf(rule, { ...body, tools: [TOOL, deferred] })).toBeUndefined()
  })

  it('accepts reasoning that is left out at the beginning, at the end, or everywhere, and counts it as missing', () => {
    const { rule, body } = conversation()
    for (const [answers, kept] of [
      [[0], 2],
      [[0, 1], 1],
      [[2], 2],
      [[1, 2], 1],
      [[0, 1, 2], 0],
    ] as const) {
      expect(refusalOf(rule, without(body, ...answers))).toBeUndefined()
      expect(figures(rule)).toEqual({ returned: kept, kept, most: 3 })
    }
  })

  it('refuses reasoning after a gap', () => {
    const { rule, body } = conversation()
    expect(refusalOf(rule, without(body, 1))).toMatch(
      /^messages\.5\.content\.0: .* bound to a different conversation/,
    )
  })

  it('refuses reasoning that was produced while earlier reasoning, which is back, was left out', () => {
    const { rule, body } = conversation()
    const bare = without(body, 0, 1, 2)
    const { content } = rule.answer(bare)
    expect(reasoningIn(content)).toHaveLength(1)
    const more = (start: MessagesBody): MessagesBody => ({
      ...start,
      messages: [...start.messages, { role: 'assistant', content }, { role: 'user', content: 'Well?' }],
    })
    expect(refusalOf(rule, more(bare))).toBeUndefined()
    // Three old ones, or the new one: three are more.
    expect(figures(rule).most).toBe(3)
    expect(refusalOf(rule, more(body))).toMatch(
      /^messages\.7\.content\.0: .* bound to a different conversation/,
    )
  })

  it('drops what fails, and what came after it then, if the request says so; what is produced now stays valid', () => {
    const { rule, body } = conversation()
    const lenient = { thinking: { block_binding: { prefix_mismatch_behavior: 'drop_block' } } }
    const shorter = {
      ...body,
      ...lenient,
      messages: [{ role: 'user', content: 'A summary.' }, ...body.messages.slice(3)],
    }
    const { content } = rule.answer(shorter)
    expect(figures(rule)).toEqual({ returned: 2, kept: 0, most: 0 })
    expect(reasoningIn(content)).toHaveLength(1)
    const messages = [...shorter.messages, { role: 'assistant', content }, { role: 'user', content: 'Well?' }]
    rule.answer({ ...shorter, messages })
    expect(figures(rule)).toMatchObject({
      kept: reasoningIn(content).length,
      most: reasoningIn(content).length,
    })
  })

  it('refuses reasoning whose text or signature is not its own', () => {
    const { rule, body } = conversation()
    const forged = changed(body, (message, at) =>
      at === 1 && typeof message.content !== 'string'
        ? {
            ...message,
            content: message.content.map((block) => ({
              ...block,
              thinking: 'Other.',
              signature: 'x',
              data: 'x',
            })),
          }
        : message,
    )
    expect(refusalOf(rule, forged)).toMatch(
      /^messages\.1\.content\.0: Invalid `signature` in `(redacted_)?thinking` block$/,
    )
  })

  it('accepts a summary that it wrote in place of what it summarizes, with the reasoning of the kept turns', () => {
    const { rule, body } = conversation()
    const older = { ...body, messages: body.messages.slice(0, 4), compaction: { type: 'summarize' } }
    const { content, stopReason } = rule.answer(older)
    expect(stopReason).toBe('compaction')
    const [summary, kept] = [{ role: 'assistant', content }, body.messages.slice(4)]
    expect(refusalOf(rule, { ...body, messages: [summary, ...kept] })).toBeUndefined()
    expect(figures(rule)).toEqual({ returned: 1, kept: 1, most: 1 })
    // A message before the kept ones is not what was there, and another system prompt is another conversation.
    expect(refusalOf(rule, { ...body, messages: [summary, between, ...kept] })).toMatch(/^messages\.3\./)
    expect(refusalOf(rule, { ...body, system: 'Be long.', messages: [summary, ...kept] })).toMatch(
      /^messages\.2\./,
    )
  })

  it('refuses kept reasoning if the first kept message has the role of the last one that was summarized', () => {
    const { rule, body } = conversation()
    const older = { ...body, messages: [...body.messages.slice(0, 4), { role: 'user', content: 'And 2?' }] }
    const { content } = rule.answer({ ...older, compaction: { type: 'summarize' } })
    const more = { role: 'user', content: 'Or 3?' }
    const longer = { ...body, messages: [...older.messages, more] }
    const answer = { role: 'assistant', content: rule.answer(longer).content }
    const swapped = { ...body, messages: [{ role: 'assistant', content }, more, answer, between] }
    expect(refusalOf(rule, swapped)).toMatch(/^messages\.2\.content\.0: .* bound to a different conversation/)
  })

  it('speaks HTTP, whole and streamed, and refuses with status 400', async () => {
    const server = await startPrefixServer({ seed: 3 })
    const ask = async (body: object) => {
      const response = await fetch(`${server.anthropicUrl}/messages`, {
        method: 'POST',
        body: JSON.stringify(body),
      })
      return { status: response.status, text: await response.text() }
    }
    const first = { role: 'user', content: 'One?' }
    const whole = await ask({ messages: [first] })
    const { content } = JSON.parse(whole.text) as { content: Block[] }
    expect([whole.status, reasoningIn(content).length]).toEqual([200, 1])
    const streamed = await ask({ stream: true, messages: [first, { role: 'assistant', content }, first] })
    expect(streamed.text).toMatch(/^event: message_start\n[\s\S]*event: message_stop\n/)
    const other = { role: 'user', content: 'Two?' }
    const refused = await ask({ messages: [other, { role: 'assistant', content }, first] })
    expect(refused.status).toBe(400)
    expect(JSON.parse(refused.text)).toMatchObject({
      error: {
        type: 'invalid_request_error',
        message: expect.stringContaining('bound to a different conversation'),
      },
    })
    await server.close()
  })
})
