import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { startPrefixServer } from '../support/prefix-server.ts'
import { examplesOf, runAsUser } from '../support/run-as-user.ts'

const PAGE = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'server-side.md'), 'utf8')

it('has a page whose examples print the output shown [S0-77 S0-89]', async () => {
  const blocks = examplesOf(PAGE)
  expect(blocks.length).toBe(4)
  const printed = await Promise.all([blocks[0]!, blocks[1]!, blocks[3]!].map((code) => runAsUser(code)))
  expect(printed.map((lines) => lines.trim().split('\n'))).toEqual([
    [
      '{"edits":[{"type":"clear_tool_uses_20250919","trigger":{"type":"input_tokens","value":100000},"keep":{"type":"tool_uses","value":3},"exclude_tools":["memory"]},{"type":"compact_20260112","trigger":{"type":"input_tokens","value":150000}}]}',
      'compact-2026-01-12,context-management-2025-06-27',
      '[{"type":"compaction","compact_threshold":200000}]',
    ],
    [
      'recorded continue',
      '[{"role":"assistant","content":[{"type":"compaction","content":"A trip to Porto: four days, one at the sea, 900 euros."}]}]',
      '3',
    ],
    ['1 false', 'true'],
  ])
  expect(PAGE).toMatch(/\| on the provider's side \|/)
})

it('runs the example of a summary on demand', async () => {
  const server = await startPrefixServer()
  const code = examplesOf(PAGE)[2]!
    .replace("'chats.db'", "':memory:'")
    .replace('new Anthropic()', `new Anthropic({ apiKey: 'none', baseURL: '${server.url}' })`)
  const out = await runAsUser(`${code}
    const say = (role: 'user' | 'assistant', content: string) => ({ role, content })
    await store.append('chat', [say('user', 'One?'), say('assistant', '1'), say('user', 'Two?'), say('assistant', '2')])
    await summarize('chat', { model: 'claude-opus-5-5', system: 'Be brief.', tools: [] })
    const { messages } = await store.renderHistory('chat', { provider: 'anthropic' })
    console.log(JSON.stringify(toAnthropic(messages).messages.map(({ content }) => content)))`)
  const [[block], ...kept] = JSON.parse(out) as [[object], ...unknown[]]
  expect(block).toMatchObject({
    type: 'compaction',
    content: 'Summary 1 of 2 pieces.',
    signature: expect.any(String),
  })
  expect(kept).toEqual(['Two?', '2'])
  await server.close()
})
