import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { fromAnthropic } from '../../src/adapters/anthropic/index.ts'
import { fromGemini } from '../../src/adapters/google/index.ts'
import { fromOpenAI } from '../../src/adapters/openai/index.ts'
import { type NewMessage, openStore, type Store, validateHistory } from '../../src/index.ts'
import { exportHtml } from '../../src/transfer/document/html.ts'
import { exportMarkdown } from '../../src/transfer/document/markdown.ts'
import { exportView } from '../../src/transfer/export-view.ts'
import { VIEW_FORMATS } from '../../src/transfer/view-formats.ts'
import { sharedPath } from '../support/shared.ts'
import { whole } from './sessions.ts'
import { elementsOf, readStrictly } from './strict-html.ts'

const coding = sharedPath('corpus/coding-session.anthropic.jsonl')
const airline = sharedPath('corpus/airline-support.openai.jsonl')

const linesIn = (path: string): object[] =>
  readFileSync(path, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as object)

describe.skipIf(coding === undefined)('the coding session of the corpus', () => {
  it('is exported in every form, compacted and whole', async () => {
    const store = await storeOf(fromAnthropic(linesIn(coding!)).slice(0, 400))
    await store.compactSession('s', { target: 0.2 })
    await expectAll(store)
  })
})

describe.skipIf(airline === undefined)('conversations of the corpus', () => {
  it('are exported in every form', async () => {
    for (const conversation of linesIn(airline!).slice(0, 5)) {
      const store = await storeOf(fromOpenAI((conversation as { messages: object[] }).messages))
      await store
        .compactSession('s', { range: { from: 2, to: 5 }, summary: 'Asked for a flight.' })
        .catch(() => undefined)
      await expectAll(store)
    }
  })
})

async function storeOf(messages: readonly NewMessage[]): Promise<Store> {
  const store = await openStore(':memory:')
  await store.append('s', messages)
  return store
}

const READERS = [
  ['openai', 'openai', fromOpenAI],
  ['anthropic', 'anthropic', fromAnthropic],
  ['gemini', 'google-ai', fromGemini],
] as const

async function expectAll(store: Store): Promise<void> {
  const { messageCount, visibleCount } = await store.sessions.get('s')
  for (const format of VIEW_FORMATS)
    for (const how of [{}, { full: true }, { rendered: true }]) {
      const document = JSON.parse(await whole(exportView(store, 's', { format, ...how })))
      expect((document.messages ?? document.contents ?? document).length).toBeGreaterThan(0)
    }
  for (const [format, provider, read] of READERS) {
    const document = JSON.parse(await whole(exportView(store, 's', { format, rendered: true })))
    expect(validateHistory(read(document), provider)).toEqual([])
  }
  const rows = await store.getMessages('s')
  for (const hidden of ['show', 'omit'] as const) {
    const count = hidden === 'show' ? rows.length : visibleCount
    const page = readStrictly(await whole(exportHtml(store, 's', { hidden })))
    expect(elementsOf(page, 'article')).toHaveLength(count)
    const markdown = await whole(exportMarkdown(store, 's', { hidden }))
    expect(
      markdown.match(/^### (?:\d+|Summary of .*|Marker of .*) · .* UTC/gm)!.length,
    ).toBeGreaterThanOrEqual(count)
  }
  expect(rows.filter(({ kind }) => kind === 'message')).toHaveLength(messageCount)
  await store.close()
}
