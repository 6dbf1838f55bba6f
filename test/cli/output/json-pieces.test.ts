import fc from 'fast-check'
import { expect, it } from 'vitest'
import { jsonPieces } from '../../../src/cli/context.ts'
import { printable } from '../../../src/cli/output/safe-text.ts'

async function* listOf(values: readonly unknown[]): AsyncGenerator<unknown> {
  yield* values
}

it('writes an object piece by piece with the same text as at once', async () => {
  const value = fc.oneof(fc.jsonValue(), fc.string({ unit: 'binary' }), fc.uint8Array({ maxLength: 4 }))
  const fields = fc.dictionary(fc.string(), fc.oneof(value, fc.constant(undefined), fc.array(value)))
  await fc.assert(
    fc.asyncProperty(fields, async (given) => {
      const streamed = Object.fromEntries(
        Object.entries(given).map(([name, one]) => [name, Array.isArray(one) ? listOf(one) : one]),
      )
      let text = ''
      for await (const piece of jsonPieces(streamed)) text += piece
      expect(text).toBe(`${printable(given)}\n`)
    }),
  )
})
