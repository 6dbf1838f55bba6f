import { describe, expect, it } from 'vitest'
import { isContextOverflowError } from '../../../src/compat/overflow.ts'
import { readRefusal, wirePathOf } from '../../../src/core/overflow/read-refusal.ts'
import { REPAIRS } from '../../../src/store/requests/repair-parts.ts'
import { OTHERS, OVERFLOWS } from './labelled.ts'
import { LAST_OTHERS, LAST_OVERFLOWS } from './labelled-last.ts'
import { LATER_OTHERS, LATER_OVERFLOWS } from './labelled-later.ts'
import { PROBE_OTHERS, PROBE_OVERFLOWS } from './labelled-probe.ts'
import { OTHER_REASONS, REFUSALS } from './refusals.ts'

describe('a refusal of the content', () => {
  it.each(REFUSALS)('of %s is read with kind, place and ids', (_, error, kind, path, ids = []) => {
    expect(isContextOverflowError(error)).toBe(false)
    const refusal = readRefusal(error)
    expect({ kind: refusal?.kind, path: refusal?.path }).toEqual({ kind, path })
    expect(refusal?.ids).toEqual(ids)
  })

  it.each(OTHER_REASONS)('is not %s', (_, error) => {
    expect(readRefusal(error)).toBeNull()
  })

  it('is no overflow', () => {
    for (const [error] of [...OVERFLOWS, ...LATER_OVERFLOWS, ...PROBE_OVERFLOWS, ...LAST_OVERFLOWS])
      expect(readRefusal(error)).toBeNull()
  })

  it('is found among the other errors that were collected only where one is', () => {
    const read = [...OTHERS, ...LATER_OTHERS, ...PROBE_OTHERS, ...LAST_OTHERS].flatMap((error) => {
      const refusal = readRefusal(error)
      return refusal === null ? [] : [[refusal.kind, refusal.path]]
    })
    expect(read).toEqual([
      // A text of 1,540,820 characters, where 1,048,576 are allowed.
      ['part', 'messages[1].content'],
      // An image of 6 MB, where 5 MB are allowed.
      ['media', 'messages.0.content.1.image.source.base64'],
      // A message with texts beside results.
      ['part', 'messages.32.content'],
      ['cache-mark', undefined],
      ['call-without-result', 'messages.5'],
      ['empty', undefined],
      // Images that are too large.
      ['media', undefined],
      ['media', 'messages.0.content.0.image.source.base64.data'],
      ['call', undefined],
    ])
  })

  it('has no text of the conversation in its facts', () => {
    const error = anthropicish(
      'messages.3.content.0.tool_use.input.the_secret_name: Input should be a valid dictionary',
    )
    expect(readRefusal(error)).toEqual({
      kind: 'input',
      path: 'messages.3.content.0.tool_use.input',
      ids: [],
      status: 400,
    })
  })

  it('is of each kind in the labelled set', () => {
    expect(new Set(REFUSALS.map(([, , kind]) => kind))).toEqual(new Set(Object.keys(REPAIRS)))
  })
})

function anthropicish(message: string): unknown {
  return Object.assign(new Error(message), { status: 400, error: { type: 'error', error: { message } } })
}

it.each([
  ['messages.88.content.1', { root: 'messages', index: 88, part: 1 }],
  ['messages.6', { root: 'messages', index: 6 }],
  ['messages.[14].role', { root: 'messages', index: 14 }],
  ['messages[36].tool_calls[2].id', { root: 'messages', index: 36, call: 2 }],
  ['input[12].content[3]', { root: 'input', index: 12, part: 3 }],
  ['contents[4].parts[0]', { root: 'contents', index: 4, part: 0 }],
  ['messages.28.content.0.toolResult.content.5.json', { root: 'messages', index: 28, part: 0 }],
  ['messages.3.member.content.1.member.toolUse.toolUseId', { root: 'messages', index: 2, part: 0 }],
  ['messages[46].image[1]', { root: 'messages', index: 46, part: 1 }],
])('the path %s is read', (path, place) => {
  expect(wirePathOf(path)).toEqual(place)
})
