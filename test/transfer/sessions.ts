import type { NewMessage } from '../../src/index.ts'
import { openStore, type Store } from '../../src/index.ts'

/** 2025-03-01 10:00:00 UTC. */
export const BEGIN = Date.UTC(2025, 2, 1, 10)

/** All of it, in one text. */
export async function whole(pieces: AsyncIterable<string>): Promise<string> {
  let text = ''
  for await (const piece of pieces) text += piece
  return text
}

/** A store in memory with one session of these messages, a second apart. */
export async function storeWith(messages: readonly NewMessage[], title = 'Rounding'): Promise<Store> {
  const store = await openStore(':memory:')
  await store.sessions.create({ id: 's', title, provider: 'anthropic', model: 'claude-sonnet-4' })
  await store.append(
    's',
    messages.map((message, index) => ({ createdAt: BEGIN + index * 1_000, ...message })),
  )
  return store
}

/** The first bytes of a PNG, and a few more. */
export const PNG = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')

/** Messages in which every type of part stands. */
export const EVERY_PART: readonly NewMessage[] = [
  { role: 'system', content: 'Be brief.' },
  {
    role: 'user',
    content: [
      { type: 'text', text: 'Look:' },
      { type: 'image', image: PNG.toString('base64'), mediaType: 'image/png' },
      { type: 'image', image: 'https://example.org/a.png' },
      {
        type: 'file',
        data: Buffer.from('%PDF-1.4').toString('base64'),
        mediaType: 'application/pdf',
        filename: 'a.pdf',
      },
      {
        type: 'file',
        data: Buffer.from('<svg onload="x"/>').toString('base64'),
        mediaType: 'image/svg+xml',
        filename: '<b>.svg',
      },
    ],
  },
  {
    role: 'assistant',
    content: [
      { type: 'reasoning', text: 'The file says it.' },
      { type: 'text', text: 'Reading.' },
      { type: 'tool-call', toolCallId: 'c1', toolName: 'read', input: { path: 'a.ts', lines: [1, 2] } },
      { type: 'tool-call', toolCallId: 'c2', toolName: 'shot', input: {} },
      { type: 'provider', provider: 'anthropic', data: { type: 'odd' } },
    ],
  },
  {
    role: 'tool',
    content: [
      {
        type: 'tool-result',
        toolCallId: 'c1',
        toolName: 'read',
        output: { type: 'error-text', value: 'No such file.' },
      },
      {
        type: 'tool-result',
        toolCallId: 'c2',
        toolName: 'shot',
        output: {
          type: 'content',
          value: [
            { type: 'text', text: 'shown' },
            { type: 'image', image: PNG, mediaType: 'image/png' },
          ],
        },
      },
    ],
  },
  { role: 'assistant', content: 'There is none.' },
  { role: 'user', content: 'Thanks.' },
]
