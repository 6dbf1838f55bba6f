import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isUndertextError, openStore, type Store } from '../../src/index.ts'
import type { HistoryRecord } from '../../src/storage/records/records.ts'
import { checkHistory } from '../../src/transfer/history-lines.ts'
import { storageOf } from '../support/apply-stage.ts'
import { call, chat, result, say, units } from '../support/conversation.ts'
import { CANARY, failureOf } from '../support/failures.ts'
import { linesFrom, numbered, recordsOf } from './support.ts'

/* A history with something of everything, and every way to forge it: each is refused at its line, and nothing of it is stored. */

/** A record of which anything may be made. */
type Loose = {
  readonly type?: unknown
  readonly id?: string
  readonly incarnation?: string
  readonly position?: number
  readonly compaction?: string
  readonly message?: string
  readonly status?: string
  readonly retired?: boolean
  readonly audit?: number
  readonly rowsHidden?: number
  readonly inserts?: readonly [number, number]
  readonly hides?: { readonly inserted?: readonly [number, number][] }
  readonly requires?: readonly { readonly message: string }[]
  readonly bytes?: readonly unknown[]
}

let store: Store
let records: readonly HistoryRecord[]

beforeAll(async () => {
  store = await openStore(':memory:')
  // Positions 1 to 7.
  await store.append('s', [
    { ...say('user', `${CANARY} read it`), id: 'own', idempotencyKey: 'k' },
    call('c1', 'read', { path: 'a.ts' }),
    result('c1', units(200)),
    { role: 'user', content: [{ type: 'image', image: new Uint8Array([1, 2, 3]) }] },
    call('c2', 'read', { path: 'a.ts' }),
    result('c2', units(200)),
    say('assistant', `${CANARY} done`),
  ])
  await store.append('s', chat(4))
  // The older read points at the newer one; a summary stands for 8 to 11 and is undone, one for 8 and 9 is in force.
  await store.compactSession('s', {
    ...{ enablePrune: false, enableSummarize: false, enableTruncate: false },
    ...{ deduplicateMinimumSavings: 0, targetTokens: 1 },
  })
  const run = (await store.compactSession('s', { range: { from: 8, to: 11 }, summary: 'first' }))!
  await store.undoCompaction('s', run.runId)
  await store.compactSession('s', { range: { from: 8, to: 9 }, summary: 'second' })
  await store.requests.recordUsage('s', { inputTokens: 700, position: 7 })
  await store.rewind('s', { from: 'start', keepCompactions: true, append: chat(1), operationId: 'op' })
  await store.undoCompaction('s', (await store.listCompactions('s')).at(-1)!.id, { both: true })
  for (const key of ['a', 'b']) await store.notes.add('A note.', { session: 's', key })
  records = await recordsOf(store, 's')
})
afterAll(() => store.close())

/** The index of the nth record of a type. */
function at(list: readonly Loose[], type: string, nth = 0): number {
  const indexes = list.flatMap((record, index) => (record.type === type ? [index] : []))
  expect(indexes.length, type).toBeGreaterThan(nth)
  return indexes[nth]!
}

/** A change of a list of records, which answers the index at which it is found out; and what is said. */
type Forgery = readonly [forge: (list: Loose[]) => number, why: RegExp]
/** Fields a record has instead; `undefined` for none. */
type Patch = (record: Loose, list: readonly Loose[]) => object

const change =
  (type: string, nth: number, patch: Patch) =>
  (list: Loose[]): number => {
    const index = at(list, type, nth)
    patchAt(list, index, patch)
    return index
  }
/** The same, found out only where the rows begin. */
const changeHead =
  (type: string, nth: number, patch: Patch) =>
  (list: Loose[]): number => {
    change(type, nth, patch)(list)
    return at(list, 'message')
  }
/** The same, found out at the end. */
const changeSeenAtEnd =
  (type: string, nth: number, patch: Patch) =>
  (list: Loose[]): number => {
    change(type, nth, patch)(list)
    return list.length - 1
  }

function patchAt(list: Loose[], index: number, patch: Patch): void {
  const patched = { ...list[index], ...patch(list[index]!, list) }
  // As a file would have it: without what is undefined.
  list[index] = JSON.parse(JSON.stringify(patched)) as Loose
}

function idOf(list: readonly Loose[], nth: number): string | undefined {
  return list[at(list, 'compaction', nth)]!.id
}

const remove =
  (type: string, nth: number) =>
  (list: Loose[]): number => {
    const index = at(list, type, nth)
    list.splice(index, 1)
    return index
  }

// Compactions by number: 0 deduplicates, 1 was undone, 2 is in force, 3 rewinds and is undone.
const FORGERIES: Readonly<Record<string, Forgery>> = {
  'no header': [remove('header', 0), /begin with its header/],
  'a header twice': [
    (list) => {
      list.splice(1, 0, { ...list[0] })
      return 1
    },
    /one header/,
  ],
  'another format': [change('header', 0, () => ({ format: 'x' })), /isn't an undertext history/],
  'a later version': [
    change('header', 0, () => ({ version: 3 })),
    /version 3 of the format, but this package reads version 1/,
  ],
  'a record of no type': [change('audit', 0, () => ({ type: CANARY })), /its type is unknown/],
  'a record that is a list': [
    (list) => {
      list[1] = [] as Loose
      return 1
    },
    /its type is unknown/,
  ],
  'an unknown field': [change('message', 0, () => ({ colour: CANARY })), /Unrecognized key/],
  'no session': [remove('session', 0), /session must follow the header/],
  'an incarnation of another form': [change('session', 0, () => ({ incarnation: 'x' })), /incarnation/],
  'an id with a NUL': [change('session', 0, () => ({ id: 'a\0b' })), /NUL/],
  'a config that cannot be': [change('session', 0, () => ({ config: { threshold: 'much' } })), /threshold/],
  'a metadata that is a list': [change('session', 0, () => ({ metadata: [] })), /metadata/],
  'a fraction of a message': [change('session', 0, () => ({ messages: 1.5 })), /messages/],
  'a number that is not safe': [change('session', 0, () => ({ version: 2 ** 53 })), /version/],
  'more messages than said': [
    (list) => {
      patchAt(list, 1, () => ({ messages: 1 }))
      return at(list, 'compaction', 1)
    },
    /rows that the session doesn't have/,
  ],
  'a session behind a compaction': [
    (list) => {
      const [session] = list.splice(1, 1)
      list.splice(2, 0, session!)
      return 1
    },
    /session must follow/,
  ],
  'a compaction behind the audit': [
    (list) => {
      const index = at(list, 'compaction', 3)
      const [record] = list.splice(index, 1)
      list.splice(index + 1, 0, record!)
      return index + 1
    },
    /compaction must come earlier/,
  ],
  'a compaction behind the rows': [
    (list) => {
      const [record] = list.splice(at(list, 'compaction', 3), 1)
      list.splice(-1, 0, record!)
      return list.findIndex(({ compaction }) => compaction === record!.id)
    },
    /its compaction is missing/,
  ],
  'two compactions of one id': [
    change('compaction', 1, (_, l) => ({ id: idOf(l, 0) })),
    /with its id already exists/,
  ],
  'a kind that is none': [change('compaction', 0, () => ({ kind: 'x' })), /kind/],
  'a status that is none': [change('compaction', 0, () => ({ status: 'x' })), /status/],
  'a range backwards': [
    change('compaction', 2, () => ({ hides: { positions: [[9, 8]] } })),
    /before it begins/,
  ],
  'ranges out of order': [
    change('compaction', 2, () => ({
      hides: {
        positions: [
          [9, 9],
          [8, 8],
        ],
      },
    })),
    /ordered/,
  ],
  'ranges that overlap': [
    change('compaction', 2, () => ({
      hides: {
        positions: [
          [8, 9],
          [9, 9],
        ],
      },
    })),
    /ordered/,
  ],
  'a range behind the log': [
    change('compaction', 2, () => ({ hides: { positions: [[8, 99]] } })),
    /rows that the session doesn't have/,
  ],
  'another number of rows': [change('compaction', 2, () => ({ rowsHidden: 3 })), /rowsHidden/],
  'a row hidden twice at once': [
    changeHead('compaction', 1, () => ({ status: 'active', undoneWithRun: undefined })),
    /hide the same message/,
  ],
  'a row covered and left beside': [
    change('compaction', 2, () => ({ beside: { positions: [[9, 9]] } })),
    /leave it in view/,
  ],
  'a row that it inserts itself hidden': [
    change('compaction', 2, (r) => ({ hides: { ...r.hides, inserted: [r.inserts] }, rowsHidden: 3 })),
    /the row that it inserts/,
  ],
  'a row of a later one covered': [
    changeHead('compaction', 1, (r, l) => ({
      hides: { ...r.hides, inserted: [l[at(l, 'compaction', 2)]!.inserts] },
      rowsHidden: r.rowsHidden! + 1,
    })),
    /that a later one inserts/,
  ],
  'a row of one not in force covered': [
    changeHead('compaction', 2, (r, l) => ({
      hides: { ...r.hides, inserted: [l[at(l, 'compaction', 1)]!.inserts] },
      rowsHidden: r.rowsHidden! + 1,
    })),
    /by one that isn't in force/,
  ],
  'a place of an inserted row that is another': [
    changeHead('compaction', 3, (r) => ({
      hides: { ...r.hides, inserted: r.hides!.inserted!.map(([anchor, ordinal]) => [anchor - 1, ordinal]) },
    })),
    /wrong place/,
  ],
  'one row inserted by two': [
    changeHead('compaction', 2, () => ({ inserts: [9, 1] })),
    /insert the same row/,
  ],
  'a row inserted by none': [
    changeHead('compaction', 1, () => ({ inserts: undefined })),
    /has no compaction/,
  ],
  'a rank beyond the version': [change('compaction', 0, () => ({ rank: 1_000 })), /rank/],
  'a truncation that rewinds': [change('compaction', 3, () => ({ kind: 'truncate' })), /only a manual/],
  'an attempt that inserted': [change('compaction', 1, () => ({ status: 'failed' })), /never in force/],
  'a run undone by another entry': [
    changeHead('compaction', 1, () => ({ undoneWithRun: 1 })),
    /record of an undone run/,
  ],
  'a run undone by an entry that is not there': [
    changeHead('compaction', 1, () => ({ undoneWithRun: 99 })),
    /record of an undone run/,
  ],
  'a run undone and in force': [
    change('compaction', 2, () => ({ undoneWithRun: 1 })),
    /requires the status undone/,
  ],
  'a missing part that a compaction refers to': [
    (list) => {
      const { message } = list[at(list, 'compaction')]!.requires![0]!
      patchAt(list, at(list, 'compaction'), () => ({ requires: [{ message, part: 9 }] }))
      return list.findIndex(({ position }) => message.endsWith(`:${position}`))
    },
    /refers to a part/,
  ],
  'a missing row that a compaction refers to': [
    changeSeenAtEnd('compaction', 0, () => ({ requires: [{ message: 'nobody', part: 0 }] })),
    /refers to a missing row/,
  ],
  'an audit of a compaction that is not there': [
    change('audit', 0, () => ({ compaction: 'nobody' })),
    /compaction is missing/,
  ],
  'an endless audit': [change('audit', 0, () => ({ detail: { long: 'x'.repeat(20_000) } })), /longer than/],
  'figures of a model twice': [
    (list) => {
      const index = at(list, 'measurement')
      list.splice(index, 0, { ...list[index]! })
      return index + 1
    },
    /duplicates an earlier record/,
  ],
  'a measurement of a later view': [change('measurement', 0, () => ({ viewEpoch: 1_000 })), /viewEpoch/],
  'an operation on what is not there': [change('operation', 0, () => ({ positions: [99] })), /positions/],
  'a note that an earlier one replaced': [change('note', 1, () => ({ replacedBy: 1 })), /later note/],
  'two notes of a key in use': [change('note', 1, () => ({ key: 'a' })), /duplicates an earlier record/],
  'notes out of order': [change('note', 1, () => ({ no: 1 })), /order of their numbers/],
  'a source without its session': [change('note', 0, () => ({ source: 'm' })), /given together/],
  'a position left out': [
    (list) => {
      const index = at(list, 'message', 6)
      list.splice(index, 1)
      return index
    },
    /position must be 7/,
  ],
  'two messages exchanged': [
    (list) => {
      const index = at(list, 'message', 6)
      list.splice(index, 2, list[index + 1]!, list[index]!)
      return index
    },
    /position must be 7/,
  ],
  'an id of the form of ours': [
    change('message', 0, (_, l) => ({ id: `${l[1]!.incarnation}:1` })),
    /form of the ids/,
  ],
  'an id twice': [change('message', 1, () => ({ id: 'own' })), /with its id already exists/],
  'a role that is none': [change('message', 0, () => ({ role: CANARY })), /role/],
  'a content that is none': [
    change('message', 0, () => ({ content: [{ type: CANARY }] })),
    /type is unknown/,
  ],
  'bytes that are no base64': [
    change('message', 3, () => ({ content: [{ type: 'image', image: '*' }] })),
    /base64/,
  ],
  'bytes where no data is': [change('message', 1, () => ({ bytes: [[0, -1]] })), /base64/],
  'bytes named twice': [change('message', 3, (r) => ({ bytes: [...r.bytes!, [0, -1]] })), /base64/],
  'a tag that is missing': [
    change('message', 7, () => ({ condenseParent: undefined })),
    /condenseParent doesn't match/,
  ],
  'a tag of another compaction': [
    change('message', 7, (_, l) => ({ condenseParent: idOf(l, 1) })),
    /condenseParent doesn't match/,
  ],
  'a tag too many': [
    change('message', 0, (_, l) => ({ truncationParent: idOf(l, 3) })),
    /truncationParent doesn't match/,
  ],
  'a summary that is not retired': [
    change('summary', 0, (r) => ({ retired: r.retired === true ? undefined : true })),
    /retired doesn't match/,
  ],
  'a summary of another compaction': [
    change('summary', 0, (_, l) => ({ compaction: idOf(l, 0) })),
    /doesn't insert it/,
  ],
  'a summary somewhere else': [
    change('summary', 0, () => ({ anchor: 3 })),
    /follow the message of its anchor/,
  ],
  'a summary that is a marker': [
    change('summary', 0, () => ({ type: 'marker' })),
    /inserts a row of another kind/,
  ],
  'a summary left out': [
    (list) => {
      list.splice(at(list, 'summary'), 1)
      return list.length - 1
    },
    /fewer inserted rows/,
  ],
  'a replacement of a row that is not before it': [
    change('replacement', 0, () => ({ message: 'own' })),
    /follow its row/,
  ],
  'a replacement by nobody': [
    change('replacement', 0, () => ({ compaction: 'nobody' })),
    /compaction is missing/,
  ],
  'a replacement of a part that is not there': [
    change('replacement', 0, () => ({ part: 5 })),
    /doesn't have that part/,
  ],
  'an original shown by no rewind': [change('replacement', 0, () => ({ text: null })), /only a rewind/],
  'a replacement twice': [
    (list) => {
      const index = at(list, 'replacement')
      list.splice(index, 0, { ...list[index]! })
      return index + 1
    },
    /ordered/,
  ],
  'a replacement left out': [
    (list) => {
      list.splice(at(list, 'replacement'), 1)
      return list.length - 1
    },
    /partsReplaced/,
  ],
  'another count': [changeSeenAtEnd('end', 0, (r) => ({ audit: r.audit! + 1 })), /audit must be/],
  'no end': [
    (list) => {
      list.pop()
      return list.length - 1
    },
    /end record is missing/,
  ],
  'something behind the end': [
    (list) => {
      list.push({ ...list.at(-2)! })
      return list.length - 1
    },
    /has ended/,
  ],
  'a pair that is parted': [
    (list) => {
      // The call hidden and its result not, which no verb of a store does.
      const hides = {
        positions: [
          [5, 5],
          [8, 9],
        ],
      }
      patchAt(list, at(list, 'compaction', 2), () => ({ hides, rowsHidden: 3 }))
      patchAt(list, at(list, 'message', 4), () => ({ condenseParent: idOf(list, 2) }))
      return list.length - 1
    },
    /sessions.verify reports PARTED_PAIR/,
  ],
}

/** What only a store sees, for a check holds no ids and has no settings; and what only stands between lines. */
const SEEN_BY_STORES = ['an id twice', 'a pair that is parted', 'a config that cannot be']
const SEEN_IN_LINES = ['something behind the end', 'no end', 'a header twice', 'no header']

describe('a history with', () => {
  it('nothing wrong is restored', async () => {
    const other = await openStore(':memory:')
    await other.sessions.import(structuredClone(records) as HistoryRecord[])
    expect(await other.sessions.list()).toHaveLength(1)
    await other.close()
  })

  it.each(Object.keys(FORGERIES))('%s is refused, and nothing of it is stored', async (name) => {
    const [forge, why] = FORGERIES[name]!
    const forged = structuredClone(records) as HistoryRecord[]
    const index = forge(forged as Loose[])
    const other = await openStore(':memory:')
    const error = await failureOf(() => other.sessions.import(forged))
    if (!isUndertextError(error, 'HISTORY_REFUSED')) throw error
    expect(error.facts.why).toMatch(why)
    expect(error.facts.line).toBe(index + 1)
    expect(JSON.stringify(error.facts) + error.message).not.toContain(CANARY)
    expect(await storageOf(other).importsInProgress()).toEqual([])
    expect(await other.sessions.list()).toEqual([])
    await other.close()
    if (!SEEN_BY_STORES.includes(name) && !SEEN_IN_LINES.includes(name))
      expect(await firstProblem(forged)).toEqual(error.facts)
  })
})

async function firstProblem(forged: readonly HistoryRecord[]): Promise<unknown> {
  for await (const { problem } of checkHistory(numbered(await linesFrom(forged)))) return problem
  return undefined
}
