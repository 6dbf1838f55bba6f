import { describe, expect, it } from 'vitest'
import type { Part } from '../../src/core/messages/message.ts'
import { isEdited, TextRemover, withoutText } from '../../src/core/messages/text-removal.ts'

const REMOVED = '[removed]'
const removed = (pattern: string | RegExp, text: string): string =>
  new TextRemover(pattern, REMOVED).replaced(text)

describe('a removed text', () => {
  it.each([
    ['ab', 'xabyab', 'x[removed]y[removed]'],
    ['a.b', 'aXb a.b', 'aXb [removed]'],
    ['$&', 'x$&', 'x[removed]'],
    ['a\nb', 'a\\nb a\\\\nb a\\u000ab a\nb a\\x', '[removed] [removed] [removed] [removed] a\\x'],
    ['é', '\\u00e9 \\u00E9 é \\u00e8', '[removed] [removed] [removed] \\u00e8'],
    ['say "x"', 'say \\"x\\" say "x"', '[removed] [removed]'],
    ['c:\\d', 'c:\\d c:\\\\d c:\\\\\\\\d', '[removed] [removed] [removed]'],
    ['a/b', 'a\\/b a/b \\', '[removed] [removed] \\'],
    ['😀', '\\ud83d\\ude00 😀', '[removed] [removed]'],
  ])('%j in %j', (pattern, text, expected) => {
    expect(removed(pattern, text)).toBe(expected)
  })

  it('is removed again where what is left forms it again', () => {
    expect(new TextRemover('ab', '').replaced('aabb')).toBe('')
    expect(() => new TextRemover(/x+y/, 'y')).not.toThrow()
    expect(new TextRemover('ab', 'b').replaced('aaab')).toBe('b')
  })

  it('that grows again and again is an error, not an endless loop', () => {
    expect(() => new TextRemover('ax', 'aa').replaced(`${'a'.repeat(3)}${'x'.repeat(60)}`)).toThrow(
      /another replacement/,
    )
  })

  it.each(['', /a*/, /$/, /b|/])('%s matches an empty text', (pattern) => {
    expect(() => new TextRemover(pattern, REMOVED)).toThrow(/must not match an empty text/)
  })

  it('keeps the flags of an expression, without its state', () => {
    const expression = /KEY\d/giy
    expression.lastIndex = 5
    expect(removed(expression, 'key1 Key2')).toBe('[removed] [removed]')
    expect(expression.lastIndex).toBe(5)
  })

  it('takes linear time in a text of backslashes and in one of its beginnings', () => {
    const remover = new TextRemover(`"${'a\\'.repeat(20)}"`, REMOVED)
    for (const text of ['\\'.repeat(400_000), '"a\\\\'.repeat(100_000), `\\${'"a'.repeat(200_000)}`]) {
      const began = performance.now()
      expect(remover.replaced(text)).toBe(text)
      expect(performance.now() - began).toBeLessThan(2_000)
    }
  })
})

describe('a message without a text', () => {
  const without = (content: string | readonly Part[], metadata?: object) =>
    withoutText(
      { role: 'assistant', content, ...(metadata !== undefined && { metadata: metadata as never }) },
      new TextRemover('key', REMOVED),
    )

  it('is undefined if it has none of it', () => {
    expect(without('a text', { a: ['b'] })).toBeUndefined()
  })

  it('is marked, beside other marks', () => {
    const message = without('a key', { undertext: { brokenOff: 'length' } })!
    expect(message.metadata).toEqual({ undertext: { brokenOff: 'length', edited: true } })
    expect(isEdited(message)).toBe(true)
  })

  it('has no text in fields that are named like signatures', () => {
    const call: Part = {
      type: 'tool-call',
      toolCallId: 'key',
      toolName: 'key',
      input: { signature: 'a key' },
    }
    const text: Part = { type: 'text', text: 'on', providerOptions: { google: { thoughtSignature: 'key' } } }
    expect(without([call, text])!.content).toEqual([
      { ...call, input: { signature: 'a [removed]' } },
      { type: 'text', text: 'on' },
    ])
  })

  it('keeps a failed result failed, though its content is bound', () => {
    const bound = { type: 'provider', provider: 'x', data: { signature: 'key' } } as const
    const result: Part = {
      type: 'tool-result',
      toolCallId: 'c',
      output: { type: 'content', value: [bound], isError: true },
    }
    expect(without([result])!.content).toEqual([
      { ...result, output: { type: 'error-text', value: REMOVED } },
    ])
  })
})
