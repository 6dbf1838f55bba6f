import { expect, test } from 'vitest'
import { openStore } from '../../src/index.ts'
import { call, say } from '../support/conversation.ts'

const data = Buffer.alloc(300, 'picture').toString('base64') // 400 bytes of base64
const image = { type: 'image', image: data } as const
const looked = (id: string) =>
  [
    call(id, 'look'),
    {
      role: 'tool',
      content: [
        {
          type: 'tool-result',
          toolCallId: id,
          toolName: 'look',
          output: { type: 'content', value: [image] },
        },
      ],
    },
    say('assistant', 'seen'),
  ] as const

test('images count, and are shown as a text, for an estimator that counts no tokens for them', async () => {
  await using store = await openStore(':memory:', { estimator: 'promptfleet' })
  for (let turn = 0; turn < 4; turn++)
    await store.append('s', [
      { role: 'user', content: [image] },
      say('assistant', 'seen'),
      say('user', 'look'),
      ...looked(`c${turn}`),
    ])
  expect((await store.getContextStats('s'))!.sizes).toMatchObject({ media: 0, images: 8, mediaBytes: 3_200 })
  // Mistral accepts 8 images, so 3 stay.
  const run = (await store.compactSession('s', { provider: 'mistral', trigger: 'auto' }))!
  expect(run.stagesUsed).toEqual(['media'])
  expect((await store.getContextStats('s'))!.sizes).toMatchObject({ images: 3, mediaBytes: 1_200 })
  expect((await store.sessions.verify('s')).findings).toEqual([])
  // Pruning the results that stay takes their images away too.
  await store.compactSession('s', {
    stages: ['prune'],
    pruneProtectTokens: 0,
    pruneMinimumSavings: 0,
    targetTokens: 0,
  })
  expect((await store.sessions.verify('s')).findings).toEqual([])
  await store.undoCompaction('s', run.runId, { cascade: true })
  expect((await store.getContextStats('s'))!.sizes).toMatchObject({ images: 8, mediaBytes: 3_200 })
})
