import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import { expect, it } from 'vitest'
import { openStore, type Store } from '../../src/index.ts'
import { call, result, say, units } from '../support/conversation.ts'
import { randomFrom } from '../support/random.ts'
import { SEED } from '../support/seed.ts'
import { newFolder } from '../support/temporary.ts'

/* Processes that remove a text are killed: each session is as before or as after, and the next removal finishes. */

const SECRET = 'zq9canary7x'
const KILLS = process.env.LONG === '1' ? 400 : 30
const REPOSITORY = join(import.meta.dirname, '..', '..')
const SESSIONS = ['a', 'b', 'c', 'd']

async function conversations(store: Store): Promise<void> {
  for (const id of ['a', 'b', 'c']) {
    await store.sessions.create({ id, title: `${id} ${SECRET}` })
    await store.append(id, [
      say('user', `in ${id} ${SECRET}`),
      call('c1', 'run', { key: SECRET }),
      result('c1', `${SECRET} ${units(2_000)}`),
      say('assistant', 'so'),
      say('user', 'on'),
    ])
    await store.compactSession(id, { range: { from: 1, to: 4 }, summary: `Of ${SECRET}.` })
    await store.notes.add(SECRET, { session: id })
    const request = await store.prepareRequest(id, { system: SECRET, prompt: 'go' })
    await store.recordResponse(id, { request, messages: [say('assistant', SECRET)] })
  }
  await store.sessions.fork('a', { id: 'd' })
  await store.append('d', [say('user', `in d ${SECRET}`)])
  await store.search('run')
}

/** What each session shows, with the secret, or as it must be without it. */
async function shown(store: Store, id: string): Promise<string> {
  const rows = (await store.getMessages(id)).map(({ content, hidden }) => ({ content, hidden }))
  const { title } = await store.sessions.get(id)
  const notes = (await store.notes.list({ session: id })).map(({ text }) => text)
  return JSON.stringify({ rows, title, notes })
}

async function buildChild(folder: string): Promise<string> {
  const root = join(folder, 'build')
  mkdirSync(root)
  symlinkSync(join(REPOSITORY, 'node_modules'), join(root, 'node_modules'))
  const outfile = join(root, 'a', 'b', 'c', 'child.mjs')
  await build({
    entryPoints: [join(import.meta.dirname, 'purge-text-child.ts')],
    outfile,
    ...{ bundle: true, format: 'esm', platform: 'node', packages: 'external', logLevel: 'error' },
  })
  return outfile
}

it(
  `nothing is lost and the text is gone after ${KILLS} kills (seed ${SEED})`,
  async () => {
    const folder = newFolder()
    const script = await buildChild(folder)
    const original = join(folder, 'original.db')
    const store = await openStore(original)
    await conversations(store)
    const before = new Map<string, string>()
    for (const id of SESSIONS) before.set(id, await shown(store, id))
    await store.close()
    const run = (file: string, ...args: string[]) =>
      spawnSync(process.execPath, [script, file, SECRET, ...args], { encoding: 'utf8' })
    const trial = join(newFolder(), 'trial.db')
    copyFileSync(original, trial)
    const whole = run(trial)
    expect(whole.status, whole.stderr).toBe(0)
    const statements = Number(whole.stdout)
    expect(statements).toBeGreaterThan(100)

    const random = randomFrom(Number(SEED))
    const seen = { before: 0, after: 0 }
    for (let kill = 0; kill < KILLS; kill++) {
      const work = newFolder()
      const file = join(work, 'chats.db')
      copyFileSync(original, file)
      const at = 1 + Math.floor(random() * statements)
      const killed = run(file, String(at))
      expect(killed.signal, `${killed.stderr} at ${at}`).toBe('SIGKILL')
      const found = await openStore(file)
      for (const id of SESSIONS) {
        const now = await shown(found, id)
        const after = before.get(id)!.replaceAll(SECRET, '[removed]')
        if (now === before.get(id)) seen.before++
        else {
          // What a fork and its origin share changes with the first of them.
          const isShared = id === 'a' || id === 'd'
          expect(isShared ? now.replaceAll(SECRET, '[removed]') : now, `${id}, killed at ${at}`).toBe(after)
          seen.after++
        }
        expect((await found.sessions.verify(id)).findings, `${id}, killed at ${at}`).toEqual([])
      }
      await found.privacy.purgeText('all', SECRET)
      for (const id of SESSIONS) {
        expect(await shown(found, id)).toBe(before.get(id)!.replaceAll(SECRET, '[removed]'))
        expect((await found.sessions.verify(id)).findings).toEqual([])
      }
      for (const name of readdirSync(work))
        expect(readFileSync(join(work, name)).includes(SECRET), `${name}, killed at ${at}`).toBe(false)
      await found.close()
    }
    console.log(`${KILLS} kills: sessions before ${seen.before}, after ${seen.after}`)
    expect(seen.before).toBeGreaterThan(0)
    expect(seen.after).toBeGreaterThan(0)
  },
  Math.max(300_000, KILLS * 5_000),
)
