import { expect, it } from 'vitest'
import * as aiSdk from '../../src/adapters/ai-sdk/index.ts'
import * as anthropic from '../../src/adapters/anthropic/index.ts'
import * as formats from '../../src/adapters/flat/index.ts'
import * as google from '../../src/adapters/google/index.ts'
import * as langchain from '../../src/adapters/langchain/index.ts'
import * as openai from '../../src/adapters/openai/index.ts'
import * as agents from '../../src/adapters/openai-agents/index.ts'
import * as root from '../../src/index.ts'

function conversionsOf(entry: object): string[] {
  return Object.keys(entry).filter((name) => /^(from|to)[A-Z]/.test(name))
}

it('the root has no conversions: the flat form and each provider have an entry', () => {
  expect(conversionsOf(root)).toEqual([])
  expect(conversionsOf(formats).toSorted()).toEqual(['fromChatMessages', 'toChatMessages'])
  expect([anthropic, google, openai].flatMap(conversionsOf)).toHaveLength(8)
})

it('the root has at most 25 names at run time', () => {
  expect(Object.keys(root).length).toBeLessThanOrEqual(25)
})

it.each([anthropic, google, openai, langchain, agents, aiSdk].map((entry, i) => [i, entry] as const))(
  'every form that is read is written: entry %i',
  (_, entry) => {
    const read = conversionsOf(entry).filter((name) => name.startsWith('from'))
    expect(read.length).toBeGreaterThan(0)
    expect(conversionsOf(entry)).toEqual(
      expect.arrayContaining(read.map((name) => name.replace('from', 'to'))),
    )
  },
)
