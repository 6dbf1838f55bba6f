import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { neurolinkEstimator } from '../../src/core/tokens/index.ts'
import { type ExpandedRow, type ExpandedSummary, openStore } from '../../src/index.ts'
import { SOURCE_QUERIES } from '../../src/storage/sql/sources.ts'
import { SHOWN_QUERY, VIEW_QUERY } from '../../src/storage/sql/view.ts'
import { toSqlite } from '../../src/storage/sqlite/connection.ts'
import { Store } from '../../src/store/store.ts'
import { chat } from '../support/conversation.ts'
import { ModelStorage } from '../support/model-storage.ts'
import { expectSessionAccepted, providerOfStep } from '../support/requests.ts'
import { newFolder } from '../support/temporary.ts'

const folder = newFolder()

type Step =
  | { readonly verb: 'condense'; readonly from: number; readonly length: number }
  | { readonly verb: 'undo' | 'redo'; readonly pick: number; readonly cascade: boolean }

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      verb: fc.constant('condense' as const),
      from: fc.integer({ min: 1, max: 24 }),
      length: fc.integer({ min: 1, max: 24 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      verb: fc.constantFrom('undo' as const, 'redo' as const),
      pick: fc.nat(),
      cascade: fc.boolean(),
    }),
  },
)

/** Does what a step says; what the laws refuse changes nothing. */
async function take(store: Store, one: Step): Promise<void> {
  if (one.verb === 'condense') {
    const range = { from: one.from, to: Math.min(24, one.from + one.length) }
    await store.compactSession('s', { range, summary: 'In short.' }).catch(() => undefined)
    return
  }
  // The model keeps no attempts that were rejected.
  const all = await store.listCompactions('s')
  const compactions = all.filter(({ status }) => status === 'active' || status === 'undone')
  const target = compactions[one.pick % Math.max(1, compactions.length)]
  if (target === undefined) return
  const { cascade } = one
  await store[`${one.verb}Compaction`]('s', target.id, { cascade }).catch(() => undefined)
}

/** Every row of a tree, itself first. */
function rowsOf(root: ExpandedRow): ExpandedRow[] {
  const rows: ExpandedRow[] = [root]
  for (let at = 0; at < rows.length; at++) {
    const row = rows[at]!
    if (row.kind !== 'message') for (const child of row.children ?? []) rows.push(child)
  }
  return rows
}

/** The positions of the messages at the leaves. */
function leavesOf(root: ExpandedRow): number[] {
  return rowsOf(root)
    .flatMap((row) => (row.kind === 'message' ? [row.positions[0]] : []))
    .sort((a, b) => a - b)
}

const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1)

describe('any nesting of condensations, with undos and redos', () => {
  const holds = (check: (store: Store) => Promise<void>) =>
    fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 10 }), async (steps) => {
        const store = await openStore(':memory:', { estimator: 'neurolink' })
        await store.append('s', chat(12))
        for (const one of steps) await take(store, one)
        await expectSessionAccepted(store, 's', 's', providerOfStep(steps.length))
        await check(store)
        await store.close()
      }),
      { numRuns: 80 },
    )

  test(
    'every position is in the view exactly once, itself or under one visible summary [F1-02]',
    () =>
      holds(async (store) => {
        const positions: number[] = []
        for (const row of await store.getEffectiveHistory('s')) {
          if (row.kind === 'message') positions.push(row.position!)
          else
            for (const { position } of await store.messages.expand('s', row.id, { flat: true }))
              positions.push(position!)
        }
        expect(positions).toEqual(upTo(24))
      }),
    60_000,
  )

  test(
    'ranges of siblings do not overlap, and a parent replaces what its children replace [F1-03]',
    () =>
      holds(async (store) => {
        const summaries = (await store.getMessages('s')).filter(({ kind }) => kind === 'summary')
        for (const { id } of summaries) {
          for (const row of rowsOf(await store.messages.expand('s', id, { depth: 99 }))) {
            if (row.kind === 'message') continue
            const children = row.children!
            for (let at = 1; at < children.length; at++)
              expect(children[at - 1]!.positions[1]).toBeLessThan(children[at]!.positions[0])
            expect(row.positions).toEqual([children[0]!.positions[0], children.at(-1)!.positions[1]])
            expect(row.times).toEqual([
              Math.min(...children.map(({ times }) => times[0])),
              Math.max(...children.map(({ times }) => times[1])),
            ])
            const counts = children.map((child) => (child.kind === 'message' ? 1 : child.messages))
            expect(row.messages).toBe(counts.reduce((sum, count) => sum + count, 0))
            expect(row.descendants).toBe(rowsOf(row).length - 1)
          }
        }
      }),
    60_000,
  )

  test(
    'there is no circle, and no row has two parents in force [F1-04]',
    () =>
      holds(async (store) => {
        const active = new Set(
          (await store.listCompactions('s')).flatMap(({ id, status }) => (status === 'active' ? [id] : [])),
        )
        const rows = await store.getMessages('s')
        const parents = new Map<string, string[]>()
        for (const { id, kind, condenseId } of rows) {
          if (kind !== 'summary') continue
          const inner = rowsOf(await store.messages.expand('s', id, { depth: 99 })).map((row) => row.id)
          expect(new Set(inner).size).toBe(inner.length)
          if (!active.has(condenseId!)) continue
          for (const child of (await store.messages.expand('s', id)).children!)
            parents.set(child.id, [...(parents.get(child.id) ?? []), condenseId!])
        }
        // What the coverage of those in force says is what the tags say.
        for (const { id, condenseParent } of rows)
          expect(parents.get(id) ?? []).toEqual(condenseParent === undefined ? [] : [condenseParent])
      }),
    60_000,
  )

  test(
    'taking down the outer shows what it covered; taking down all, the original list [F1-06]',
    () =>
      holds(async (store) => {
        const original = chat(12).map(({ content }) => content)
        for (;;) {
          const view = await store.getEffectiveHistory('s')
          const outer = view.find(({ kind }) => kind === 'summary')
          if (outer === undefined) break
          const { children } = await store.messages.expand('s', outer.id)
          await store.undoCompaction('s', outer.condenseId!)
          const shown = await store.getEffectiveHistory('s')
          const at = view.indexOf(outer)
          expect(shown.map(({ id }) => id)).toEqual(
            view.map(({ id }) => id).toSpliced(at, 1, ...children!.map(({ id }) => id)),
          )
          expect(shown.slice(at, at + children!.length).map(({ content }) => content)).toEqual(
            children!.map(({ content }) => content),
          )
        }
        expect((await store.getEffectiveHistory('s')).map(({ content }) => content)).toEqual(original)
      }),
    60_000,
  )

  test('expand and getSources agree with each other, with provenance and with the pure model [F1-07]', async () => {
    const estimators = {
      standard: neurolinkEstimator,
      byName: new Map([[neurolinkEstimator.name, neurolinkEstimator]]),
    }
    const plain = (value: unknown): unknown =>
      JSON.parse(
        JSON.stringify(value, (key, inner) =>
          ['id', 'compactionId', 'createdAt', 'times'].includes(key) ? undefined : inner,
        ),
      )
    await holds(async (store) => {
      for (const row of await store.getEffectiveHistory('s', { provenance: true })) {
        if (row.kind === 'message') continue
        const positions = row.positions!.flatMap(([from, to]) => upTo(to).slice(from - 1))
        expect(
          (await store.messages.expand('s', row.id, { flat: true })).map(({ position }) => position),
        ).toEqual(positions)
      }
      // The same compactions, done to the pure model.
      const model = new Store(new ModelStorage(), { estimators })
      await model.append('s', chat(12))
      const summaries = (await store.getMessages('s')).filter(({ kind }) => kind === 'summary')
      for (const { id } of summaries) {
        const whole = await store.messages.expand('s', id, { depth: 99 })
        expect(leavesOf(whole)).toEqual(
          (await store.messages.expand('s', id, { flat: true })).map(({ position }) => position),
        )
      }
      const nested = (await store.getEffectiveHistory('s')).find(({ kind }) => kind === 'summary')
      if (nested === undefined) return
      const tree = await store.messages.expand('s', nested.id, { depth: 99 })
      const ids = new Map<string, string>()
      for (const row of rowsOf(tree).reverse().filter(isSummary)) {
        const run = await model.compactSession('s', {
          range: { from: row.positions[0], to: row.positions[1] },
          summary: row.content as string,
        })
        const [compaction] = await model.listCompactions('s', { runId: run!.runId })
        ids.set(row.id, compaction!.insertedIds[0]!)
      }
      const same = await model.messages.expand('s', ids.get(tree.id)!, { depth: 99 })
      expect(plain(same)).toEqual(plain(tree))
    })
  }, 120_000)
})

function isSummary(row: ExpandedRow): row is ExpandedSummary {
  return row.kind === 'summary'
}

test('a level that a compaction was given counts, and goes up from there', async () => {
  const file = join(folder, 'levels.db')
  const store = await openStore(file, { durability: 'normal' })
  await store.append('s', chat(6))
  for (const to of [4, 6, 8])
    await store.compactSession('s', { range: { from: 1, to }, summary: `Up to ${to}.` })
  const beside = new BetterSqlite3(file)
  beside.exec(
    `update undertext_compactions set params = json_set(coalesce(params, '{}'), '$.level', 3) where no = 2`,
  )
  beside.close()
  const ids = (await store.getMessages('s')).flatMap(({ id, kind }) => (kind === 'summary' ? [id] : []))
  const levels = await Promise.all(ids.map(async (id) => (await store.messages.expand('s', id)).level))
  expect(levels).toEqual([0, 3, 3])
  await store.close()
})

test('coverage that goes in a circle is damage', async () => {
  const file = join(folder, 'circle.db')
  const store = await openStore(file, { durability: 'normal' })
  await store.append('s', chat(6))
  await store.compactSession('s', { range: { from: 1, to: 4 }, summary: 'Inner.' })
  await store.compactSession('s', { range: { from: 1, to: 6 }, summary: 'Outer.' })
  const outer = (await store.getEffectiveHistory('s'))[0]!.id
  const beside = new BetterSqlite3(file)
  const triggers = beside
    .prepare("select name from sqlite_master where type = 'trigger' and tbl_name = 'undertext_compactions'")
    .pluck()
    .all() as string[]
  for (const name of triggers) beside.exec(`drop trigger "${name}"`)
  beside.exec(`update undertext_compactions set coverage = '{"i":[[6,2]]}' where no = 1`)
  beside.close()
  await expect(store.messages.expand('s', outer)).rejects.toMatchObject({ code: 'STORE_CORRUPT' })
  await expect(store.messages.expand('s', outer, { flat: true })).rejects.toMatchObject({
    code: 'STORE_CORRUPT',
  })
  await store.close()
})

test('with 100,000 stored messages the view reads no hidden row, and a summary opens by index [F1-09]', async () => {
  const file = join(folder, 'long.db')
  const store = await openStore(file, { durability: 'normal' })
  for (let batch = 0; batch < 10; batch++) await store.append('s', chat(5_000, 5))
  await store.append('short', chat(26, 5))
  await store.compactSession('s', { range: { from: 1, to: 50_000 }, summary: 'The first half.' })
  await store.compactSession('s', { range: { from: 1, to: 99_950 }, summary: 'Nearly all.' })
  const beside = new BetterSqlite3(file)
  const planOf = (sql: string, parameters: readonly (number | string)[]): string =>
    (beside.prepare(`explain query plan ${toSqlite(sql)}`).all(...parameters) as { detail: string }[])
      .map(({ detail }) => detail)
      .join('\n')
  expect(planOf(VIEW_QUERY, ['s'])).toMatch(/SEARCH m USING INDEX undertext_visible \(session=\?/)
  expect(planOf(VIEW_QUERY, ['s'])).not.toMatch(/TEMP B-TREE|SCAN/)
  for (const [name, sql] of Object.entries(SOURCE_QUERIES)) {
    const plan = planOf(sql, name.startsWith('inserted') ? [1, 1] : [1, 1, 2])
    expect(plan, name).toMatch(
      /SEARCH (?:m|undertext_messages) USING (?:COVERING )?INDEX undertext_log \(session=\? AND position/,
    )
    expect(plan, name).not.toMatch(/SCAN (?:m|c|r|undertext)/)
  }
  for (const [name, plan] of [
    ['saved', planOf(SOURCE_QUERIES.saved, [1, 1, 2])],
    ['shown', planOf(SHOWN_QUERY, ['[1]'])],
  ] as const) {
    // A message may show thousands of parts differently: each of them is one step.
    expect(plan, name).toMatch(/s VIRTUAL TABLE[^\n]*\nSEARCH r [^\n]*\((?:\w+=\?(?: AND )?){3}\)/)
  }
  const triggers = beside
    .prepare("select name from sqlite_master where type = 'trigger' and tbl_name = 'undertext_contents'")
    .pluck()
    .all() as string[]
  for (const name of triggers) beside.exec(`drop trigger "${name}"`)
  // Whoever read a hidden row would trip over it.
  beside.exec(`update undertext_contents set content = '{' where key in
    (select key from undertext_messages where session = 1 and condense_parent is not null)`)
  beside.close()
  expect(await store.getEffectiveHistory('s')).toHaveLength(51)
  const median = async (session: string): Promise<number> => {
    const times: number[] = []
    for (let round = 0; round < 41; round++) {
      const start = performance.now()
      await store.getEffectiveHistory(session)
      times.push(performance.now() - start)
    }
    return times.sort((a, b) => a - b)[20]!
  }
  await median('s')
  const [long, short] = [await median('s'), await median('short')]
  // 51 rows either way. Measured 1.0; the rest is what other processes on the machine may do.
  expect(long / short).toBeLessThan(4)
  await store.close()
}, 120_000)
