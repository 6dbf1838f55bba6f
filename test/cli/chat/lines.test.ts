import { expect, it } from 'vitest'
import { onePrompt, pipedPrompts } from '../../../src/cli/commands/chat/prompts.ts'

async function promptsIn(...lines: readonly string[]): Promise<string[]> {
  async function* given() {
    yield* lines
  }
  const prompts = pipedPrompts(given(), () => {})
  const found: string[] = []
  for (let said = await prompts.next(); said !== undefined; said = await prompts.next()) found.push(said)
  return found
}

it('takes a line for a prompt, and leaves blank ones out', async () => {
  expect(await promptsIn('one', '', '  ', 'two')).toEqual(['one', 'two'])
})

it('joins a line to the one before that ends in a backslash', async () => {
  expect(await promptsIn('one\\', 'two\\', 'three', 'four')).toEqual(['one\ntwo\nthree', 'four'])
  expect(await promptsIn('one\\')).toEqual(['one\n'])
  expect(await promptsIn('\\', '')).toEqual([])
})

it('prints each line once', async () => {
  const prompts = onePrompt('hello')
  expect([await prompts.next(), await prompts.next()]).toEqual(['hello', undefined])
})
