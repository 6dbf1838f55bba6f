import { expect } from 'vitest'
import type { PreparedRequest, SearchHit, Store } from '../../src/index.ts'
import { expectAccepted } from '../support/requests.ts'

/* What a random sequence must leave true of the recorded requests and of the search. */

/** A request that was recorded, and what the model was sent. */
export type Sent = Pick<PreparedRequest, 'messages'> & {
  readonly system: string | undefined
  readonly tools: readonly unknown[] | undefined
}

const PROVIDERS = ['openai', 'anthropic', 'google'] as const

/** Records a request of a session as it is now, without an answer. */
export async function send(store: Store, session: string, number: number): Promise<Sent> {
  const provider = PROVIDERS[number % PROVIDERS.length]!
  const request = await store.prepareRequest(session, {
    ...{ provider, auto: false },
    ...(number % 2 === 0 && { prompt: `prompt ${number % 4}` }),
    ...(number % 3 === 0 && {
      system: `system ${number % 2}`,
      tools: [{ name: 'read', number: number % 2 }],
    }),
  })
  expectAccepted(request.messages, provider, `request ${number}`)
  await store.requests.recordUsage(session, { inputTokens: 900, request })
  const { system, tools, messages } = request
  return { system, tools, messages }
}

/** Every recorded request of a session still is what was sent. */
export async function checkRequests(store: Store, session: string, sent: readonly Sent[]): Promise<void> {
  const listed = await store.requests.list(session, { limit: 1_000 })
  expect(listed).toHaveLength(sent.length)
  for (const [at, { system, tools, messages }] of sent.entries()) {
    const found = await store.requests.get(session, listed[at]!.id)
    const { matches, reason } = found
    expect({ matches, reason }, `request ${at + 1} of ${sent.length}`).toEqual({ matches: true })
    expect([found.system, found.tools, found.messages]).toEqual([system, tools, messages])
  }
}

/** Numbers and words in the calls, outputs and texts of the sequences. */
const WORDS = ['1', '3', '17', '40', 'search', 'offset'] as const

/** A search for one word finds the rows that have it, each once, and says which of them are hidden. */
export async function checkSearch(store: Store, session: string): Promise<void> {
  const rows = (await store.getMessages(session)).filter(({ kind }) => kind !== 'marker')
  const isHidden = new Map(rows.map((row) => [row.id, row.hidden]))
  for (const word of WORDS) {
    const having = new RegExp(`(?<![\\w])${word}(?![\\w])`)
    const expected = rows.filter(({ content }) => having.test(spoken(content)))
    for (const hidden of [undefined, true, false]) {
      const hits: SearchHit[] = []
      let cursor: string | undefined
      do {
        const page = await store.search(word, { session, hidden, limit: 9, cursor })
        expect(page.complete).toBe(true)
        for (const hit of page.hits) hits.push(hit)
        cursor = page.cursor
      } while (cursor !== undefined)
      const named = expected.filter((row) => hidden === undefined || row.hidden === hidden)
      expect(hits.map(({ messageId }) => messageId).sort(), `${word}, hidden: ${hidden}`).toEqual(
        named.map(({ id }) => id).sort(),
      )
      for (const { messageId, hiddenBy } of hits)
        expect(hiddenBy !== undefined, `${word}: ${messageId}`).toBe(isHidden.get(messageId))
    }
  }
}

/** A content as JSON, without the ids of calls, which are not searched, and the names of its own fields. */
function spoken(content: unknown): string {
  if (Array.isArray(content)) return content.map(spoken).join('\n')
  if (typeof content !== 'object' || content === null) return String(content)
  const part = content as { readonly type?: string } & Readonly<Record<string, unknown>>
  if (part.type === 'tool-call') return `${String(part.toolName)} ${JSON.stringify(part.input)}`
  if (part.type === 'tool-result') return String((part.output as { readonly value: unknown }).value)
  return JSON.stringify(part.text ?? part.data ?? '').replaceAll('\\n', '\n')
}
