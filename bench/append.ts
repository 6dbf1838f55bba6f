import { type NewMessage, openStore, type Store } from 'undertext'
import { BareAppender, type Durability, openBare } from './bare.ts'
import { makeRandom, textTurn, toolTurn } from './conversation.ts'
import type { Folder } from './folder.ts'
import { type Contestant, medianBlocks } from './rounds.ts'

const TURNS: Readonly<Record<Durability, number>> = { normal: 250, full: 100 }
const ROUNDS = 25
const KINDS = ['text', 'tool'] as const
type Kind = (typeof KINDS)[number]

/** Turns made before the clock runs, so that both sides start from the same objects. */
function makeTurns(kind: Kind, count: number): NewMessage[][] {
  const random = makeRandom(3)
  return Array.from({ length: count }, (_, number) =>
    kind === 'text' ? textTurn(random) : toolTurn(random, number),
  )
}

export type AppendFigures = {
  /** Throughput of ours over that of the hand-written, the worse of text turns and tool turns. */
  readonly ratio: number
  /** Milliseconds a turn takes. */
  readonly ours: Readonly<Record<Kind, number>>
  readonly bare: Readonly<Record<Kind, number>>
}

/** Appends of one turn (two messages, one transaction): ours against the hand-written, each on its own file. */
export async function appendAgainstBare(folder: Folder, durability: Durability): Promise<AppendFigures> {
  const count = TURNS[durability]
  const contestants: Contestant[] = []
  const closing: (() => unknown)[] = []
  for (const kind of KINDS) {
    const turns = makeTurns(kind, count)
    const store = await openStore(folder.file(`append-${durability}-${kind}-ours.db`), { durability })
    contestants.push({ name: `ours ${kind}`, block: () => appendAll(store, 's', turns) })
    const bareFile = folder.file(`append-${durability}-${kind}-bare.db`)
    await prepareBareFile(bareFile)
    const database = openBare(bareFile, durability)
    const appender = new BareAppender(database)
    contestants.push({
      name: `bare ${kind}`,
      block: () => {
        for (const turn of turns) appender.append('s', turn)
      },
    })
    closing.push(
      () => store.close(),
      () => database.close(),
    )
  }
  const timeOf = await medianBlocks(contestants, ROUNDS)
  for (const close of closing) await close()
  const perTurn = (who: string): Record<Kind, number> => ({
    text: timeOf(`${who} text`) / count,
    tool: timeOf(`${who} tool`) / count,
  })
  const [ours, bare] = [perTurn('ours'), perTurn('bare')]
  return { ratio: Math.min(bare.text / ours.text, bare.tool / ours.tool), ours, bare }
}

/** A file with the tables and an empty session `s`, made by ourselves. */
async function prepareBareFile(file: string): Promise<void> {
  const store = await openStore(file)
  await store.sessions.create({ id: 's' })
  await store.close()
}

async function appendAll(store: Store, sessionId: string, turns: readonly NewMessage[][]): Promise<void> {
  for (const turn of turns) await store.append(sessionId, turn)
}

/** Milliseconds a text turn takes on a new file, on one that holds a long session, and with 500 sessions in turn. */
export async function appendGrowth(
  folder: Folder,
  longFile: string,
): Promise<{ readonly small: number; readonly large: number; readonly interleaved: number }> {
  const turns = makeTurns('text', TURNS.normal)
  const small = await openStore(folder.file('growth-small.db'), { durability: 'normal' })
  const large = await openStore(folder.file(longFile), { durability: 'normal' })
  const many = await openStore(folder.file('growth-many.db'), { durability: 'normal' })
  let next = 0
  const timeOf = await medianBlocks(
    [
      { name: 'small', block: () => appendAll(small, 's', turns) },
      { name: 'large', block: () => appendAll(large, 's', turns) },
      {
        name: 'interleaved',
        block: async () => {
          for (const turn of turns) {
            next = (next + 1) % 500
            await many.append(`s${next}`, turn)
          }
        },
      },
    ],
    ROUNDS,
  )
  for (const store of [small, large, many]) await store.close()
  const perTurn = (name: string): number => timeOf(name) / TURNS.normal
  return { small: perTurn('small'), large: perTurn('large'), interleaved: perTurn('interleaved') }
}
