import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { newFile, newFolder } from '../support/temporary.ts'
import { cleanUp, FULL, listen, model, open, S, states, viewOf } from './support.ts'

/* What happens to a job when its process is killed, and when several processes want the same. */

const REPOSITORY = join(import.meta.dirname, '..', '..')
const folder = newFolder()
const script = join(folder, 'a', 'b', 'c', 'child.mjs')
beforeAll(async () => {
  mkdirSync(join(folder, 'a'))
  // The one file finds its packages where the source would.
  symlinkSync(join(REPOSITORY, 'node_modules'), join(folder, 'node_modules'))
  await build({
    entryPoints: [join(import.meta.dirname, 'child.ts')],
    outfile: script,
    bundle: true,
    format: 'esm',
    platform: 'node',
    packages: 'external',
    logLevel: 'error',
  })
})
afterEach(cleanUp)

const start = (file: string, way: string, at = 0): ChildProcess =>
  fork(script, [file, `${file}.log`, way, String(at)], { execArgv: [] })

async function reaches(child: ChildProcess, moment: string): Promise<void> {
  for (;;) {
    const [said] = await once(child, 'message')
    if (said === moment) return
  }
}

async function kill(child: ChildProcess): Promise<void> {
  const gone = once(child, 'exit')
  child.kill('SIGKILL')
  await gone
}

const callsIn = (file: string): number =>
  existsSync(`${file}.log`) ? readFileSync(`${file}.log`, 'utf8').trim().split('\n').length : 0

describe('a process that is killed [F4-04]', () => {
  it.each(['asked', 'answered'])(
    'when the model was %s leaves the view as it was, and the next one makes the job',
    async (way) => {
      const file = newFile()
      const before = await open(undefined, { file })
      await before.append(S, FULL)
      const view = await viewOf(before)
      const child = start(file, way)
      await reaches(child, way)
      expect(await states(before)).toEqual(['running'])
      await kill(child)
      expect(await viewOf(before)).toBe(view)
      expect((await before.sessions.verify(S)).findings).toEqual([])
      const [{ id } = { id: '' }] = await before.jobs.list(S)
      await before.close()

      // It takes the job up because it was opened, and needs not be told.
      const asked = model()
      const next = await open(asked, { file })
      const { phases } = listen(next)
      await vi.waitFor(async () => expect((await next.jobs.get(id)).state).toBe('done'), 5_000)
      await next.jobs.whenIdle(S)
      expect(phases()).toEqual(['started', 'completed'])
      expect(await next.jobs.get(id)).toMatchObject({ attempts: 2 })
      expect(asked.asked).toHaveLength(1)
      // What the killed one paid is on record.
      expect((await next.listCompactions(S)).map(({ status }) => status)).toEqual(['expired', 'active'])
      expect((await next.sessions.verify(S)).findings).toEqual([])
      await next.undoCompaction(S, (await next.jobs.get(id)).runId!)
      expect(await viewOf(next)).toBe(view)
    },
  )

  it('is not followed for ever: a job whose process dies three times has failed', async () => {
    const file = newFile()
    const store = await open(undefined, { file })
    await store.append(S, FULL)
    const { default: Database } = await import('better-sqlite3')
    const beside = new Database(file)
    const { jobId } = await store.jobs.start(S)
    await store.jobs.cancel({ job: jobId })
    const dead =
      "update undertext_jobs set state = 'running', run = 'r', holder = 'otherhost/1/0/1', expires = 1, attempts = ?"
    beside.prepare(dead).run(3)
    beside.close()
    const { phases } = listen(store)
    expect(await store.jobs.whenIdle(S)).toBe(true)
    expect(phases()).toEqual(['failed EXPIRED'])
    expect(await store.jobs.get(jobId)).toMatchObject({ state: 'failed', error: 'EXPIRED', attempts: 3 })
  })
})

describe('several processes [F4-05]', () => {
  it('that want the same session compacted at the same time make one job and pay one summary', async () => {
    const file = newFile()
    const store = await open(undefined, { file })
    await store.append(S, FULL)
    const at = Date.now() + 1_500
    const children = [start(file, 'go', at), start(file, 'go', at), start(file, 'go', at)]
    const said = await Promise.all(
      children.map(async (child) => {
        const ends = new Set<string>()
        child.on('message', (message: string) => ends.add(message))
        const [code] = await once(child, 'exit')
        return [code, ends.has('background')]
      }),
    )
    expect(said).toEqual([
      [0, true],
      [0, true],
      [0, true],
    ])
    expect(callsIn(file)).toBe(1)
    expect((await store.listCompactions(S)).map(({ status }) => status)).toEqual(['active'])
    // No message stands under two summaries.
    const view = await store.getEffectiveHistory(S)
    expect(view.filter(({ kind }) => kind === 'summary')).toHaveLength(1)
    const taken = (await store.getMessages(S)).filter(({ condenseParent }) => condenseParent !== undefined)
    expect(taken.length + view.length - 1).toBe(52)
    // One who looked late may have found nothing left to do.
    expect(new Set(await states(store))).toEqual(new Set(['done']))
    expect((await store.sessions.verify(S)).findings).toEqual([])
  })
})
