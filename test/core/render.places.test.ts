import { describe, expect, it } from 'vitest'
import { renderView } from '../../src/core/rendering/render.ts'
import { validateHistory } from '../../src/core/rendering/validate.ts'
import { assistant, image, marker, type Row, summary, system, text, user, view } from './views.ts'

/** What is shown, as `role: text` lines. */
function shown(rows: readonly Row[], options: Partial<Parameters<typeof renderView>[1]>): string[] {
  const all = { provider: 'openai', ...options }
  const { messages } = renderView(view(...rows), all)
  expect(validateHistory(messages, all.provider)).toEqual([])
  return messages.map(
    ({ role, content }) => `${role}: ${typeof content === 'string' ? content : JSON.stringify(content)}`,
  )
}

const rows = [
  system('s'),
  user('q1'),
  assistant('a1'),
  summary('One.'),
  summary('Two.'),
  marker('[…]'),
  user('q2'),
]
const bare = { summaryHeader: '' }

describe('the place of a summary', () => {
  it('is its own by default', () => {
    const expected = [
      'system: s',
      'user: q1',
      'assistant: a1',
      'user: One.',
      'user: Two.',
      'system: […]',
      'user: q2',
    ]
    expect(shown(rows, bare)).toEqual(expected)
    expect(shown(rows, { ...bare, preset: 'neuron', summaryPlace: 'inline' })).toEqual(expected)
  })

  it('is after the system messages at the head', () => {
    const options = { ...bare, summaryPlace: 'after-system' as const, summaryRole: 'system' as const }
    const expected = [
      'system: s',
      'system: One.',
      'system: Two.',
      'user: q1',
      'assistant: a1',
      'system: […]',
      'user: q2',
    ]
    expect(shown(rows, options)).toEqual(expected)
    // At the head the system's words stay the system's, also where none may stand inside.
    expect(shown(rows, { ...options, provider: 'anthropic' }).slice(0, 3)).toEqual(expected.slice(0, 3))
  })

  it('is first of all, but parts no system message from the head', () => {
    const options = { ...bare, summaryPlace: 'first' as const, summaryRole: 'system' as const }
    expect(shown(rows, options).slice(0, 4)).toEqual([
      'system: One.',
      'system: Two.',
      'system: s',
      'user: q1',
    ])
    expect(shown(rows, { ...options, provider: 'anthropic' }).slice(0, 3)).toEqual([
      'system: One.',
      'system: Two.',
      'system: s',
    ])
    expect(shown(rows, { ...options, summaryRole: 'user' }).slice(0, 3)).toEqual([
      'user: One.',
      'user: Two.',
      'system: s',
    ])
    expect(shown(rows, { ...options, summaryRole: 'user', provider: 'anthropic' })[0]).toBe('system: s')
  })

  it('is within the text of the last system message at the head (golden PHM-13, PHM-14)', () => {
    const options = { preset: 'promptfleet' as const }
    const rust = [system('Be helpful'), summary('They talked about Rust.'), user('x')]
    expect(shown(rust, options)[0]).toBe(
      'system: Be helpful\n\nPreviously in this conversation:\nThey talked about Rust.',
    )
    expect(shown([summary('first'), summary('second'), user('x')], options)[0]).toBe(
      'system: Previously in this conversation:\nfirst\n---\nsecond',
    )
    expect(
      shown([system('a'), system('b'), summary('S'), user('x')], {
        ...options,
        ...bare,
        provider: 'anthropic',
      }),
    ).toEqual(['system: a', 'system: b\n\nS', 'user: x'])
  })

  it('within a system message of several texts is a text of its own; an empty one is replaced', () => {
    const options = { ...bare, summaryPlace: 'in-system' as const }
    const { messages } = renderView(view(system(text('a'), text('b')), summary('S'), user('x')), {
      provider: 'openai',
      ...options,
    })
    expect(messages[0]).toEqual({ role: 'system', content: [text('a'), text('b'), text('S')] })
    expect(shown([system(' '), summary('S'), user('x')], options)[0]).toBe('system: S')
  })

  it('within a changed system message drops its metadata, and leaves that of others', () => {
    const [first, second, third, fourth] = view(system('a'), system('b'), summary('S'), user('x'))
    const withMetadata = [
      { ...first!, metadata: { n: 1 } },
      { ...second!, metadata: { n: 2 } },
      third!,
      fourth!,
    ]
    const { messages } = renderView(withMetadata, { provider: 'openai', summaryPlace: 'in-system', ...bare })
    expect(messages.map(({ metadata }) => metadata)).toEqual([{ n: 1 }, undefined, undefined])
  })

  it('of one that shows more than text stays as it is', () => {
    const rows = [system('s'), user('q'), summary([text('S'), image])]
    for (const summaryPlace of ['first', 'after-system', 'in-system'] as const)
      expect(shown(rows, { ...bare, summaryPlace, summaryRole: 'user' })[1]).toBe('user: q')
  })

  it.each([
    ['neurolink', 2],
    ['neuron', 1],
    ['nca', 1],
    ['tags', 2],
  ] as const)('of the preset %s', (preset, at) => {
    expect(shown([system('s'), user('q'), summary('S')], { preset })[at]).toContain('S')
  })

  it('is one of four', () => {
    expect(() => renderView(view(user('x')), { provider: 'openai', summaryPlace: 'last' as never })).toThrow(
      /summaryPlace must be one of inline, after-system, first, in-system/,
    )
  })
})
