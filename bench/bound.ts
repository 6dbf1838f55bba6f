import { type NewMessage, openStore, type Store } from 'undertext'
import { makeRandom, textOf, toolTurn } from './conversation.ts'
import type { Folder } from './folder.ts'
import { medianBlocks, processorTime } from './rounds.ts'

const ROUNDS = 100
const ROWS = 2_000
/** Turns at the end whose requests are recorded. */
const RECORDED = 20

const MODELS = { checks: 'claude-opus-5-5', free: 'claude-opus-5' } as const
type Name = keyof typeof MODELS

/** What a model that checks what precedes its reasoning costs over one that does not, of the same session: processor time. */
export type BoundFigures = {
  /** A view, read and rendered: after a turn, before the first answer after a change of old rows, and after it. */
  readonly view: number
  readonly changed: number
  readonly settled: number
  readonly prepare: number
  /** Milliseconds of a view. */
  readonly milliseconds: number
}

/** A session of 2,000 rows with reasoning before each call, for both models. */
export async function boundAgainstFree(folder: Folder): Promise<BoundFigures> {
  await using store = await openStore(folder.file('bound.db'), {
    env: false,
    contextWindows: { anthropic: 100_000_000 },
  })
  for (const name of ['checks', 'free'] as const) await fill(store, name)
  const render = (name: Name) => store.renderHistory(name)
  const view = await ratioOf(render)
  const prepare = await ratioOf((name) => store.prepareRequest(name, { prompt: 'And now?' }))
  for (const name of ['checks', 'free'] as const) {
    await store.compactSession(name, { range: { from: 1, to: 4 }, summary: 'It began.' })
  }
  const changed = await ratioOf(render)
  for (const name of ['checks', 'free'] as const) await recordedTurn(store, name, turnOf(makeRandom(2), ROWS))
  const settled = await ratioOf(render)
  return {
    view: view.ratio,
    changed: changed.ratio,
    settled: settled.ratio,
    prepare: prepare.ratio,
    milliseconds: view.milliseconds,
  }
}

async function ratioOf(work: (name: Name) => Promise<unknown>) {
  const timeOf = await medianBlocks(
    (['checks', 'free'] as const).map((name) => ({ name, block: async () => void (await work(name)) })),
    ROUNDS,
    processorTime,
  )
  return { ratio: timeOf('checks') / timeOf('free'), milliseconds: timeOf('checks') }
}

async function fill(store: Store, name: Name): Promise<void> {
  const names = { provider: 'anthropic', model: MODELS[name] }
  await store.sessions.create({ id: name, ...names })
  const random = makeRandom(1)
  const turns = Array.from({ length: ROWS / 4 }, (_, turn) => turnOf(random, turn))
  await store.append(name, turns.slice(0, -RECORDED).flat())
  for (const turn of turns.slice(-RECORDED)) await recordedTurn(store, name, turn)
}

async function recordedTurn(store: Store, name: Name, turn: readonly NewMessage[]): Promise<void> {
  const [asked, called, answered, ended] = turn
  await recorded(store, name, asked!, called!)
  await recorded(store, name, answered!, ended!)
}

async function recorded(store: Store, name: Name, prompt: NewMessage, answer: NewMessage): Promise<void> {
  const request = await store.prepareRequest(name, { prompt: [prompt] })
  await store.recordResponse(name, { request, messages: [answer] })
}

/** A request, a call with reasoning, its result, and an answer with reasoning. */
function turnOf(random: () => number, turn: number): NewMessage[] {
  const [call, result] = toolTurn(random, turn)
  const thinking = (place: string) => ({
    type: 'reasoning' as const,
    text: textOf(400, random),
    providerOptions: { anthropic: { signature: Buffer.from(`${turn} ${place}`).toString('base64') } },
  })
  return [
    { role: 'user', content: textOf(400, random) },
    { role: 'assistant', content: [thinking('call'), ...(call!.content as [])] },
    result!,
    { role: 'assistant', content: [thinking('answer'), { type: 'text', text: textOf(400, random) }] },
  ]
}
