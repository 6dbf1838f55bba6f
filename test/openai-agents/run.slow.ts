import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { AgentInputItem } from '@openai/agents'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openStore } from '../../src/index.ts'
import { type Bundled, bundle } from '../support/bundled.ts'

const start = promisify(execFile)
let script: Bundled
beforeAll(async () => {
  script = await bundle('test/openai-agents/run-agent.ts')
})
afterAll(() => script.remove())

/** A process of its own does one step. */
async function take(step: string): Promise<{ said: unknown; text: string; items: AgentInputItem[] }> {
  const { stdout } = await start(process.execPath, [script.script, join(script.folder, 'a.db'), step])
  const { said, items } = JSON.parse(stdout) as { said: unknown; items: string }
  return { said, text: items, items: JSON.parse(items) as AgentInputItem[] }
}

/** Types of items, and the roles of messages. */
const kindsOf = (items: readonly AgentInputItem[]): string[] =>
  items.map((item) => ('role' in item ? item.role : item.type))

it('runs agents of the SDK over restarts: tools at once, streams, an approval, and a history cleared and back', async () => {
  const talked = await take('talk')
  expect(talked.said).toEqual(['I will.', 'Done: It is sunny in Turin. It is sunny in Oslo.'])
  const turns = [
    'user',
    'assistant',
    'user',
    'reasoning',
    'function_call',
    'function_call',
    'function_call_result',
    'function_call_result',
    'assistant',
  ]
  expect(kindsOf(talked.items)).toEqual(turns)
  expect(talked.items[3]).toMatchObject({ id: 'rs_1', providerData: { encrypted_content: 'gAAAA' } })

  const interrupted = await take('interrupt')
  expect(interrupted.said).toEqual(['forget'])
  expect(interrupted.items.slice(0, 9)).toEqual(talked.items)

  const approved = await take('approve')
  expect(approved.said).toEqual(['Done: Forgot the weather.'])
  expect(kindsOf(approved.items)).toEqual([
    ...turns,
    'user',
    'function_call',
    'function_call_result',
    'assistant',
  ])

  const asked = await take('ask')
  expect(asked.said).toEqual(['You are Ada.'])

  const cleared = await take('clear')
  expect(cleared.items).toEqual([])
  const forgotten = await take('undo')
  expect(forgotten.text).toBe(asked.text)

  const store = await openStore(join(script.folder, 'a.db'))
  // Every item once: two exchanges more than the first nine items, and the approval's call and result.
  expect((await store.sessions.get('chat')).messageCount).toBe(15)
  expect((await store.sessions.verify('chat')).findings).toEqual([])
  await store.close()
})
