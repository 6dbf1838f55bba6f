import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openStore } from '../../src/index.ts'
import { moveStore } from '../../src/transfer/index.ts'
import { newFolder } from '../support/temporary.ts'
import { redactionSuite } from './redaction-suite.ts'

redactionSuite('SQLite', async () => {
  const folder = newFolder()
  return {
    open: (options) => openStore(join(folder, 'chats.db'), options),
    bytes: async () =>
      readdirSync(folder)
        .map((name) => readFileSync(join(folder, name), 'latin1'))
        .join('\0'),
  }
})

it('a move refuses a target that redacts, because it compares exact copies', async () => {
  const from = await openStore(':memory:')
  const to = await openStore(':memory:', { redact: 'secrets' })
  await expect(moveStore(from, to)).rejects.toMatchObject({ code: 'INVALID_INPUT' })
})

it.each([
  ['a word', 'everything'],
  ['nothing', []],
  ['an unknown option', { with: 'secrets', seal: 'drop' }],
  ['an object without functions', { sealed: 'drop' }],
])('redact refuses %s', async (_, redact) => {
  await expect(openStore(':memory:', { redact: redact as never })).rejects.toMatchObject({
    code: 'INVALID_INPUT',
  })
})
