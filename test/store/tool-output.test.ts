import BetterSqlite3 from 'better-sqlite3'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { neurolinkEstimator } from '../../src/core/tokens/index.ts'
import { type NewMessage, openStore, type ToolCall } from '../../src/index.ts'
import { TOOL_QUERIES } from '../../src/storage/sql/tool-calls.ts'
import { toSqlite } from '../../src/storage/sqlite/connection.ts'
import { Store } from '../../src/store/store.ts'
import { call, calls, failure, result, say } from '../support/conversation.ts'
import { ModelStorage } from '../support/model-storage.ts'
import { newFile } from '../support/temporary.ts'

const ids = fc.constantFrom('x', 'y', 'z')
const message: fc.Arbitrary<NewMessage> = fc.oneof(
  ids.map((id) => call(id, `tool-${id}`, { path: `${id}.ts` })),
  fc.tuple(ids, ids).map(([a, b]) => calls([a, 'one', { of: b }], [b, 'two'])),
  fc.tuple(ids, fc.nat(9)).map(([id, number]) => result(id, `${id} says ${number}`)),
  ids.map((id) => failure(id, 'no')),
  fc.constant(say('user', 'and now?')),
)

/** Everything there is to ask of the calls of a session. */
async function everyCall(store: Store, length: number): Promise<unknown> {
  const outputs = []
  for (const id of ['x', 'y', 'z'])
    for (let position = 0; position <= length; position++) {
      const options = position === 0 ? {} : { position }
      outputs.push(await store.messages.toolOutput('s', id, options).catch((error) => error.code))
    }
  return { whole: await store.messages.toolCalls('s'), outputs }
}

const plain = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value, (key, inner) => (key === 'messageId' ? undefined : inner)))

test('any log, under any compaction: as the pure model has it, and the bytes are those that were appended [F3-03]', async () => {
  const estimators = {
    standard: neurolinkEstimator,
    byName: new Map([[neurolinkEstimator.name, neurolinkEstimator]]),
  }
  await fc.assert(
    fc.asyncProperty(
      fc.array(message, { minLength: 1, maxLength: 25 }),
      fc.array(fc.tuple(fc.nat(24), fc.nat(24)), { maxLength: 3 }),
      async (messages, ranges) => {
        const stores = [
          await openStore(':memory:', { estimator: 'neurolink' }),
          new Store(new ModelStorage(), { estimators }),
        ]
        const answers = []
        for (const store of stores) {
          await store.append('s', messages)
          for (const [at, length] of ranges) {
            const from = 1 + (at % messages.length)
            const range = { from, to: Math.min(messages.length, from + length) }
            // Most ranges are refused: calls wait, or a pair would be parted.
            await store.compactSession('s', { range, summary: 'x' }).catch(() => undefined)
          }
          answers.push(plain(await everyCall(store, messages.length)))
          for (const one of await store.messages.toolCalls('s')) await expectStored(store, messages, one)
          const pages: ToolCall[] = []
          for (let after = 0; ; after = pages.at(-1)!.call.position) {
            const page = await store.messages.toolCalls('s', { after, limit: 2 })
            if (page.length === 0) break
            for (const one of page) pages.push(one)
          }
          expect(pages).toEqual(await store.messages.toolCalls('s'))
          await store.close()
        }
        expect(answers[0]).toEqual(answers[1])
      },
    ),
    { numRuns: 60 },
  )
}, 60_000)

/** The output is the very one of the message it names. Of calls that share id and message the last is answered. */
async function expectStored(store: Store, messages: readonly NewMessage[], one: ToolCall): Promise<void> {
  const { result: place } = one
  if (place === undefined) return
  const part = messages[place.position - 1]!.content[place.part]
  const found = await store.messages.toolOutput('s', one.callId, { position: place.position })
  expect(found.output).toEqual((part as { output: unknown }).output)
  expect((part as { toolCallId: string }).toolCallId).toBe(one.callId)
}

test('an output is read without the contents of other messages [F3-03]', async () => {
  const file = newFile()
  const store = await openStore(file, { durability: 'normal' })
  const messages: NewMessage[] = []
  for (let turn = 0; turn < 500; turn++)
    messages.push(
      say('user', 'go'),
      call(`c${turn}`, 'read', { path: 'a' }),
      result(`c${turn}`, `text ${turn}`),
    )
  await store.append('s', messages)
  await store.compactSession('s', { range: { from: 1, to: 1_200 }, summary: 'Much was read.' })
  const beside = new BetterSqlite3(file)
  const triggers = beside
    .prepare("select name from sqlite_master where type = 'trigger' and tbl_name = 'undertext_contents'")
    .pluck()
    .all() as string[]
  for (const name of triggers) beside.exec(`drop trigger "${name}"`)
  // Of 700 the call and the result stand at 701 and 702; nothing else can be read any more.
  beside.exec(`update undertext_contents set content = '{' where key not in
    (select key from undertext_messages where position in (701, 702))`)
  expect(await store.messages.toolOutput('s', 'c233')).toMatchObject({
    status: 'ok',
    shown: 'hidden',
    output: { type: 'text', value: 'text 233' },
  })
  // A page of calls reads only its own calls and results.
  expect(await store.messages.toolCalls('s', { after: 700, limit: 1 })).toMatchObject([
    { callId: 'c233', status: 'ok' },
  ])
  await expect(store.messages.toolCalls('s')).rejects.toMatchObject({ code: 'STORE_CORRUPT' })
  await expect(store.messages.toolOutput('s', 'c234')).rejects.toMatchObject({ code: 'STORE_CORRUPT' })

  for (const [name, sql] of Object.entries(TOOL_QUERIES)) {
    const parameters = name === 'after' ? [1, 0, 10] : [1, 100, 'x', 10]
    const plan = (
      beside.prepare(`explain query plan ${toSqlite(sql)}`).all(...parameters) as { detail: string }[]
    )
      .map(({ detail }) => detail)
      .join('\n')
    expect(plan).toMatch(/SEARCH m USING INDEX undertext_log \(session=\? AND position/)
    expect(plan).not.toMatch(/TEMP B-TREE|SCAN|undertext_contents/)
  }
  beside.close()
  await store.close()
})
