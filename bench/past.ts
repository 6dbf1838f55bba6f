import { type NewMessage, openStore } from 'undertext'
import { makeRandom, textOf, textTurn } from './conversation.ts'
import type { Folder } from './folder.ts'
import { median, timed } from './rounds.ts'
import { sessionToStore } from './size.ts'

/* What reaches the past: views at moments, forks, and records of requests. */

const [MESSAGES, SAMPLES, TURNS] = [10_000, 15, 400]

type Fork = {
  readonly milliseconds: number
  /** Bytes that it adds to the file, over the bytes of the file before it. */
  readonly share: number
}

export type PastFigures = {
  /** Milliseconds of views of 10,000 messages: at moments after compactions, before them, and what the latter took before they came. */
  readonly moment: { readonly compacted: number; readonly whole: number; readonly today: number }
  /** The same near the end of the long session. */
  readonly longMoment: number
  readonly fork: Fork & { readonly name: string }
  /** The same of 10,000 messages of 400 characters. */
  readonly forkOfTexts: Fork
  readonly request: RequestFigures
}

export async function reachingThePast(folder: Folder, long: string): Promise<PastFigures> {
  const { name, messages } = sessionToStore()
  const random = makeRandom(3)
  const texts = Array.from({ length: MESSAGES / 2 }, () => textTurn(random)).flat()
  await using longStore = await openStore(folder.file(long))
  const { messageCount } = await longStore.sessions.get('s')
  await longStore.append('s', texts.slice(0, SAMPLES * 20))
  return {
    fork: { name, ...(await forkOf(folder, 'forked.db', repeated(messages))) },
    forkOfTexts: await forkOf(folder, 'forked-texts.db', texts),
    moment: await momentsOf(folder, 'forked-texts.db'),
    longMoment: await medianOf((sample) =>
      longStore.getEffectiveHistory('s', { at: { afterMessage: messageCount + sample * 20 } }),
    ),
    request: await requests(folder),
  }
}

/** A session repeated until it has 10,000 messages, each call with an id of its own. */
function repeated(messages: readonly NewMessage[]): NewMessage[] {
  const all: NewMessage[] = []
  for (let round = 0; all.length < MESSAGES; round++)
    for (const message of messages) {
      const { content } = message
      if (typeof content === 'string') all.push(message)
      else {
        const parts = content.map((part) =>
          'toolCallId' in part ? { ...part, toolCallId: `${part.toolCallId}-${round}` } : part,
        )
        all.push({ ...message, content: parts } as NewMessage)
      }
    }
  return all.slice(0, MESSAGES)
}

/** Forks of now, each after the log of the one before was brought into the file. */
async function forkOf(folder: Folder, name: string, messages: readonly NewMessage[]): Promise<Fork> {
  const fill = await openStore(folder.file(name))
  await fill.append('s', messages)
  await fill.close()
  const before = folder.bytes(name)
  const times: number[] = []
  for (let sample = 0; sample < SAMPLES; sample++) {
    const store = await openStore(folder.file(name))
    await store.getContextStats('s')
    times.push(await timed(() => store.sessions.fork('s')))
    await store.close()
  }
  return { milliseconds: median(times), share: (folder.bytes(name) - before) / SAMPLES / before }
}

/** Views of a session at moments, after four summaries of more and more of it; and its view before them. */
async function momentsOf(folder: Folder, name: string): Promise<PastFigures['moment']> {
  await using store = await openStore(folder.file(name))
  const today = await medianOf(() => store.getEffectiveHistory('s'))
  const compactions: string[] = []
  for (const to of [3_000, 5_000, 7_000, 9_000]) {
    const run = await store.compactSession('s', { range: { from: 1, to }, summary: 'What was said before.' })
    compactions.push(run!.compactions[0]!.id)
  }
  return {
    compacted: await medianOf((sample) =>
      store.getEffectiveHistory('s', { at: { afterCompaction: compactions[sample % compactions.length]! } }),
    ),
    whole: await medianOf(() =>
      store.getEffectiveHistory('s', { at: { beforeCompaction: compactions[0]! } }),
    ),
    today,
  }
}

async function medianOf(work: (sample: number) => Promise<unknown>): Promise<number> {
  const times: number[] = []
  for (let sample = 0; sample < SAMPLES; sample++) times.push(await timed(() => work(sample)))
  return median(times)
}

type RequestFigures = { readonly bytes: number; readonly milliseconds: number }

/** What a record of its request adds to a turn: bytes of the file, and milliseconds of `recordResponse`. */
async function requests(folder: Folder): Promise<RequestFigures> {
  const system = textOf(4_000, makeRandom(1))
  const turnsOf = async (name: string, recorded: boolean): Promise<RequestFigures> => {
    const store = await openStore(folder.file(name), { durability: 'normal' })
    const times: number[] = []
    const random = makeRandom(2)
    for (let turn = 0; turn < TURNS; turn++) {
      const [prompt, answer] = textTurn(random)
      const request = await store.prepareRequest('s', {
        provider: 'anthropic',
        model: 'claude-sonnet-4-5',
        system,
        prompt: prompt!,
      })
      const response = recorded
        ? { request, messages: [answer!] }
        : { provider: 'anthropic', model: 'claude-sonnet-4-5', messages: [prompt!, answer!] }
      times.push(await timed(() => store.recordResponse('s', response)))
    }
    await store.close()
    return { bytes: folder.bytes(name) / TURNS, milliseconds: median(times) }
  }
  const [without, withRecord] = [await turnsOf('unrecorded.db', false), await turnsOf('recorded.db', true)]
  return {
    bytes: withRecord.bytes - without.bytes,
    milliseconds: withRecord.milliseconds - without.milliseconds,
  }
}
