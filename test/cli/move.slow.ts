import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, it } from 'vitest'
import { estimatorNamed } from '../../src/core/tokens/index.ts'
import { openStore } from '../../src/index.ts'
import { bundleCli } from '../support/cli-bundle.ts'
import { runCli } from '../support/cli-run.ts'
import { chat, say } from '../support/conversation.ts'
import { postgresServer } from '../support/postgres.ts'
import { newFile, newFolder } from '../support/temporary.ts'

const server = await postgresServer()

describe.skipIf(server === undefined)('move', () => {
  let file = ''
  let url = ''
  /** The address as it is printed. */
  let shown = ''
  beforeAll(async () => {
    file = newFile()
    const store = await openStore(file)
    await store.append('talk', chat(10))
    await store.compactSession('talk', { range: { from: 1, to: 4 }, summary: 'One.' })
    await store.append('said', [say('user', 'the heron in the reeds')])
    await store.append('archived', [say('user', 'x')])
    await store.sessions.archive('archived')
    await store.close()
    url = await server!.newDatabase()
    const { host, pathname } = new URL(url)
    shown = `postgres://${host}${pathname}`
  })

  it('carries a store to a server and back, in real processes', async () => {
    const program = await bundleCli()
    try {
      const run = async (...argv: string[]): Promise<string> =>
        (await promisify(execFile)(process.execPath, [program.script, ...argv])).stdout
      expect(await run('move', '--db', file, '--to', url)).toBe(
        `✓ 3 sessions copied to ${shown} (22 messages)\n`,
      )
      const back = join(newFolder(), 'back.db')
      expect(await run('move', '--db', url, '--to', back)).toBe(
        `✓ 3 sessions copied to ${back} (22 messages)\n`,
      )
      for (const argv of [['sessions', '--json'], ['show', 'talk', '--full'], ['log', 'talk'], ['verify']]) {
        const [here, there, again] = await Promise.all(
          [file, url, back].map((db) => run(...argv, '--db', db)),
        )
        expect(there, argv.join(' ')).toBe(here)
        expect(again, argv.join(' ')).toBe(here)
      }
      expect(await run('move', '--db', file, '--to', url)).toBe(
        `✓ 0 sessions copied, 3 unchanged to ${shown} (0 messages)\n`,
      )
    } finally {
      program.remove()
    }
  })

  it('knows the tokenizers that are installed, and no other estimator', async () => {
    const other = newFile()
    const own = { ...estimatorNamed('neurolink')!, name: 'own' }
    const store = await openStore(other, { estimators: ['o200k_base', own] })
    for (const estimator of ['o200k_base', 'own']) {
      await store.sessions.create({ id: estimator, config: { estimator } })
      await store.append(estimator, [say('user', 'x')])
    }
    await store.close()
    const target = newFile()
    const { exit, json } = await runCli(['move', '--db', other, '--to', target, '--json'])
    expect([exit, json]).toMatchObject([
      4,
      { copied: 1, problems: [{ session: 'own', code: 'ESTIMATOR_UNKNOWN' }] },
    ])
    const moved = await openStore(target, { estimators: ['o200k_base'] })
    expect((await moved.sessions.verify('o200k_base')).findings).toEqual([])
    await moved.close()
  })

  it('names what it does not copy, without the password and without what was said', async () => {
    const other = newFile()
    const store = await openStore(other)
    await store.append('talk', [say('user', 'another heron')])
    await store.append('fine', [say('user', 'x')])
    await store.close()
    const text = await runCli(['move', '--db', other, '--to', url])
    expect(text.exit).toBe(4)
    expect(text.out).toContain('OTHER_SESSION')
    expect(text.lines.at(-1)).toBe(`✗ 1 session copied to ${shown} (1 message), 1 session not copied`)
    expect(text.out + text.err).not.toMatch(/heron/)
    expect(text.out + text.err).not.toContain(new URL(url).password)
    const { exit, json, err } = await runCli(['move', '--db', other, '--to', url, '--json'])
    expect([exit, err]).toEqual([4, ''])
    expect(json).toEqual({
      from: other,
      to: shown,
      ...{ copied: 0, replaced: 0, unchanged: 1, refused: 1, messages: 0 },
      ...{ calibrations: 0, limits: 0, receipts: 0, notes: 0 },
      problems: [{ session: 'talk', code: 'OTHER_SESSION', detail: 'another conversation has its id' }],
    })
  })

  it('creates nothing when the source or the target is wrong', async () => {
    const missing = join(newFolder(), 'none.db')
    const target = join(newFolder(), 'target.db')
    expect(await runCli(['move', '--db', missing, '--to', target])).toMatchObject({ exit: 3 })
    expect(await runCli(['sessions', '--db', target])).toMatchObject({ exit: 3 })
    expect(await runCli(['move', '--db', file, '--to', file])).toMatchObject({ exit: 2 })
    expect(await runCli(['move', '--db', file])).toMatchObject({ exit: 2 })
    expect(await runCli(['move', '--db', file, '--to', 'mysql://x@y/z'])).toMatchObject({ exit: 2 })
    const closed = 'postgres://app:secret@127.0.0.1:9/none'
    const ran = await runCli(['move', '--db', file, '--to', closed])
    expect(ran).toMatchObject({ exit: 5 })
    expect(ran.err).not.toContain('secret')
  })

  it('can be interrupted, and continues', async () => {
    const target = newFile()
    const { exit, json } = await runCli(['move', '--db', file, '--to', target, '--json'], {
      signal: AbortSignal.abort(),
    })
    expect([exit, json]).toMatchObject([130, { error: { code: 'INTERRUPTED' } }])
    expect(await runCli(['move', '--db', file, '--to', target])).toMatchObject({ exit: 0 })
  })
})
