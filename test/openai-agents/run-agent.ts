import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { Agent, RunState, run, setTracingDisabled, tool } from '@openai/agents'
import { z } from 'zod'
import { MockModel } from '../../examples/openai-agents/mock-model.ts'
import { UndertextSession } from '../../src/adapters/openai-agents/index.ts'
import { openStore } from '../../src/index.ts'

/* A process of its own for the test of whole runs: does one step of a conversation in a file, and tells what came of it as JSON. */

const [file = '', step = ''] = process.argv.slice(2)
setTracingDisabled(true)
const store = await openStore(file)
const session = new UndertextSession({ store, sessionId: 'chat' })
const agent = new Agent({
  name: 'Friend',
  model: new MockModel(),
  tools: [
    tool({
      name: 'weather',
      description: 'The weather in a city.',
      parameters: z.object({ city: z.string() }),
      execute: ({ city }) => `It is sunny in ${city}.`,
    }),
    tool({
      name: 'forget',
      description: 'Forgets something.',
      parameters: z.object({ what: z.string() }),
      needsApproval: true,
      execute: ({ what }) => `Forgot ${what}.`,
    }),
  ],
})

const saved = `${file}.state`
async function take(): Promise<unknown> {
  switch (step) {
    case 'talk': {
      const first = await run(agent, 'My name is Ada.', { session })
      const streamed = await run(agent, 'How is the weather?', { session, stream: true })
      await streamed.completed
      return [first.finalOutput, streamed.finalOutput]
    }
    case 'interrupt': {
      const { interruptions, state } = await run(agent, 'Forget it.', { session })
      writeFileSync(saved, state.toString())
      return interruptions.map(({ name }) => name)
    }
    case 'approve': {
      const state = await RunState.fromString(agent, readFileSync(saved, 'utf8'))
      for (const interruption of state.getInterruptions()) state.approve(interruption)
      return [(await run(agent, state, { session })).finalOutput]
    }
    case 'ask':
      return [(await run(agent, 'What is my name?', { session })).finalOutput]
    case 'clear':
      await session.clearSession()
      return []
    case 'undo': {
      const [cleared] = (await store.listCompactions('chat')).filter(({ status }) => status === 'active')
      await store.undoCompaction('chat', cleared!.id)
      return []
    }
    default:
      return [existsSync(saved)]
  }
}
const told = { said: await take(), items: JSON.stringify(await session.getItems()) }
process.stdout.write(JSON.stringify(told))
await store.close()
