import { once } from 'node:events'
import { createServer, get as httpGet, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { PassThrough } from 'node:stream'
import { afterEach, describe, expect, it } from 'vitest'
import type { Sink } from '../../src/cli/command.ts'
import { browserCommand, hasBrowser } from '../../src/cli/commands/inspect/browser.ts'
import { gate } from '../../src/cli/commands/inspect/gate.ts'
import { runProgram } from '../../src/cli/main.ts'
import { openStore } from '../../src/index.ts'
import { runCli } from '../support/cli-run.ts'
import { newFile } from '../support/temporary.ts'
import { eventsOf } from './requests.ts'

/* `undertext inspect`, over HTTP. */

async function storeFile(): Promise<string> {
  const path = newFile()
  await using store = await openStore(path, { env: false })
  await store.append('talk', [{ role: 'user', content: 'Where is the kettle?' }])
  await store.forOwner('ann').append('ann/s talk', [{ role: 'user', content: 'Tea?' }])
  return path
}

type Running = {
  readonly url: URL
  readonly out: () => string
  readonly token: string
  /** The cookie that the address gives. */
  readonly cookie: string
  /** Interrupts it; resolves to the exit code. */
  readonly end: () => Promise<number>
  fetch(path: string, init?: RequestInit): Promise<Response>
}

const running: Running[] = []
afterEach(async () => {
  for (const one of running.splice(0)) await one.end()
})

/** Starts the command in this process, as if its output went to a pipe. */
async function start(...argv: readonly string[]): Promise<Running> {
  const abort = new AbortController()
  const written = new PassThrough()
  let out = ''
  const sink = (write: (text: string) => void): Sink => ({ isTerminal: false, columns: 80, write })
  const exit = runProgram(['inspect', ...argv], {
    out: sink((text) => {
      out += text
      written.write(text)
    }),
    err: sink((text) => written.destroy(new Error(text))),
    input: new PassThrough(),
    env: { CI: 'true' },
    cwd: process.cwd(),
    signal: abort.signal,
    version: '9.8.7',
    dataFolder: async () => '/nowhere/undertext',
    pour: async () => {},
  })
  await Promise.race([
    once(written, 'data'),
    exit.then((code) => {
      throw new Error(`it ended with ${code}`)
    }),
  ])
  const [found] = /http:\/\/[^\s"]+/.exec(out)!
  const url = new URL(found)
  const token = url.searchParams.get('token')!
  const cookie = `undertext_${url.port}=${token}`
  const one: Running = {
    ...{ url, out: () => out, token, cookie },
    end: () => {
      abort.abort()
      return exit
    },
    fetch: (path, init = {}) =>
      fetch(new URL(path, url), { redirect: 'manual', ...init, headers: { cookie, ...init.headers } }),
  }
  running.push(one)
  return one
}

/** A GET with any headers; `fetch` sets the host itself. */
async function rawGet(url: URL, headers: { readonly [name: string]: string }): Promise<IncomingMessage> {
  const [response] = (await once(httpGet(url, { headers }), 'response')) as [IncomingMessage]
  response.resume()
  return response
}

describe('undertext inspect', () => {
  it('prints an address on loopback, with a key of 256 bits that differs each time', async () => {
    const path = await storeFile()
    const [one, two] = [await start('--db', path), await start('--db', path)]
    for (const { url, out, token } of [one, two]) {
      expect(url.hostname).toBe('127.0.0.1')
      expect(out()).toBe(`${url.href}\n`)
      expect(Buffer.from(token, 'base64url')).toHaveLength(32)
    }
    expect(one.token).not.toBe(two.token)
    expect(one.url.port).not.toBe(two.url.port)
  })

  it('turns the key into a cookie that scripts and other sites cannot use, and leaves it out of the address', async () => {
    const { url, token } = await start('--db', await storeFile())
    const response = await fetch(url, { redirect: 'manual' })
    expect([response.status, response.headers.get('location')]).toEqual([303, '/'])
    expect(response.headers.get('set-cookie')).toBe(
      `undertext_${url.port}=${token}; HttpOnly; SameSite=Strict; Path=/`,
    )
    expect(response.headers.get('referrer-policy')).toBe('no-referrer')
  })

  it('answers nothing without the cookie', async () => {
    const { url, cookie, token } = await start('--db', await storeFile())
    for (const path of ['/', '/app.js', '/icon.svg', '/events', '/media', '/anything']) {
      const response = await fetch(new URL(path, url))
      expect([path, response.status, await response.text()]).toEqual([
        path,
        401,
        expect.stringContaining('undertext inspect'),
      ])
    }
    expect((await fetch(new URL('/call', url), { method: 'POST', body: '{}' })).status).toBe(401)
    const wrong = [
      `${cookie}x`,
      cookie.slice(0, -1),
      `undertext_1=${token}`,
      `undertext_${url.port}=`,
      `x${cookie}`,
    ]
    for (const one of wrong) expect((await rawGet(new URL('/', url), { cookie: one })).statusCode).toBe(401)
    expect((await fetch(new URL(`/?token=${token}x`, url))).status).toBe(401)
    expect((await fetch(new URL(`/call?token=${token}`, url))).status).toBe(401)
    const posted = await fetch(new URL(`/?token=${token}`, url), { method: 'POST' })
    expect([posted.status, posted.headers.get('set-cookie')]).toEqual([401, null])
    expect((await rawGet(new URL('/', url), { cookie: `a=b; ${cookie}; c=d` })).statusCode).toBe(200)
    // Another server of the host can add a cookie, but not lock the page.
    const both = `undertext_${url.port}=wrong; ${cookie}`
    expect((await rawGet(new URL('/', url), { cookie: both })).statusCode).toBe(200)
  })

  it('opens the browser with a key that works once, because others can see the arguments of programs', async () => {
    const handle = gate(async () => new Response('the page'), { token: 'T', ticket: 'once', port: 8_080 })
    const open = (query: string): Promise<Response> =>
      handle(new Request(`http://127.0.0.1:8080/?token=${query}`, { headers: { host: '127.0.0.1:8080' } }))
    const opened = await open('once')
    expect([opened.status, opened.headers.get('set-cookie')]).toEqual([
      303,
      'undertext_8080=T; HttpOnly; SameSite=Strict; Path=/',
    ])
    expect((await open('once')).status).toBe(401)
    expect([(await open('T')).status, (await open('T')).status]).toEqual([303, 303])
  })

  it('answers under its own names only, even with the cookie (DNS rebinding)', async () => {
    const { url, cookie } = await start('--db', await storeFile())
    const page = new URL('/', url)
    const status = async (host: string): Promise<unknown> => (await rawGet(page, { cookie, host })).statusCode
    for (const name of ['127.0.0.1', 'localhost', 'LOCALHOST', '[::1]'])
      expect([name, await status(`${name}:${url.port}`)]).toEqual([name, 200])
    const others = [
      'evil.example',
      `evil.example:${url.port}`,
      '127.0.0.1',
      `127.0.0.1:1`,
      `127.0.0.1.evil.example:${url.port}`,
    ]
    for (const host of others) expect([host, await status(host)]).toEqual([host, 403])
    // The key isn't accepted there either.
    expect((await rawGet(url, { host: `evil.example:${url.port}` })).statusCode).toBe(403)
  })

  it('refuses requests of other sites, even with the cookie', async () => {
    const { fetch: send } = await start('--db', await storeFile())
    const body = JSON.stringify({ verb: 'sessions.list', args: [] })
    const json = { 'content-type': 'application/json' }
    const call = (headers: { readonly [name: string]: string }) =>
      send('/call', { method: 'POST', body, headers: { ...json, ...headers } })
    expect((await call({})).status).toBe(200)
    expect((await call({ origin: 'http://evil.example' })).status).toBe(403)
    expect((await call({ 'content-type': 'text/plain' })).status).toBe(415)
  })

  it('serves calls, the store that the command names, and live events', async () => {
    const path = await storeFile()
    const one = await start('--db', path)
    const response = await one.fetch('/call', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ verb: 'getMessages', args: ['talk'] }),
    })
    expect(await response.json()).toMatchObject({ value: [{ content: 'Where is the kettle?' }] })
    const events = eventsOf(await one.fetch('/events?session=talk'))
    expect(await events.next()).toMatchObject({ session: { messageCount: 1 } })
    await using store = await openStore(path, { env: false })
    await store.append('talk', [{ role: 'assistant', content: 'In the kitchen.' }])
    expect(await events.next()).toMatchObject({ session: { messageCount: 2 } })
    await events.reader.cancel()
  })

  it('ends with 0 when it is interrupted, with its open connections', async () => {
    const one = await start('--db', await storeFile())
    const events = eventsOf(await one.fetch('/events'))
    await events.next()
    expect(await one.end()).toBe(0)
    await expect(
      (async () => {
        while ((await events.next()) !== undefined);
      })(),
    ).rejects.toThrow()
    await expect(fetch(one.url)).rejects.toThrow()
  })

  it('opens at a session, whose id may be shortened, and names its owner', async () => {
    const path = await storeFile()
    expect((await start('tal', '--db', path)).url.hash).toBe('#/session/talk/conversation')
    expect((await start('ann/', '--db', path)).url.hash).toBe(
      '#/session/ann%2Fs%20talk/conversation?owner=ann',
    )
    expect((await start('@', '--owner', 'ann', '--db', path)).url.hash).toBe(
      '#/session/ann%2Fs%20talk/conversation',
    )
  })

  it('shows one owner, or only shows', async () => {
    const path = await storeFile()
    const post = async (one: Running, verb: string, args: readonly unknown[]): Promise<unknown> => {
      const init = {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ verb, args }),
      }
      return (await one.fetch('/call', init)).json()
    }
    const owned = await start('--owner', 'ann', '--db', path)
    expect(await post(owned, 'sessions.list', [])).toMatchObject({ value: [{ id: 'ann/s talk' }] })
    expect(await post(owned, 'getMessages', ['talk'])).toMatchObject({ error: { code: 'SESSION_NOT_FOUND' } })
    const reading = await start('--readonly', '--db', path)
    expect(await post(reading, 'sessions.archive', ['talk'])).toMatchObject({
      error: { code: 'STORE_READONLY' },
    })
    expect(await (await reading.fetch('/')).text()).toContain('"readonly":true')
  })

  it('prints one JSON value with --json', async () => {
    const { out, url } = await start('--json', '--db', await storeFile())
    expect(JSON.parse(out())).toEqual({ url: url.href })
  })

  it('says why it cannot start', async () => {
    const path = await storeFile()
    expect((await runCli(['inspect', '--db', newFile()])).exit).toBe(3)
    expect((await runCli(['inspect', 'nobody', '--db', path])).exit).toBe(3)
    expect((await runCli(['inspect', '--port', '65536', '--db', path])).exit).toBe(2)
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    const { port } = other.address() as AddressInfo
    const { exit, err } = await runCli(['inspect', '--port', String(port), '--db', path])
    other.close()
    expect([exit, err]).toEqual([2, expect.stringContaining(`Port ${port} is in use.`)])
  })
})

describe('the browser', () => {
  it.each([
    ['on a terminal', true, {}, true],
    ['to a pipe', false, {}, false],
    ['over SSH', true, { SSH_CONNECTION: '10.0.0.1 1 10.0.0.2 22' }, false],
    ['in CI', true, { CI: 'true' }, false],
  ])('is opened or not: %s', (_, isTerminal, env, opens) => {
    expect(hasBrowser({ out: { isTerminal, columns: 80, write: () => {} }, env })).toBe(opens)
  })

  it('is opened by the program of the platform', () => {
    const url = 'http://127.0.0.1:1/?token=a&b'
    expect(browserCommand('darwin', url)).toEqual(['open', url])
    expect(browserCommand('win32', url)).toEqual([
      'cmd',
      '/c',
      'start',
      '""',
      'http://127.0.0.1:1/?token=a^&b',
    ])
    expect(browserCommand('linux', url)).toEqual(['xdg-open', url])
  })
})

describe('log and stats', () => {
  it.each(['log', 'stats'])('%s says on a terminal where the page is, and nowhere else', async (command) => {
    const path = await storeFile()
    const argv = [command, '@', '--no-pager', '--db', path]
    const hint = 'Open it in a browser: undertext inspect talk'
    const newest = [command, 'talk', '--no-pager', '--db', path]
    expect((await runCli(newest, { columns: 80 })).lines.at(-1)).toBe(hint)
    expect((await runCli(argv)).out).not.toContain('inspect')
    expect((await runCli([...newest, '--json'], { columns: 80 })).out).not.toContain('inspect')
  })
})
