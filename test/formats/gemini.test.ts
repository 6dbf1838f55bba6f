import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { canonicalJson, stringifyJson } from '../../src/core/json.ts'
import type { Message } from '../../src/core/message.ts'
import { fromGemini } from '../../src/formats/google/from-gemini.ts'
import { toGemini } from '../../src/formats/google/to-gemini.ts'
import { geminiContents, geminiInstruction } from './gemini-contents.ts'

function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null) Object.values(Object.freeze(value)).forEach(frozen)
  return value
}

/** Reads and writes, also by way of the text a database would hold, and expects what was given. */
function expectSame(contents: readonly object[], systemInstruction?: unknown): void {
  const given = systemInstruction === undefined ? { contents } : { systemInstruction, contents }
  const read = fromGemini(frozen(given))
  for (const messages of [read, JSON.parse(stringifyJson(read)) as Message[]]) {
    const sent = toGemini(frozen(messages))
    expect(sent).toStrictEqual(given)
    expect(canonicalJson(sent)).toBe(canonicalJson(given))
  }
}

describe('the round trip', () => {
  it('gives back any contents, and changes nothing it was given', () => {
    fc.assert(
      fc.property(geminiContents, (contents) => expectSame(contents)),
      { numRuns: 2_000 },
    )
  })

  it('gives back any system instruction', () => {
    fc.assert(fc.property(geminiInstruction, (instruction) => expectSame([], instruction)))
  })
})
