import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { PREPARE_WAIT_MS } from '../../src/store/compaction/waiting.ts'
import { OVERFLOW_TARGET } from '../../src/store/requests/recovery.ts'
import { startModelServer } from '../support/model-server.ts'
import { examplesOf, runAsUser } from '../support/run-as-user.ts'

const WHOLE = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'requests.md'), 'utf8')
const PAGE = WHOLE.slice(0, WHOLE.indexOf('## Turn hooks'))

it('the examples of the page print the output shown [S3-011]', async () => {
  const blocks = examplesOf(PAGE)
  expect(blocks.length).toBe(5)
  const [conversation, , seen, compared, budget] = blocks
  const model =
    "const askYourModel = async (..._: unknown[]) => ({ text: 'Answer.', stopReason: 'stop', usage: { inputTokens: 20 } })"
  const printed = await Promise.all(
    [conversation, seen, compared, budget].map((code) => runAsUser(`${model}\n${code}`)),
  )
  expect(printed.map((lines) => lines.trim().split('\n'))).toEqual([
    ['true 2', 'true 4'],
    ['true true Be brief. 1', '1'],
    // All that was written for the first request.
    [`[ 'system' ] "Be brief." 5000`],
    // 2,000 less the 500 for the answer.
    ['1500 true 0'],
  ])
})

it('the example with fetch speaks to a server, and comes back from an overflow', async () => {
  const server = await startModelServer([
    {
      status: 400,
      message: "This model's maximum context length is 8192 tokens.",
      code: 'context_length_exceeded',
    },
    { text: '42.', usage: { inputTokens: 40, outputTokens: 3, cacheReadTokens: 10 } },
  ])
  try {
    const code = examplesOf(PAGE)[1]!.replace('http://localhost:11434/v1', server.openaiUrl)
    const history = `
for (let turn = 0; turn < 40; turn++)
  await store.append('session-3', [
    { role: 'user', content: 'request '.repeat(200) }, { role: 'assistant', content: 'answer '.repeat(200) },
  ])
`
    const more = `const { total } = await store.requests.usage('session-3')
      console.log(total.inputTokens, total.cacheReadTokens, total.outputTokens)`
    const at = code.indexOf('console.log(')
    const said = await runAsUser(`${code.slice(0, at)}${history}${code.slice(at)}${more}`)
    expect(said.trim().split('\n')).toEqual(['42.', '30 10 3'])
    const [first, second] = server.requests.map(({ body }) => body.messages as readonly { role: string }[])
    expect([first!.length, first![0]!.role]).toEqual([82, 'system'])
    expect(second!.length).toBeLessThan(82)
  } finally {
    await server.close()
  }
})

it('the page names the figures as the code has them', () => {
  expect(PAGE).toContain(`**\`waitMs\`** (${PREPARE_WAIT_MS.toLocaleString('en-US')})`)
  expect(PAGE).toContain(`down to ${OVERFLOW_TARGET * 100} percent`)
})
