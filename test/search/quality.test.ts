import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { type Message, openStore, type Part } from '../../src/index.ts'
import { sharedPath } from '../support/shared.ts'
import { QUESTIONS } from './questions.ts'

/* How often a message that answers a question is among the first hits, searched in a store with all conversations of a file. */

type Block = { readonly type: string; readonly [field: string]: unknown }
type Line = {
  readonly role: string
  readonly content?: string | readonly Block[] | null
  readonly tool_calls?: readonly {
    readonly function: { readonly name: string; readonly arguments: string }
  }[]
}

const textOf = (content: unknown): string =>
  typeof content === 'string'
    ? content
    : Array.isArray(content)
      ? (content as Block[]).map((block) => (block.type === 'text' ? String(block.text) : '')).join('')
      : ''

function partOf(block: Block): Part[] {
  if (block.type === 'tool_use')
    return [
      { type: 'tool-call', toolCallId: 'c', toolName: block.name as string, input: block.input as never },
    ]
  if (block.type === 'tool_result')
    return [{ type: 'tool-result', toolCallId: 'c', output: { type: 'text', value: textOf(block.content) } }]
  return [{ type: 'text', text: String(block.text ?? block.thinking ?? '') }]
}

function messageOf({ role, content, tool_calls = [] }: Line): Message {
  const calls = tool_calls.map(
    ({ function: { name, arguments: input } }): Part => ({
      type: 'tool-call',
      toolCallId: 'c',
      toolName: name,
      input,
    }),
  )
  const parts = Array.isArray(content)
    ? content.flatMap(partOf)
    : [{ type: 'text' as const, text: textOf(content) }]
  return { role: role as Message['role'], content: [...parts, ...calls] }
}

function conversationsOf(path: string): Message[][] {
  const lines = readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
  const conversations: Line[][] = 'messages' in lines[0] ? lines.map(({ messages }) => messages) : [lines]
  return conversations.map((conversation) => conversation.map(messageOf))
}

/** The least share of questions whose answer is among the first 5, and the first 10. */
const FLOORS: Readonly<Record<string, readonly [five: number, ten: number]>> = {
  'travel-zh.openai.jsonl': [0.83, 0.9],
  'retail-support.openai.jsonl': [0.92, 1],
  'airline-support.openai.jsonl': [0.6, 0.8],
  'coding-session.anthropic.jsonl': [0.85, 0.9],
  'aider.openai.jsonl': [1, 1],
}

it('there are more than sixty questions', () => {
  expect(Object.values(QUESTIONS).flat().length).toBeGreaterThan(60)
})

describe('of labelled questions, the answer is among the first hits', () => {
  for (const [file, questions] of Object.entries(QUESTIONS)) {
    const path = sharedPath(`corpus/${file}`)
    it.skipIf(path === undefined)(file, async () => {
      await using store = await openStore(':memory:')
      for (const [nth, messages] of conversationsOf(path!).entries()) {
        const createdAt = nth * 86_400_000
        await store.append(
          String(nth),
          messages.map((message, index) => ({ ...message, createdAt: createdAt + index * 60_000 })),
        )
      }
      const places: number[] = []
      for (const [question, ...evidence] of questions) {
        const { hits } = await store.search(question)
        places.push(
          hits.findIndex(({ sessionId, position }) => evidence.includes(`${sessionId}:${position}`)),
        )
      }
      const share = (first: number): number =>
        places.filter((place) => place >= 0 && place < first).length / places.length
      const missed = `not found: ${questions.filter((_, i) => places[i] === -1).join(' | ')}`
      const [five, ten] = FLOORS[file]!
      expect(share(5), missed).toBeGreaterThanOrEqual(five)
      expect(share(10), missed).toBeGreaterThanOrEqual(ten)
    })
  }
})
