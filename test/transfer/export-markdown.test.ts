import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { openStore } from '../../src/index.ts'
import { exportMarkdown } from '../../src/transfer/document/markdown.ts'
import { hidesSomething, hostileText } from './hostile.ts'
import { BEGIN, EVERY_PART, PNG, storeWith, whole } from './sessions.ts'

const tool = (id: string, name: string, output: string) =>
  [
    {
      role: 'assistant',
      content: [{ type: 'tool-call', toolCallId: id, toolName: name, input: { path: 'a.py' } }],
    },
    {
      role: 'tool',
      content: [
        { type: 'tool-result', toolCallId: id, toolName: name, output: { type: 'text', value: output } },
      ],
    },
  ] as const

describe('a small session', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['Date'], now: BEGIN })
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  const small = () =>
    storeWith([
      { role: 'user', content: 'Why is `late_fee` wrong?\n\n# Context\nSee <b>main.py</b>.' },
      ...tool('c1', 'read', 'total = 1210'),
      { role: 'assistant', content: 'It rounds too early.' },
    ])

  it('reads like this', async () => {
    const store = await small()
    const stats = await store.getContextStats('s')
    const share = ((stats!.breakdown.conversationHistory / stats!.availableInputTokens) * 100).toFixed(1)
    // Units of text: 16 and 5; of the call 4; of the result 3 (checked below).
    const [text, calls, results] = [stats!.sizes.text, stats!.sizes.toolCalls, stats!.sizes.toolResults]
    const percent = (units: number): string => ((units / (text + calls + results)) * 100).toFixed(1)
    expect(await whole(exportMarkdown(store, 's'))).toBe(`# Rounding

- **Session:** \`s\`
- **Provider:** \`anthropic\`
- **Model:** \`claude-sonnet-4\`
- **Created:** 2025-03-01 10:00:00 UTC
- **Changed:** 2025-03-01 10:00:00 UTC
- **Messages:** 4 in the log
- **Sent now:** 4 messages, summaries and markers included
- **Tokens:** ${stats!.breakdown.conversationHistory} sent now (estimated), ${share} % of 136,000 available
- **By category:** text ${percent(text)} %, tool calls ${percent(calls)} %, tool results ${percent(results)} %

## Conversation

### 1 · user · 2025-03-01 10:00:00 UTC

Why is \`late_fee\` wrong?

#### Context
See &lt;b>main.py&lt;/b>.

### 2 · assistant · 2025-03-01 10:00:01 UTC

**Calls \`read\`** (\`c1\`)

\`\`\`json
{
  "path": "a.py"
}
\`\`\`

### 3 · tool · 2025-03-01 10:00:02 UTC

**Result of \`read\`** (\`c1\`)

\`\`\`
total = 1210
\`\`\`

### 4 · assistant · 2025-03-01 10:00:03 UTC

It rounds too early.
`)
    await store.close()
  })

  it('reads like this when a summary replaces its beginning', async () => {
    const store = await small()
    await store.compactSession('s', {
      range: { from: 1, to: 3 },
      summary: 'Asked about `late_fee`.',
      actor: 'ada',
      reason: 'room',
    })
    const [made] = await store.listCompactions('s')
    const compactions = `## Compactions

**Compaction 1: condense**, in force

- **Made:** 2025-03-01 10:00:00 UTC, manual
- **By:** \`ada\`
- **Why:** \`room\`
- **Hides:** positions 1–3
- **Tokens:** ${made!.tokensBefore} before, ${made!.tokensAfter} after
- **Summarizer:** \`given\`
- **Id:** \`${made!.id}\`
`
    const summary = `### Summary of positions 1–3 · 2025-03-01 10:00:00 UTC

*Inserted by compaction 1 (condense, in force).*

Asked about \`late_fee\`.

### 4 · assistant · 2025-03-01 10:00:03 UTC

It rounds too early.
`
    const omitted = await whole(exportMarkdown(store, 's'))
    expect(omitted).toContain('- **Hidden:** 3 messages by summaries\n')
    expect(omitted.slice(omitted.indexOf('## Comp'))).toBe(
      `${compactions}\n## Conversation\n\n*3 messages hidden here.*\n\n${summary}`,
    )
    const shown = await whole(exportMarkdown(store, 's', { hidden: 'show' }))
    expect(shown).toContain(`### 3 · tool · 2025-03-01 10:00:02 UTC · hidden

*Hidden, a summary replaces it: compaction 1 (condense, in force).*

**Result of \`read\`** (\`c1\`)

\`\`\`
total = 1210
\`\`\`

${summary}`)

    await store.undoCompaction('s', made!.id, { actor: 'bob' })
    const undone = await whole(exportMarkdown(store, 's', { hidden: 'show' }))
    expect(undone).toContain('**Compaction 1: condense**, undone\n')
    expect(undone).toContain('- **Undone:** 2025-03-01 10:00:00 UTC `bob`\n')
    expect(undone).toContain(`UTC · hidden

*Inserted by compaction 1 (condense, undone).*

*Hidden, its compaction is not in force: compaction 1 (condense, undone).*
`)
    expect(await whole(exportMarkdown(store, 's'))).not.toContain('Asked about')
    await store.close()
  })
})

it('shows every part', async () => {
  const store = await storeWith(EVERY_PART)
  const text = await whole(exportMarkdown(store, 's'))
  for (const said of [
    'Look:\n\n*image (image/png, 16 bytes)*\n\n*image* `https://example.org/a.png`\n\n*file a.pdf (application/pdf, 8 bytes)*',
    '<details>\n<summary>Reasoning</summary>\n\nThe file says it.\n\n</details>\n\nReading.\n\n**Calls `read`** (`c1`)',
    '<details>\n<summary>A part that only anthropic reads</summary>\n\n```json\n{\n  "type": "odd"\n}\n```\n\n</details>',
    '**Result of `read`** (`c1`, failed)\n\n```\nNo such file.\n```',
    '**Result of `shot`** (`c2`)\n\n```\nshown\n```\n\n*image (image/png, 16 bytes)*',
  ])
    expect(text).toContain(said)
  const inline = await whole(exportMarkdown(store, 's', { images: 'inline' }))
  expect(inline).toContain(`![image (image/png, 16 bytes)](data:image/png;base64,${PNG.toString('base64')})`)
  expect(inline).not.toContain('svg+xml;base64')
  await store.close()
})

it('marks what was rewound, hidden manually, truncated, pinned and shown differently', async () => {
  const store = await storeWith([
    { role: 'user', content: 'One.' },
    { role: 'assistant', content: 'First.' },
    { role: 'user', content: 'Two.' },
    ...tool('c1', 'ls', 'x'.repeat(1_500)),
    { role: 'assistant', content: 'Second.' },
    { role: 'user', content: 'Three.' },
    { role: 'assistant', content: 'Third.' },
  ])
  const rows = await store.getMessages('s')
  await store.messages.pin('s', [rows[0]!.id])
  await store.rewind('s', { from: { beforeMessage: rows[6]!.id } })
  await store.compactSession('s', { stages: [{ stage: 'clear_tool_results', keep: 0 }], targetTokens: 1 })
  await store.compactions.hide('s', [rows[1]!.id])
  const text = await whole(exportMarkdown(store, 's', { hidden: 'show' }))
  const numbers = (await store.listCompactions('s')).map(
    ({ kind, params }) => `${kind}${params.rewind === true ? ' rewind' : ''}`,
  )
  expect(numbers).toEqual(['manual rewind', 'prune', 'manual'])
  expect(text).toMatch(/### 1 · user · .* · pinned\n/)
  expect(text).toMatch(
    /### 2 · .* · hidden\n\n\*Hidden, it was hidden manually: compaction 3 \(manual, in force\)\.\*\n\nFirst\./,
  )
  expect(text).toMatch(
    /### 7 · .* · hidden\n\n\*Hidden, it was rewound: compaction 1 \(manual, in force\)\.\*\n\nThree\./,
  )
  expect(text).toContain(
    '**Result of `ls`** (`c1`), shown differently by compaction 2 (prune, in force), in place of 1,500 characters\n\n```\n',
  )
  expect(text).toContain(
    `<summary>The original</summary>\n\n<details>\n<summary><strong>Result of <code>ls</code></strong> (<code>c1</code>), 1 line</summary>\n\n\`\`\`\n${'x'.repeat(1_500)}\n`,
  )
  expect(await whole(exportMarkdown(store, 's'))).not.toContain('xxx')
  await store.close()
})

it('keeps any text in its place', async () => {
  const store = await openStore(':memory:')
  let count = 0
  await fc.assert(
    fc.asyncProperty(hostileText, async (text) => {
      const id = `s${++count}`
      await store.sessions.create({ id, title: `t${text}`.replace(/[\0\ud800-\udfff]/g, '') })
      await store.append(id, [
        { role: 'user', content: text },
        {
          role: 'assistant',
          content: [
            { type: 'reasoning', text },
            { type: 'tool-call', toolCallId: text, toolName: text, input: text },
            { type: 'file', data: '', mediaType: text, filename: text },
            { type: 'provider', provider: text, data: text },
          ],
        },
        {
          role: 'tool',
          content: [
            {
              type: 'tool-result',
              toolCallId: text,
              toolName: text,
              output: { type: 'text', value: text.repeat(9) },
            },
          ],
        },
      ])
      const document = await whole(exportMarkdown(store, id))
      expect(hidesSomething(document)).toBe(false)
      const words = outsideOfCode(document)
      expect(words.filter((line) => /^#{1,3} /.test(line)).map((line) => line.slice(0, 6).trim())).toEqual([
        expect.stringMatching(/^# /),
        '## Con',
        '### 1',
        '### 2',
        '### 3',
      ])
      const tags = words.flatMap((line) => line.match(/<[^>]*>?/g) ?? [])
      const folds = tags.filter((tag) => !/^<\/?(?:code|strong)>$/.test(tag)).join('')
      expect(folds).toMatch(/^(?:<details><summary><\/summary><\/details>){2,3}$/)
    }),
    { numRuns: 200 },
  )
  await store.close()
})

/** The lines outside of code, by the fences alone. Throws when code is not closed. */
function outsideOfCode(markdown: string): string[] {
  const words: string[] = []
  let open: string | undefined
  for (const line of markdown.split('\n')) {
    const fence = /^((?: {0,3}> ?)* *`{3,})[^`]*$/.exec(line)?.[1]
    if (open !== undefined) {
      if (line === open) open = undefined
    } else if (fence !== undefined) open = fence
    else words.push(line)
  }
  expect(open).toBeUndefined()
  return words
}
