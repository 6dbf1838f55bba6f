import fc from 'fast-check'
import type { JsonObject } from '../../src/core/messages/json.ts'
import {
  type Part,
  type Role,
  type ToolResultOutput,
  UNREAD,
  type ViewMessage,
} from '../../src/core/messages/message.ts'

/*
 * Random views, with everything that can go wrong in them: parallel calls, repeated ids, results that are missing,
 * late, early, doubled or out of order, results beside words, tools the provider ran, reasoning, summaries,
 * markers and system messages anywhere, empty contents, parts in messages of the wrong role.
 */

/** Few ids, so that they repeat; some of a form that some providers refuse. */
const callId = fc.oneof(
  { weight: 9, arbitrary: fc.integer({ min: 1, max: 9 }).map((n) => `abcdefgh${n}`) },
  { weight: 1, arbitrary: fc.constantFrom('a', 'call_0', 'functions.run:0', '') },
)

/** Texts are made unique later; here they are a word, white space or nothing. */
const words = fc.oneof(
  { weight: 6, arbitrary: fc.constant('#') },
  { weight: 1, arbitrary: fc.constantFrom('', ' ', '\n\n') },
)

const output: fc.Arbitrary<ToolResultOutput> = fc.oneof(
  words.map((value) => ({ type: 'text' as const, value })),
  words.map((value) => ({ type: 'error-text' as const, value })),
  fc
    .record(
      {
        type: fc.constant('content' as const),
        value: fc.array(
          fc.oneof(
            words.map((text) => ({ type: 'text' as const, text })),
            fc.constant({ type: 'image' as const, image: 'aGk=' }),
            fc.constant({ type: 'provider' as const, provider: 'x', data: { type: 'search' } }),
          ),
          { maxLength: 2 },
        ),
        isError: fc.boolean(),
      },
      { requiredKeys: ['type', 'value'] },
    )
    .map((given) => {
      // Gemini's form of a failure has a text, and reads as one with it.
      const { isError: _, ...plain } = given
      const [first] = given.value
      return first?.type === 'text' && first.text === '#' ? given : plain
    }),
)

const text: fc.Arbitrary<Part> = words.map((text) => ({ type: 'text', text }))
const reasoning: fc.Arbitrary<Part> = fc.constant({ type: 'reasoning', text: 'hm' })
const result: fc.Arbitrary<Part> = fc.record({ type: fc.constant('tool-result'), toolCallId: callId, output })
/** Parts that only their provider has; those of Anthropic, OpenAI and Google are ones that their APIs take. */
const OWN_PARTS: { readonly [provider: string]: JsonObject } = {
  anthropic: { type: 'container_upload', file_id: 'file_1' },
  openai: { type: 'refusal', refusal: 'No.' },
  google: { executableCode: { code: '1' } },
}
const opaque: fc.Arbitrary<Part> = fc
  .constantFrom('anthropic', 'openai', 'google', 'x', UNREAD)
  .map((provider) => ({
    type: 'provider',
    provider,
    data: { ...(OWN_PARTS[provider] ?? { type: 'search' }) },
  }))
const image: fc.Arbitrary<Part> = fc.constant({ type: 'image', image: 'aGk=' })
const call = (ranByProvider: boolean): fc.Arbitrary<Part> =>
  callId.map((toolCallId) => ({
    type: 'tool-call',
    toolCallId,
    toolName: 'look',
    input: { q: 1 },
    ...(ranByProvider ? { providerExecuted: true } : {}),
  }))

const weighted = (...choices: readonly [number, fc.Arbitrary<Part>][]): fc.Arbitrary<Part> =>
  fc.oneof(...choices.map(([weight, arbitrary]) => ({ weight, arbitrary })))

const PARTS: { readonly [R in Role]: fc.Arbitrary<Part> } = {
  system: weighted([8, text], [1, result]),
  user: weighted([8, text], [4, result], [1, image], [1, opaque], [1, reasoning], [1, call(false)]),
  assistant: weighted(
    [6, text],
    [6, call(false)],
    [2, call(true)],
    [3, result],
    [4, reasoning],
    [1, image],
    [1, opaque],
  ),
  tool: weighted([12, result], [1, text], [1, opaque]),
}

type Row = Pick<ViewMessage, 'kind' | 'role' | 'content'> & { readonly metadata?: { readonly mine: boolean } }

const anyRole = fc.oneof(
  { weight: 1, arbitrary: fc.constant<Role>('system') },
  { weight: 4, arbitrary: fc.constantFrom<Role>('user', 'tool') },
  { weight: 5, arbitrary: fc.constant<Role>('assistant') },
)

/** Anything at all. */
const wild: fc.Arbitrary<Row[]> = anyRole
  .chain((role) =>
    fc
      .oneof(words, fc.array(PARTS[role], { maxLength: 4, size: 'max' }))
      .map((content) => ({ role, content })),
  )
  .map((message) => [{ kind: 'message', ...message }])

const inserted: fc.Arbitrary<Row[]> = fc
  .record({ kind: fc.constantFrom('summary' as const, 'marker' as const), content: words })
  .map((row) => [{ ...row, role: 'user' }])

/** What a provider leaves of a conversation it compacted: readable by all, or by itself only. */
const compacted: fc.Arbitrary<Part> = fc.constantFrom<Part[]>(
  { type: 'provider', provider: 'anthropic', data: { type: 'compaction', content: 'so far' } },
  { type: 'provider', provider: 'openai', data: { type: 'compaction', encrypted_content: 'x' } },
)
const blocks: fc.Arbitrary<Row[]> = fc
  .record({ block: compacted, inserted: fc.boolean(), early: fc.array(text, { maxLength: 1 }), lead: text })
  .map(({ block, inserted: isRow, early, lead }) => [
    isRow
      ? { kind: 'summary', role: 'assistant', content: [block] }
      : { kind: 'message', role: 'assistant', content: [...early, block, lead] },
  ])

const say = (role: Role): fc.Arbitrary<Row[]> =>
  fc
    .constantFrom({}, { metadata: { mine: true } })
    .map((extra) => [{ kind: 'message', role, content: '#', ...extra }])

/** One exchange with tools as it should be: what goes wrong with it is for `spoil`. */
const exchange: fc.Arbitrary<Row[]> = fc
  .record({
    ids: fc.oneof(
      { weight: 5, arbitrary: fc.uniqueArray(callId, { minLength: 1, maxLength: 3, size: 'max' }) },
      { weight: 1, arbitrary: fc.array(callId, { minLength: 1, maxLength: 3, size: 'max' }) },
    ),
    lead: fc.array(fc.oneof(text, reasoning), { maxLength: 2 }),
    ranByProvider: fc.integer({ min: 0, max: 5 }).map((n) => n === 0),
    approval: opaque,
    carrier: fc.constantFrom('tool', 'tools', 'user', 'mixed', 'approved', 'approval apart'),
    outputs: fc.array(output, { minLength: 3, maxLength: 3, size: 'max' }),
  })
  .map(({ ids, lead, ranByProvider, approval, carrier, outputs }) => {
    const calls = ids.map((toolCallId): Part => {
      const extra = ranByProvider ? { providerExecuted: true } : {}
      return { type: 'tool-call', toolCallId, toolName: 'look', input: { q: 1 }, ...extra }
    })
    const results = ids.map(
      (toolCallId, n): Part => ({ type: 'tool-result', toolCallId, toolName: 'look', output: outputs[n]! }),
    )
    const message = (role: Role, content: Part[]): Row => ({ kind: 'message', role, content })
    if (ranByProvider)
      return [message('assistant', [...lead, ...calls, ...results, { type: 'text', text: '#' }])]
    const asking = message('assistant', [...lead, ...calls])
    if (carrier === 'tools') return [asking, ...results.map((result) => message('tool', [result]))]
    if (carrier === 'mixed') return [asking, message('user', [...results, { type: 'text', text: '#' }])]
    if (carrier === 'approved') return [asking, message('tool', [approval, ...results])]
    if (carrier === 'approval apart') return [asking, message('tool', [approval]), message('tool', results)]
    return [asking, message(carrier as Role, results)]
  })

const scene: fc.Arbitrary<Row[]> = fc.oneof(
  { weight: 6, arbitrary: exchange },
  { weight: 4, arbitrary: say('user') },
  { weight: 4, arbitrary: say('assistant') },
  { weight: 1, arbitrary: inserted },
  { weight: 1, arbitrary: say('system') },
  { weight: 1, arbitrary: blocks },
  { weight: 2, arbitrary: wild },
)

/** What compactions, crashes and races do: rows that are gone, come twice or late, parts out of order or gone. */
type Damage = { readonly at: number; readonly how: 'drop' | 'repeat' | 'delay' | 'reverse' | 'cut' }

const damage: fc.Arbitrary<Damage> = fc.record({
  at: fc.nat({ max: 30 }),
  how: fc.constantFrom('drop', 'repeat', 'delay', 'reverse', 'cut'),
})

function spoil(rows: readonly Row[], { at, how }: Damage): Row[] {
  const row = rows[at]
  if (row === undefined) return [...rows]
  switch (how) {
    case 'drop':
      return rows.toSpliced(at, 1)
    case 'repeat':
      return rows.toSpliced(at, 0, row)
    case 'delay':
      return rows.toSpliced(at, 1).toSpliced(at + 2, 0, row)
    case 'reverse':
      return typeof row.content === 'string'
        ? [...rows]
        : rows.with(at, { ...row, content: row.content.toReversed() })
    case 'cut':
      return typeof row.content === 'string'
        ? [...rows]
        : rows.with(at, { ...row, content: row.content.slice(1) })
  }
}

const rows: fc.Arbitrary<Row[]> = fc
  .tuple(fc.array(scene, { maxLength: 10, size: 'max' }), fc.array(damage, { maxLength: 3, size: 'max' }))
  .map(([scenes, damages]) => damages.reduce(spoil, scenes.flat()))

/** A random view. Every text in it that is no white space occurs once. */
export const randomView: fc.Arbitrary<ViewMessage[]> = rows.map((made) =>
  made.map((row, index): ViewMessage => {
    const { content } = row
    let count = 0
    const unique = (word: string): string => (word === '#' ? `t${index}.${count++}.` : word)
    const uniquePart = (part: Part): Part => {
      if (part.type === 'text') return { ...part, text: unique(part.text) }
      if (part.type !== 'tool-result') return part
      const { output } = part
      if (output.type === 'text' || output.type === 'error-text') {
        return { ...part, output: { ...output, value: unique(output.value) } }
      }
      if (output.type !== 'content') return part
      const value = output.value.map((item) =>
        item.type === 'text' ? { ...item, text: unique(item.text) } : item,
      )
      return { ...part, output: { ...output, value } }
    }
    const unlike = typeof content === 'string' ? unique(content) : content.map(uniquePart)
    return { ...row, id: `m${index}`, content: unlike, createdAt: 0 }
  }),
)
