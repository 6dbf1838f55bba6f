import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, expect, it } from 'vitest'
import { newFolder } from './support/temporary.ts'

/*
 * The example for Next.js with the packed package, built by both of its bundlers. Installs Next.js from the registry, so this
 * is no part of the regular suite: `npm run example:next` runs it. It says what it does, because an installation that compiles the
 * driver prints nothing for minutes.
 */

const run = promisify(execFile)
const REPOSITORY = join(import.meta.dirname, '..')
const env = { ...process.env, NEXT_TELEMETRY_DISABLED: '1' }
/** Milliseconds for the installation, and for each bundler: ten times what they take. */
const LIMIT = 1_200_000
let app: string

function say(what: string): void {
  process.stderr.write(`example for Next.js: ${what}\n`)
}

beforeAll(async () => {
  app = newFolder()
  await cp(join(REPOSITORY, 'examples', 'nextjs'), app, { recursive: true })
  say('packing undertext')
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', app], { cwd: REPOSITORY })
  const [{ filename }] = JSON.parse(stdout.slice(stdout.indexOf('['))) as [{ filename: string }]
  say('installing it with Next.js')
  await run('npm', ['install', '--no-fund', '--no-audit', '--ignore-scripts=false', join(app, filename)], {
    cwd: app,
  })
}, LIMIT)

it.each(['turbopack', 'webpack'])(
  'is built by %s, and its route and its page use the store',
  async (bundler) => {
    say(`building with ${bundler}`)
    await run('npx', ['next', 'build', `--${bundler}`], { cwd: app, env })
    const server = spawn(
      process.execPath,
      ['node_modules/next/dist/bin/next', 'start', '--port', '0', '--hostname', '127.0.0.1'],
      { cwd: app, env: { ...env, STORE: join(app, `${bundler}.db`) }, stdio: ['ignore', 'pipe', 'inherit'] },
    )
    try {
      const address = await addressOf(server)
      const answer = await fetch(`${address}/api/chat`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({
          id: 'my-chat',
          trigger: 'submit-message',
          messages: [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'hello' }] }],
        }),
      })
      expect(await answer.text()).toContain('I was sent 2 messages.')
      expect(await (await fetch(address)).text()).toContain('I was sent 2 messages.')
    } finally {
      server.kill()
      await once(server, 'close')
    }
  },
  LIMIT,
)

async function addressOf(server: ChildProcess): Promise<string> {
  let said = ''
  for await (const chunk of server.stdout!) {
    said += String(chunk)
    const address = /http:\/\/127\.0\.0\.1:\d+/.exec(said)?.[0]
    if (address !== undefined && said.includes('Ready')) return address
  }
  throw new Error(`the server ended: ${said}`)
}
