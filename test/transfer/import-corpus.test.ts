import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { toAnthropic } from '../../src/adapters/anthropic/index.ts'
import { toOpenAI } from '../../src/adapters/openai/index.ts'
import { openStore } from '../../src/index.ts'
import { importFile } from '../../src/transfer/index.ts'
import { expectSessionAccepted, providerOfStep } from '../support/requests.ts'
import { sharedPath } from '../support/shared.ts'

/* Real conversations, imported from their files, come out as they went in. */

const codingSession = sharedPath('corpus/coding-session.anthropic.jsonl')
const airlineSupport = sharedPath('corpus/airline-support.openai.jsonl')

const linesOf = (path: string): unknown[] =>
  readFileSync(path, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown)

it.skipIf(codingSession === undefined)('a coding session of Anthropic’s', async () => {
  await using store = await openStore(':memory:', { config: { previewToolOutputs: false } })
  const lines = linesOf(codingSession!) as { timestamp: string }[]
  const { source, conversations } = await importFile(store, codingSession!)
  expect(source).toBe('anthropic')
  expect(conversations).toMatchObject([
    { sessionId: 'coding-session.anthropic', status: 'imported', messages: lines.length },
  ])
  const view = await store.getEffectiveHistory('coding-session.anthropic')
  expect(toAnthropic(view).messages).toEqual(lines)
  await expectSessionAccepted(store, 'coding-session.anthropic')
  expect(view[0]!.createdAt).toBe(Date.parse(lines[0]!.timestamp))
  expect((await store.sessions.verify('coding-session.anthropic')).findings).toEqual([])
})

it.skipIf(airlineSupport === undefined)('a hundred conversations of OpenAI’s, a line each', async () => {
  await using store = await openStore(':memory:', { config: { previewToolOutputs: false } })
  const lines = linesOf(airlineSupport!) as { id: string; messages: unknown[] }[]
  const { source, totals } = await importFile(store, airlineSupport!)
  expect(source).toBe('openai')
  expect(totals).toMatchObject({ conversations: lines.length, imported: lines.length, problems: 0 })
  for (const [at, { id, messages }] of lines.entries()) {
    expect(toOpenAI(await store.getEffectiveHistory(id))).toEqual(messages)
    await expectSessionAccepted(store, id, id, providerOfStep(at))
  }
})
