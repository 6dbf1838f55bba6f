import { expect, it } from 'vitest'
import type { Input, Source } from '../../../src/transfer/source.ts'
import { claudeCode } from '../../../src/transfer/sources/claude-code.ts'
import { pi } from '../../../src/transfer/sources/pi.ts'
import { roo } from '../../../src/transfer/sources/roo.ts'

/* Files of 400 MB, made as they are read: what is held of them is a little for each entry, and never what it says. */

const ENTRIES = 16_000
const text = 'lorem ipsum dolor '.repeat(1_400)
const idOf = (nth: number): string | null => (nth < 0 ? null : `entry-${nth}`)
const roleOf = (nth: number): string => (nth % 2 === 0 ? 'user' : 'assistant')

function inputOf(name: string, piece: (nth: number) => string, head = '', tail = ''): Input {
  return {
    name,
    folder: 'task',
    size: 0,
    async *bytes() {
      yield Buffer.from(head)
      for (let nth = 0; nth < ENTRIES; nth++) yield Buffer.from(piece(nth))
      yield Buffer.from(tail)
    },
  }
}

const message = (nth: number): object => ({
  role: roleOf(nth),
  content: [{ type: 'text', text: `${nth} ${text}` }],
})

const FILES: readonly [Source, Input][] = [
  [
    claudeCode,
    inputOf('session.jsonl', (nth) => {
      const place = { uuid: idOf(nth), parentUuid: idOf(nth - 1), sessionId: 's', isSidechain: false }
      return `${JSON.stringify({ ...place, type: roleOf(nth), message: message(nth) })}\n`
    }),
  ],
  [
    pi,
    inputOf(
      'session.jsonl',
      (nth) =>
        `${JSON.stringify({ type: 'message', id: idOf(nth), parentId: idOf(nth - 1), message: message(nth) })}\n`,
      '{"type":"session","version":3,"id":"s"}\n',
    ),
  ],
  [
    roo,
    inputOf(
      'api_conversation_history.json',
      (nth) => `${nth === 0 ? '' : ','}${JSON.stringify({ ...message(nth), ts: nth + 1 })}`,
      '[',
      ']',
    ),
  ],
]

it.each(FILES)('holds no content in memory: $name', { timeout: 300_000 }, async (source, input) => {
  const before = process.memoryUsage().heapUsed
  let most = 0
  let messages = 0
  for await (const event of source.read(input, { branches: false })) {
    if (event.type === 'message') messages += 1
    if (messages % 500 === 0) most = Math.max(most, process.memoryUsage().heapUsed - before)
  }
  expect(messages).toBeGreaterThanOrEqual(ENTRIES)
  expect(most).toBeLessThan(150_000_000)
})
