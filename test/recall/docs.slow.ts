import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openStore } from '../../src/index.ts'
import { type RecallToolsOptions, recallTools } from '../../src/store/recall/index.ts'
import { examplesOf, runAsUser } from '../support/run-as-user.ts'

const PAGE = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'recall.md'), 'utf8')
const EXPECTED = ['The code of the harbour gate is 7731.', '3 3 3', 'Room was made: 20 messages hidden']

it.each(EXPECTED)('example %# prints what it shows', async (expected) => {
  const example = examplesOf(PAGE)[EXPECTED.indexOf(expected)]!
  expect(await runAsUser(example.replace("'chats.db'", "':memory:'"))).toContain(expected)
})

it('names every tool, every parameter and every option', async () => {
  await using store = await openStore(':memory:')
  const options: Required<Omit<RecallToolsOptions, 'maxTokens' | 'prefix'>> = { notes: true, makeRoom: true }
  for (const { name, parameters } of recallTools(store, 's', options)) {
    const row = PAGE.split('\n').find((line) => line.startsWith(`| \`${name}\``))
    for (const parameter of Object.keys(parameters.properties as object))
      expect(`${name}: ${row}`).toContain(`\`${parameter}\``)
  }
  for (const option of ['maxTokens', 'notes', 'makeRoom', 'prefix']) expect(PAGE).toContain(`| \`${option}\``)
})
