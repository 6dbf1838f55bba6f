import type { ContextStats, NewMessage, Part, Store } from '../../src/index.ts'
import { call, say } from '../support/conversation.ts'

/* A store with images in each place that has figures of them, and what an earlier version had in their columns. */

const base64 = (bytes: number): string => Buffer.alloc(bytes, 'picture').toString('base64')
/** A PNG of 2,560 × 1,440 pixels, as far as its header tells. */
const large = Buffer.from('89504e470d0a1a0a0000000d4948445200000a00000005a0', 'hex')
const user = (...content: Part[]): NewMessage => ({ role: 'user', content })
const image = (data: string | Uint8Array): Part => ({ type: 'image', image: data })

export const SESSIONS = ['images', 'fork', 'words'] as const

/** Sessions with images that are shown, shown as a text, undone, hidden, in tool results, and shared by a fork. */
export async function storeImages(store: Store): Promise<void> {
  const [first, forked, words] = SESSIONS
  await store.append(words, [say('user', 'words'), say('assistant', 'ok')])
  await store.append(first, [
    user(image(base64(300))),
    say('assistant', 'seen'),
    user(image(large), { type: 'file', data: base64(30), mediaType: 'application/pdf' }),
    say('assistant', 'seen'),
    say('user', 'look'),
    call('a', 'look'),
    {
      role: 'tool',
      content: [
        {
          type: 'tool-result',
          toolCallId: 'a',
          toolName: 'look',
          output: {
            type: 'content',
            value: [
              { type: 'image', image: large },
              { type: 'image', image: base64(600) },
            ],
          },
        },
      ],
    },
    say('assistant', 'seen'),
    user(image('https://example.com/a.png'), image(base64(3_000))),
    say('assistant', 'seen'),
  ])
  const run = await store.compactSession(first, { stages: [{ stage: 'media', keep: 2 }] })
  await store.forkSession(first, { id: forked })
  await store.undoCompaction(first, run!.runId)
  await store.compactSession(first, { stages: [{ stage: 'media', keep: 3 }] })
  const last = (await store.getMessages(forked)).at(-2)!
  await store.rewind(forked, { from: { messageId: last.id } })
}

/** The figures of each session. */
export async function imageFigures(store: Store): Promise<unknown[]> {
  const figures = []
  for (const id of SESSIONS) {
    const { sizes, images, bytes } = (await store.getContextStats(id, 'mistral')) as ContextStats
    figures.push({ id, sizes, images, bytes, findings: (await store.verifySession(id)).findings })
  }
  return figures
}

/** The index of tools as versions before the columns wrote it: the tokens alone of a result's media. */
export function formerTools(tools: string): string {
  const values = JSON.parse(`[${tools}]`) as unknown[]
  return JSON.stringify(values.map((value, at) => (isMedia(value, values[at - 1]) ? value[0] : value))).slice(
    1,
    -1,
  )
}

/** The path of a call is a list too; before it is a name, and before media is a number. */
function isMedia(value: unknown, before: unknown): value is number[] {
  return Array.isArray(value) && typeof before === 'number'
}

/** The columns, without their prefix. */
export const MEDIA_SIZES = ['images', 'bytes', 'large'] as const
