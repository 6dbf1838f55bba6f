import { expect, it } from 'vitest'
import { openStore, type Summarizer } from '../../src/index.ts'
import { chat } from '../support/conversation.ts'

const GRIN = '😀'

it('does not cut a pair of surrogates in what an error names', async () => {
  const store = await openStore(':memory:')
  await store.append('s', chat(4))
  await expect(store.sessions.reestimate('s', `${'x'.repeat(99)}${GRIN}`)).rejects.toMatchObject({
    code: 'ESTIMATOR_UNKNOWN',
    facts: { estimator: 'x'.repeat(99) },
  })
})

it('does not cut one in what is noted of an answer', async () => {
  const summarizer: Summarizer = {
    name: 'long-winded',
    usesModel: true,
    summarize: () => ({ text: 'Short.', model: `${'m'.repeat(999)}${GRIN}` }),
  }
  const store = await openStore(':memory:', { summarizer })
  await store.append('s', chat(40))
  const result = await store.compactSession('s', { targetTokens: 20 })
  const compactions = await store.listCompactions('s')
  expect(result?.stagesUsed).toContain('summarize')
  expect(compactions.map(({ model }) => model).filter((model) => model !== undefined)).toEqual([
    'm'.repeat(999),
  ])
})
