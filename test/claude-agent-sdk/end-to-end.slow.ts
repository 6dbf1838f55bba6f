import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { undertextSessionStore } from '../../src/adapters/claude-agent-sdk/index.ts'
import { openStore, validateHistory } from '../../src/index.ts'
import { type Bundled, bundle } from '../support/bundled.ts'
import { type ModelServer, startModelServer } from '../support/model-server.ts'
import { newFolder } from '../support/temporary.ts'

/*
 * The real package with its native program, against a model on this machine. The program is an optional dependency that
 * fits one platform; where there is none that runs, this is skipped, and the other suites say what the store does.
 */

const run = promisify(execFile)
const { PATH = '' } = process.env

/** The native program of this platform; `undefined`, with a notice, where it is absent or does not run. */
async function claudeCode(): Promise<string | undefined> {
  const { resolve } = createRequire(import.meta.url)
  const { platform, arch } = process
  const names = [`${platform}-${arch}`, `${platform}-${arch}-musl`]
  for (const name of names) {
    try {
      const program = resolve(
        `@anthropic-ai/claude-agent-sdk-${name}/claude${platform === 'win32' ? '.exe' : ''}`,
      )
      await run(program, ['--version'], { timeout: 60_000, env: { PATH, HOME: tmpdir() } })
      return program
    } catch {
      // Not this one.
    }
  }
  console.info('skipped: the native program of the Claude Agent SDK is not installed, or does not run here')
  return undefined
}

const program = await claudeCode()

describe.skipIf(program === undefined)('query of the Claude Agent SDK', () => {
  let bundled: Bundled
  let server: ModelServer
  const folder = newFolder()
  const file = join(folder, 'chats.db')
  beforeAll(async () => {
    bundled = await bundle('test/claude-agent-sdk/run-query.ts')
    server = await startModelServer()
  })
  afterAll(async () => {
    await server.close()
    bundled.remove()
  })

  async function turn(
    prompt: string,
    home: string,
    resume: readonly string[] = [],
  ): Promise<{ sessionId: string; result: string }> {
    const args = [bundled.script, file, server.url, join(folder, home), folder, prompt, ...resume]
    const { stdout } = await run(process.execPath, args, {
      cwd: folder,
      timeout: 110_000,
      env: { PATH, TMPDIR: folder },
    })
    return JSON.parse(stdout) as { sessionId: string; result: string }
  }

  /** What the requests of a turn told the model, system reminders and all. */
  const told = (): string => JSON.stringify(server.requests.map(({ body }) => body.messages))

  it('continues in another process from the store alone, and not after a deletion', async () => {
    writeFileSync(join(folder, 'a.txt'), 'the word is marmalade\n')
    const path = join(folder, 'a.txt')
    server.script((_, count) =>
      count === 0
        ? { text: 'Looking.', toolCalls: [{ id: 'toolu_1', name: 'Read', input: { file_path: path } }] }
        : { text: 'It says marmalade.' },
    )
    const first = await turn('What does a.txt say?', 'home-1')
    expect(first.result).toBe('It says marmalade.')

    // Another process, and a home that knows nothing.
    server.forget()
    server.script([{ text: 'As I said, marmalade.' }])
    const second = await turn('Again, please?', 'home-2', [first.sessionId])
    expect(second).toEqual({ sessionId: first.sessionId, result: 'As I said, marmalade.' })
    for (const words of [
      'What does a.txt say?',
      'Looking.',
      'the word is marmalade',
      'It says marmalade.',
      'Again, please?',
    ])
      expect(told()).toContain(words)

    const store = await openStore(file)
    const transcripts = undertextSessionStore({ store })
    const [session] = await store.sessions.list()
    const projectKey = session!.owner!
    const rendered = await store.renderHistory(session!.id, { provider: 'anthropic' })
    expect(validateHistory(rendered.messages, 'anthropic')).toEqual([])
    expect(rendered.messages.map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'tool',
      'assistant',
      'user',
      'assistant',
    ])
    expect((await transcripts.listSessionSummaries(projectKey)).map(({ data }) => data.firstPrompt)).toEqual([
      'What does a.txt say?',
    ])
    expect((await store.sessions.verify(session!.id)).findings).toEqual([])

    const key = { projectKey, sessionId: first.sessionId }
    await transcripts.delete(key)
    await expect(turn('And now?', 'home-3', [first.sessionId])).rejects.toThrow()
    expect(await transcripts.restore(key)).toBe(true)
    await store.close()

    server.forget()
    server.script([{ text: 'Still marmalade.' }])
    await turn('And now?', 'home-4', [first.sessionId])
    expect(told()).toContain('As I said, marmalade.')
  }, 300_000)
})
