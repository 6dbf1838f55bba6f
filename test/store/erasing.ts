import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Store } from '../../src/index.ts'
import { call, result } from '../support/conversation.ts'
import { randomFrom } from '../support/random.ts'

/* Sessions in which every text says whose it is, and what of them is readable in the files. */

/** The kinds of text that are found in a file of the folder. */
export function readableIn(folder: string, who: string): string[] {
  const bytes = readdirSync(folder)
    .map((name) => readFileSync(join(folder, name), 'latin1'))
    .join('\0')
  return KINDS.filter((kind) => bytes.includes(`${who}-${kind}`))
}

export const KINDS = [
  ...['text', 'long', 'id', 'key', 'metadata', 'call', 'output', 'file'],
  ...['owner', 'title', 'first-title', 'field', 'summary', 'reason', 'actor', 'operation', 'config'],
  ...['note', 'note-key', 'note-field', 'note-actor', 'draft'],
]

/** Two turns of a session, in which every text says whose it is. */
async function turn(store: Store, who: string, nth: number, size: number): Promise<void> {
  const of = (kind: string): string => `${who}-${kind}-${nth}-${'.'.repeat(size % 90)}`
  const long = `${who}-long `.repeat(1 + (size % 900))
  const image = Buffer.from(`${who}-file `.repeat(1_000)).toString('base64')
  await store.append(`session-${who}`, [
    { role: 'user', content: of('text'), id: of('id'), idempotencyKey: of('key') },
    { ...call(of('call'), 'run', { long }), metadata: { who: of('metadata') } },
    { ...result(of('call'), of('output')), id: of('id2') },
    {
      role: 'user',
      content: [
        { type: 'text', text: long },
        { type: 'image', image },
      ],
    },
  ])
}

/** A conversation of each, one turn of each after the other, with all that leaves texts in tables. */
export async function talk(
  store: Store,
  people: readonly string[],
  turns: number,
  random = randomFrom(7),
  from = 0,
): Promise<void> {
  const below = (end: number): number => Math.floor(random() * end)
  for (let nth = from; nth < from + turns; nth++) {
    for (const who of people) await turn(store, who, nth, below(5_000))
    for (const who of people.filter(() => nth === from || below(3) === 0)) await change(store, who, nth)
  }
}

async function change(store: Store, who: string, nth: number): Promise<void> {
  const id = `session-${who}`
  await store.sessions.update(id, {
    title: `${who}-${nth === 0 ? 'first-title' : 'title'} ${'-'.repeat(nth * 9)}`,
    owner: `${who}-owner`,
    metadata: { who: `${who}-field` },
    config: { instructions: `${who}-config` } as never,
  })
  await store.compactSession(id, {
    range: { from: 1, to: 3 },
    summary: `${who}-summary`,
    reason: `${who}-reason`,
  })
  const note = await store.notes.add(`${who}-note ${nth}`, {
    session: id,
    key: `${who}-note-key`,
    metadata: { who: `${who}-note-field` },
    actor: `${who}-note-actor`,
  })
  if (nth % 2 === 0) await store.notes.forget(note.id)
  const [newest] = (await store.getEffectiveHistory(id)).slice(-1)
  await store.rewind(id, {
    from: { beforeMessage: newest!.id },
    operationId: `${who}-operation-${nth}`,
    actor: `${who}-actor`,
  })
  const turn = await store.beginTurn(id)
  await turn.flush([{ role: 'assistant', content: `${who}-draft ${nth}`.repeat(40 * nth) }])
  await turn.flush([{ role: 'assistant', content: `${who}-draft ${nth}` }])
  await turn.end()
}
