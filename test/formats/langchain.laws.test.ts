import fc from 'fast-check'
import { expect, it } from 'vitest'
import { fromLangChain } from '../../src/adapters/langchain/from-langchain.ts'
import { toLangChainStored } from '../../src/adapters/langchain/to-langchain.ts'
import { stringifyJson } from '../../src/core/messages/json.ts'
import type { Message } from '../../src/core/messages/message.ts'
import { messageProblem } from '../../src/core/messages/message-check.ts'
import { frozen } from '../support/failures.ts'
import { storedMessage } from './langchain-data.ts'

const RUNS = process.env.LONG === '1' ? 20_000 : 600

it('there and back is the same, also by way of a database, and everything in between can be stored', () => {
  fc.assert(
    fc.property(fc.array(storedMessage, { maxLength: 4 }), (given) => {
      const messages = JSON.parse(JSON.stringify(given)) as object[]
      const read = fromLangChain(frozen(messages))
      expect(read).toHaveLength(messages.length)
      for (const message of read) expect(messageProblem(message)).toBeUndefined()
      expect(toLangChainStored(frozen(read))).toStrictEqual(messages)
      expect(toLangChainStored(JSON.parse(stringifyJson(read)) as Message[])).toStrictEqual(messages)
    }),
    { numRuns: RUNS },
  )
})
