import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { chatStore } from '../../src/adapters/ai-sdk/index.ts'
import { openStore, type Store, type Summarizer } from '../../src/index.ts'
import { type Bundled, bundle } from '../support/bundled.ts'
import { chat } from '../support/conversation.ts'
import { newFile } from '../support/temporary.ts'

/* Turns of a chat while another process writes a summary of it, or was killed while it did. */

/** 4,810 tokens: the history has reached the threshold of the first, and does not fit the second. */
const [DUE, TOO_SMALL] = [5_800, 4_000]
const canUnshare = spawnSync('unshare', ['--pid', '--fork', 'true']).status === 0

let bundled: Bundled
let store: Store
let others: ChildProcess[]
let asked: number
beforeAll(async () => {
  bundled = await bundle('test/ai-sdk/summarizing-turn.ts')
})
afterAll(() => bundled.remove())
afterEach(async () => {
  for (const other of others) other.kill('SIGKILL')
  await store.close()
})

/** Another server at work on a summary of the chat. `isApart`: its process cannot be seen from here, as in a container. */
async function besideServer(isApart: boolean, contextWindowTarget = DUE): Promise<ChildProcess> {
  const file = newFile()
  asked = 0
  others = []
  const summarizer: Summarizer = {
    name: 'quick',
    usesModel: true,
    summarize: () => {
      asked += 1
      return { text: 'They talked.' }
    },
  }
  store = await openStore(file, { estimator: 'neurolink', env: false, summarizer })
  await store.append('c', chat(20, 100))
  const node = [process.execPath, bundled.script, file, String(contextWindowTarget)]
  const [command, ...args] = isApart ? ['unshare', '--pid', '--fork', '--kill-child', ...node] : node
  const other = spawn(command!, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  others.push(other)
  await once(other.stdout!, 'data')
  return other
}

async function kill(other: ChildProcess): Promise<void> {
  other.kill('SIGKILL')
  await once(other, 'exit')
}

/** A user's turn on this server, and how many seconds it waited. */
async function turn(id: string, contextWindowTarget = DUE) {
  const began = performance.now()
  const { request, end } = await chatStore(store).resume(
    { id: 'c', message: { id, role: 'user', parts: [{ type: 'text', text: 'Go on.' }] } },
    { validate: false, request: { contextWindowTarget } },
  )
  const seconds = (performance.now() - began) / 1_000
  await end()
  return { seconds, request }
}

describe('a turn of a chat', () => {
  it('after a process was killed during a summary takes over at once, when it can see that the process is gone', async () => {
    await kill(await besideServer(false))
    const { seconds, request } = await turn('m2')
    expect(request.compacted).toBe(true)
    expect(asked).toBe(1)
    expect(seconds).toBeLessThan(3)
  })

  it('waits ten seconds for a summary of a live process, and goes on without it where it fits', async () => {
    await besideServer(false)
    const { seconds, request } = await turn('m2')
    expect(seconds).toBeGreaterThan(9)
    expect(seconds).toBeLessThan(14)
    expect(request).toMatchObject({ compacted: false, stats: { withinBudget: true } })
    expect(asked).toBe(0)
    expect((await store.listCompactions('c')).map(({ status }) => status)).toEqual(['running'])
  })

  it('makes room without a model after that where it does not fit', async () => {
    await besideServer(false, TOO_SMALL)
    const { seconds, request } = await turn('m2', TOO_SMALL)
    expect(seconds).toBeLessThan(14)
    expect(request).toMatchObject({ compacted: true, stats: { withinBudget: true } })
    expect(asked).toBe(0)
  })
})

describe.skipIf(!canUnshare)('a turn after a process that cannot be seen was killed during a summary', () => {
  it('goes on within ten seconds, and a turn 15 seconds after the kill takes over', async () => {
    const killed = await besideServer(true)
    const at = performance.now()
    await kill(killed)
    const first = await turn('m2')
    expect(first.seconds).toBeLessThan(14)
    expect(first.request.stats.withinBudget).toBe(true)
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, 15_500 - (performance.now() - at))))
    const second = await turn('m3')
    expect(second.seconds).toBeLessThan(3)
    expect(second.request.compacted || first.request.compacted).toBe(true)
    expect(asked).toBe(1)
  })
})
