import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { openStore } from '../../src/index.ts'
import { call, chat, result, say, units } from '../support/conversation.ts'
import { newFile } from '../support/temporary.ts'

test('compactions without an entry in the audit count from their last row on, as at a moment', async () => {
  const file = newFile()
  await using store = await openStore(file, { env: false, estimator: 'neurolink' })
  await store.append('s', [
    ...[
      ...chat(3),
      say('user', 'Read.'),
      call('c', 'read'),
      result('c', units(900)),
      say('assistant', 'So.'),
    ],
    ...chat(3),
  ])
  await store.compactSession('s', { range: { from: 3, to: 6 }, summary: 'Short.' })
  await store.compactSession('s', { stages: [{ stage: 'clear_tool_results', keep: 0 }], targetTokens: 0 })
  await store.append('s', [say('user', 'And?'), say('assistant', 'So.')])
  const { rows: last } = (await store.messages.timeline('s')).points.at(-1)!

  const database = new Database(file)
  database.exec(
    "insert into undertext_meta (key, value) values ('purging', 'x'); delete from undertext_audit",
  )
  database.exec("delete from undertext_meta where key = 'purging'")
  database.close()

  const { points } = await store.messages.timeline('s')
  expect(points.map(({ answer }) => answer)).toEqual([2, 4, 6, 8, 10, 12, 14, 16, 18])
  for (const { answer, auditNo, rows, sizes } of points) {
    expect(auditNo).toBe(0)
    const at = { beforeMessage: answer }
    const stats = (await store.getContextStats('s', undefined, undefined, { at }))!
    expect({ rows, sizes }, `answer ${answer}`).toEqual({ rows: stats.messageCount, sizes: stats.sizes })
  }
  // Messages 1 and 2 and the summary in place of messages 3 to 6, which hides from the sixth on.
  expect(points.slice(2, 4).map(({ rows }) => rows)).toEqual([5, 4])
  expect(points.at(-1)!.rows).toBe(last)
})
