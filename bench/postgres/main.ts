import { parseArgs } from 'node:util'
import pg from 'pg'
import { openStore, type Store } from 'undertext'
import { median, medianBlocks } from '../rounds.ts'
import { appended, handSession, keyed, tagged, viewed } from './hand.ts'

/*
 * Measures the package on PostgreSQL against statements written by hand for the same rows, indexes and triggers, in the same run.
 * UNDERTEXT_PG is the URL of a database for it; the schemas `bench` and `bench_hand` are made anew. `--json` prints the figures as one
 * line; `--messages N` is the length of the long session.
 */

const { values } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    messages: { type: 'string', default: '1000000' },
    rounds: { type: 'string', default: '7' },
  },
})
const url = process.env.UNDERTEXT_PG
if (url === undefined || !/^postgres(ql)?:\/\//.test(url)) {
  process.stderr.write('Set UNDERTEXT_PG to the URL of a database, such as postgres://me@localhost/bench\n')
  process.exit(2)
}
const rounds = Number(values.rounds)

const CLIENTS = 16
/** Turns of a block, by all clients: a shorter one measures the disk's mood. */
const TURNS = 800
const VIEWS = 50

const pool = new pg.Pool({ connectionString: url, max: CLIENTS, pipeline: true } as pg.PoolConfig)
for (const schema of ['bench', 'bench_hand']) await pool.query(`drop schema if exists ${schema} cascade`)
const store: Store = await openStore(pool, { schema: 'bench', estimator: 'neurolink', env: false })
await (await openStore(pool, { schema: 'bench_hand', env: false })).close()

const text = (length: number, start: string): string =>
  `${start}${' lorem ipsum dolor sit amet consectetur'.repeat(40)}`.slice(0, length)
const turn = (n: number, key?: string) => [
  { role: 'user', content: text(200, `q${n}`), ...(key && { idempotencyKey: `${key}a` }) } as const,
  { role: 'assistant', content: text(1200, `a${n}`), ...(key && { idempotencyKey: `${key}b` }) } as const,
]

/** Ratio of throughputs: of the time by hand and ours. */
async function ratio(clients: number, ours: Work, hand: Work): Promise<number> {
  const all = (work: Work) => () =>
    Promise.all(Array.from({ length: clients }, (_, at) => repeat(work, at, TURNS / clients)))
  const block = async (work: Work): Promise<void> => void (await all(work)())
  const time = await medianBlocks(
    [
      { name: 'ours', block: () => block(ours) },
      { name: 'hand', block: () => block(hand) },
    ],
    rounds,
  )
  return time('hand') / time('ours')
}

type Work = (client: number, n: number) => Promise<unknown>
let count = 0
async function repeat(work: Work, client: number, turns: number): Promise<void> {
  for (let n = 0; n < turns; n++) await work(client, count++)
}

const hands = await Promise.all(Array.from({ length: CLIENTS + 1 }, (_, at) => handSession(pool, `s${at}`)))
for (let at = 0; at <= CLIENTS; at++) await store.append(`s${at}`, turn(0))

// A plan that was made for an empty table reads all of a session.
await pool.query('analyze')
const append: Work = (at, n) => store.append(`s${at}`, turn(n))
const manual: Work = (at, n) => appended(pool, hands[at]!, turn(n))
const figures: Record<string, number> = {
  append_ratio_1: await ratio(1, append, manual),
  append_ratio_16: await ratio(CLIENTS, append, manual),
  append_keyed_ratio: await ratio(
    1,
    (at, n) => store.append(`s${at}`, turn(n, `k${n}`)),
    (at, n) => keyed(pool, hands[at]!, turn(n, `k${n}`)),
  ),
  hot_session_ratio: await ratio(
    CLIENTS,
    (_, n) => store.append(`s${CLIENTS}`, turn(n)),
    (_, n) => appended(pool, hands[CLIENTS]!, turn(n)),
  ),
}

/** A session of which one summary and the last 50 messages are visible. */
async function long(id: string, messages: number): Promise<number> {
  for (let from = 0; from < messages; from += 2_000)
    await store.append(
      id,
      Array.from({ length: Math.min(1_000, (messages - from) / 2) }, (_, n) => turn(n)).flat(),
    )
  await store.compactSession(id, { range: { from: 1, to: messages - 50 }, summary: 'What was said before.' })
  await pool.query('analyze')
  const { rows } = await pool.query('select family from bench.names where id = $1', [id])
  return Number(rows[0].family)
}

const views: Record<string, { ours: number; hand: number }> = {}
for (const [name, messages] of Object.entries({ small: 10_000, large: Number(values.messages) })) {
  const family = await long(name, messages)
  const time = await medianBlocks(
    [
      { name: 'ours', block: () => many(() => store.getEffectiveHistory(name)) },
      { name: 'hand', block: () => many(() => viewed(pool, family)) },
    ],
    rounds,
  )
  views[name] = { ours: time('ours'), hand: time('hand') }
}
async function many(work: () => Promise<unknown>): Promise<void> {
  for (let n = 0; n < VIEWS; n++) await work()
}
figures.view_ratio = views.small!.ours / views.small!.hand
figures.view_growth = views.large!.ours / views.large!.hand

const ours: number[] = []
const bare: number[] = []
const family = await long('compact', 10_000)
const runId = (await store.listCompactions('compact'))[0]!.runId
for (let round = 0; round < rounds; round++) {
  let start = performance.now()
  await store.undoCompaction('compact', runId)
  ours.push(performance.now() - start)
  await store.redoCompaction('compact', runId)
  start = performance.now()
  await tagged(pool, family, null)
  bare.push(performance.now() - start)
  await tagged(pool, family, 1)
}
figures.compact_ratio = median(ours) / median(bare)

if (values.json) process.stdout.write(`${JSON.stringify(figures)}\n`)
else
  for (const [name, value] of Object.entries(figures)) process.stdout.write(`${name} ${value.toFixed(2)}\n`)
await store.close()
await pool.end()
