import { readFileSync } from 'node:fs'
import { AIMessage, ToolMessage } from '@langchain/core/messages'
import { describe, expect, it } from 'vitest'
import { fromAnthropic } from '../../src/adapters/anthropic/index.ts'
import {
  fromLangChain,
  toLangChain,
  toLangChainStored,
  UndertextChatMessageHistory,
} from '../../src/adapters/langchain/index.ts'
import { fromOpenAI } from '../../src/adapters/openai/index.ts'
import { partsOf } from '../../src/core/messages/message.ts'
import { type Message, openStore, validateHistory } from '../../src/index.ts'
import { expectAccepted } from '../support/requests.ts'
import { sharedPath } from '../support/shared.ts'

/*
 * Real conversations as LangChain's: read from their own form, compacted, rendered for several providers, and given to LangChain.
 */

const CODING = sharedPath('corpus/coding-session.anthropic.jsonl')
const AIRLINE = sharedPath('corpus/airline-support.openai.jsonl')
const PROVIDERS = ['openai', 'anthropic', 'google-ai', 'mistral']

function linesOf(path: string): object[] {
  const lines = readFileSync(path, 'utf8').trim().split('\n')
  return lines.map((line) => JSON.parse(line) as object)
}

/** What holds of any list for a model: calls answered at once, ids of its own, and the same again after a round. */
function expectSound(messages: readonly Message[], provider: string): void {
  const given = toLangChain(messages)
  const asked = given.flatMap((message) =>
    AIMessage.isInstance(message) ? (message.tool_calls ?? []).map(({ id }) => id) : [],
  )
  const answered = given.flatMap((message) => (ToolMessage.isInstance(message) ? [message.tool_call_id] : []))
  expect([...answered].sort()).toEqual([...asked].sort())
  const stored = toLangChainStored(messages)
  const read = fromLangChain(stored)
  expect(toLangChainStored(read)).toEqual(stored)
  // LangChain cannot say several results, or a result and words, in one message; its models join them where a provider wants that.
  const joined: Message[] = []
  for (const message of read) {
    const before = joined.at(-1)
    if (before?.role === 'tool' && (message.role === 'tool' || message.role === 'user'))
      joined[joined.length - 1] = { role: message.role, content: [...partsOf(before), ...partsOf(message)] }
    else joined.push(message)
  }
  expect(validateHistory(joined, provider)).toEqual([])
}

async function everyView(messages: readonly Message[], provider: string): Promise<void> {
  await using store = await openStore(':memory:', { config: { auto: false } })
  await store.append('s', messages)
  const tokens = (await store.getContextStats('s', provider))!.breakdown.conversationHistory
  for (const share of [1, 0.5, 0.1]) {
    if (share < 1) await store.compactSession('s', { provider, targetTokens: Math.floor(tokens * share) })
    const { messages: rendered } = await store.renderHistory('s', { provider })
    expectSound(rendered, provider)
    expectAccepted(rendered, provider, `at ${share}`)
  }
  const history = new UndertextChatMessageHistory({ store, sessionId: 's', view: 'full' })
  expect(
    fromLangChain(await history.getMessages())
      .flatMap(textOf)
      .join(''),
  ).toBe(messages.flatMap(textOf).join(''))
}

function textOf({ content }: Message): string[] {
  if (typeof content === 'string') return [content]
  return content.flatMap((part) => (part.type === 'text' || part.type === 'reasoning' ? [part.text] : []))
}

describe.each(PROVIDERS)('for %s', (provider) => {
  it.skipIf(CODING === undefined)('every view of the coding session is one of LangChain too', async () => {
    await everyView(fromAnthropic(linesOf(CODING!)), provider)
  })

  it.skipIf(AIRLINE === undefined)(
    'every view of the support conversations is one of LangChain too',
    async () => {
      for (const line of linesOf(AIRLINE!).slice(0, 5)) {
        const { messages } = line as { messages?: object[] }
        if (messages !== undefined) await everyView(fromOpenAI(messages), provider)
      }
    },
  )
})
