import { expect, it } from 'vitest'
import * as aiSdk from '../../src/ai-sdk.ts'
import * as anthropic from '../../src/anthropic.ts'
import * as google from '../../src/google.ts'
import * as root from '../../src/index.ts'
import * as langchain from '../../src/langchain.ts'
import * as openai from '../../src/openai.ts'
import * as agents from '../../src/openai-agents.ts'

function conversionsOf(entry: object): string[] {
  return Object.keys(entry).filter((name) => /^(from|to)[A-Z]/.test(name))
}

/** The flat form of this package's own array functions. */
const FLAT = ['fromChatMessages', 'toChatMessages']

it('has the conversions of providers and the flat form at the root, and no others', () => {
  const ofProviders = [anthropic, google, openai].flatMap(conversionsOf)
  expect(conversionsOf(root).toSorted()).toEqual([...ofProviders, ...FLAT].toSorted())
  expect(ofProviders).toHaveLength(8)
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
