import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { openStore, type Store } from '../../src/index.ts'
import { call, result, say, units } from '../support/conversation.ts'
import { newFolder } from '../support/temporary.ts'

const SECRET = 'sk-live-9Qz7'

let folder: string
let store: Store
beforeEach(async () => {
  folder = newFolder()
  store = await openStore(join(folder, 'chats.db'), { durability: 'normal' })
  return () => store.close()
})

function isReadable(text = SECRET): boolean {
  return readdirSync(folder).some((name) => readFileSync(join(folder, name)).includes(text))
}

test('a secret is removed from everything', async () => {
  const id = 's'
  await store.sessions.create({ id, title: `about ${SECRET}`, metadata: { a: [SECRET] }, owner: 'ann' })
  await store.append(id, [
    { ...say('user', `use ${SECRET} for ${units(2000)}`), metadata: { [SECRET]: SECRET } },
    call('c1', 'run', { env: { KEY: SECRET, nested: [`x${SECRET}y`] } }),
    result('c1', JSON.stringify({ out: `"${SECRET}"` }).repeat(3) + units(3000)),
    {
      role: 'assistant',
      content: [
        { type: 'reasoning', text: `hm ${SECRET}`, providerOptions: { anthropic: { signature: 'abc' } } },
        { type: 'text', text: 'done' },
      ],
    },
    {
      role: 'user',
      content: [
        {
          type: 'file',
          mediaType: 'text/plain',
          data: Buffer.from(`${SECRET} `.repeat(900)).toString('base64'),
          filename: 'a.txt',
        },
      ],
    },
    say('user', 'again'),
  ])
  await store.compactSession(id, {
    ...{ enableDeduplicate: false, enableSummarize: false, enableTruncate: false, targetTokens: 0 },
    ...{ pruneProtectTokens: 0, pruneMinimumSavings: 0, prunePlaceholder: `${SECRET} ${units(50)}` },
  })
  await store.sessions.fork(id, { id: 'f' })
  await store.append('f', [say('user', `mine ${SECRET}`)])
  await store.compactSession(id, {
    range: { from: 1, to: 4 },
    summary: `Uses ${SECRET}.`,
    reason: `has ${SECRET}`,
  })
  await store.notes.add(`note ${SECRET}`, { session: id, metadata: { k: SECRET } })
  await store.notes.add(`note ${SECRET}`, { owner: 'ann' })
  const request = await store.prepareRequest(id, { system: `sys ${SECRET}`, prompt: `ask ${SECRET}` })
  await store.recordResponse(id, { request, messages: [say('assistant', SECRET)] })
  await store.search('live')
  expect(isReadable()).toBe(true)
  const dry = await store.privacy.purgeText('all', SECRET, { dryRun: true })
  console.log(JSON.stringify(dry))
  const done = await store.privacy.purgeText('all', SECRET)
  console.log(JSON.stringify(done))
  expect(isReadable()).toBe(false)
  for (const one of [id, 'f']) expect((await store.sessions.verify(one)).findings).toEqual([])
  console.log(JSON.stringify(await store.getMessages('f'), null, 0))
  const [recorded] = await store.requests.list(id)
  console.log(JSON.stringify(await store.requests.get(id, { id: recorded!.id })))
  for (const one of await store.listCompactions(id)) console.log(one.kind, one.reason, one.status)
})
