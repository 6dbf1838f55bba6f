import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { checkContextBudget, getAvailableInputTokens } from '../../src/core/tokens/index.ts'

/*
 * Figures by hand: a text of n characters is ceil(ceil(n / 4) × multiplier × 1.15) tokens, a prompt 4 more, a history 4 a
 * message and 24 once, a tool ceil(length of its JSON / 4).
 */

const text = (characters: number): string => 'a'.repeat(characters)

describe('checkContextBudget', () => {
  it('counts all five categories', () => {
    const result = checkContextBudget({
      provider: 'openai',
      system: text(400),
      conversationMessages: [{ role: 'user', content: text(400) }],
      prompt: text(800),
      // {"name":"x"} is 12 characters.
      tools: [{ name: 'x' }, { name: 'x' }],
      files: [{ content: text(400) }, { content: '' }],
    })
    expect(result.breakdown).toEqual({
      systemPrompt: 119,
      conversationHistory: 143,
      currentPrompt: 234,
      toolDefinitions: 6,
      fileAttachments: 115,
    })
    expect(result.estimatedInputTokens).toBe(119 + 143 + 234 + 6 + 115)
    expect(result.availableInputTokens).toBe(83_200)
    expect(result.usageRatio).toBe(617 / 83_200)
    expect([result.withinBudget, result.shouldCompact]).toEqual([true, false])
  })

  it('is nothing for nothing', () => {
    expect(checkContextBudget({ provider: 'anthropic' })).toEqual({
      withinBudget: true,
      estimatedInputTokens: 0,
      availableInputTokens: 136_000,
      usageRatio: 0,
      shouldCompact: false,
      breakdown: {
        systemPrompt: 0,
        conversationHistory: 0,
        currentPrompt: 0,
        toolDefinitions: 0,
        fileAttachments: 0,
      },
    })
  })

  const large = text(400_000)
  it.each([
    ['systemPrompt', { system: large }],
    ['conversationHistory', { conversationMessages: [{ role: 'user', content: large }] }],
    ['currentPrompt', { prompt: large }],
    ['toolDefinitions', { tools: [{ description: large }] }],
    ['fileAttachments', { files: [{ content: large }] }],
  ])('%s alone, made large, makes compaction due', (_, request) => {
    expect(checkContextBudget({ provider: 'openai', ...request }).shouldCompact).toBe(true)
  })

  it('is due at exactly the threshold, and not just below', () => {
    const check = (characters: number): ReturnType<typeof checkContextBudget> =>
      checkContextBudget({
        provider: 'openai',
        contextWindow: 1_000,
        maxOutputTokens: 0,
        system: text(characters),
      })
    expect(check(691 * 4)).toMatchObject({ estimatedInputTokens: 799, shouldCompact: false })
    expect(check(692 * 4)).toMatchObject({ estimatedInputTokens: 800, usageRatio: 0.8, shouldCompact: true })
    expect(check(693 * 4)).toMatchObject({ estimatedInputTokens: 801, shouldCompact: true })
  })

  it('accepts another threshold, and reports what exceeds the window', () => {
    const request = { provider: 'openai', contextWindow: 1_000, maxOutputTokens: 900, system: text(400) }
    expect(checkContextBudget(request)).toMatchObject({ usageRatio: 1.19, withinBudget: false })
    const half = { ...request, maxOutputTokens: 762, compactionThreshold: 0.5 }
    expect(checkContextBudget(half)).toMatchObject({ usageRatio: 0.5, shouldCompact: true })
    expect(checkContextBudget({ ...half, compactionThreshold: 0.51 }).shouldCompact).toBe(false)
  })

  it('calls a window full that has no room for input', () => {
    const none = { provider: 'openai', contextWindow: 1_000, maxOutputTokens: 2_000 }
    expect(checkContextBudget(none)).toMatchObject({
      availableInputTokens: -1_000,
      usageRatio: 1,
      withinBudget: false,
      shouldCompact: true,
    })
  })

  it('counts for the provider, by whichever name', () => {
    // 100 × 1.23 × 1.15 = 141.45
    for (const provider of ['anthropic', 'Anthropic'])
      expect(checkContextBudget({ provider, system: text(400) }).breakdown.systemPrompt).toBe(146)
    expect(checkContextBudget({ provider: 'openai', model: 'gpt-4' }).availableInputTokens).toBe(
      getAvailableInputTokens('openai', 'gpt-4'),
    )
  })

  it('counts 200 for a tool that JSON cannot hold', () => {
    const circle: Record<string, unknown> = {}
    circle.self = circle
    const throwing = {
      toJSON: () => {
        throw new Error('no')
      },
    }
    const tools = [circle, { big: 10n }, undefined, () => 1, throwing]
    expect(checkContextBudget({ provider: 'openai', tools: tools }).breakdown.toolDefinitions).toBe(1_000)
  })

  it('counts the tools of the AI SDK as the definitions that a model receives', () => {
    // {"type":"function","name":"f","description":"d","inputSchema":{"type":"object"}}: 80 characters.
    const json = { description: 'd', inputSchema: { type: 'object' } }
    expect(checkContextBudget({ provider: 'openai', tools: { f: json } }).breakdown.toolDefinitions).toBe(20)
    // The function that runs the tool is not sent.
    const withCode = { f: { ...json, execute: () => 'x'.repeat(1_000), title: 'F' } }
    expect(checkContextBudget({ provider: 'openai', tools: withCode }).breakdown.toolDefinitions).toBe(20)
    const tokens = (inputSchema: unknown): number =>
      checkContextBudget({ provider: 'openai', tools: { f: { description: 'd', inputSchema } } }).breakdown
        .toolDefinitions
    // 80 characters, and those of the schema beyond {"type":"object"}.
    const schema = {
      $schema: 'http://json-schema.org/draft-07/schema#',
      type: 'object',
      properties: { at: { type: 'string' } },
      required: ['at'],
      additionalProperties: false,
    }
    const more = JSON.stringify(schema).length - JSON.stringify({ type: 'object' }).length
    expect(tokens({ jsonSchema: schema, validate: () => true })).toBe(Math.ceil((80 + more) / 4))
    const standard = { '~standard': { vendor: 'x', jsonSchema: { input: () => schema } } }
    expect(tokens(standard)).toBe(Math.ceil((80 + more) / 4))
    // With $schema first, and the other fields in another order.
    expect(tokens(z.object({ at: z.string() }))).toBe(Math.ceil((80 + more) / 4))
    const provided = { search: { type: 'provider', id: 'openai.web_search', args: {} } }
    // {"type":"provider","name":"search","id":"openai.web_search","args":{}}: 70 characters.
    expect(checkContextBudget({ provider: 'openai', tools: provided }).breakdown.toolDefinitions).toBe(18)
  })

  it('refuses a tool whose schema only the AI SDK can convert, with the way to do it', () => {
    for (const inputSchema of [{ _def: {}, parse: () => 1 }, { jsonSchema: Promise.resolve({}) }, 5])
      expect(() => checkContextBudget({ provider: 'openai', tools: { f: { inputSchema } } })).toThrow(
        /tools\.f: has an input schema .* asSchema/,
      )
    for (const tools of ['f', { f: 'x' }, 5])
      expect(() => checkContextBudget({ provider: 'openai', tools: tools as never })).toThrow(
        /tools: must be an array of definitions/,
      )
  })
})
