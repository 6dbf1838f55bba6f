import { copyFileSync, existsSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { getRequestListener } from '@hono/node-server'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { expect } from 'vitest'
import { openStore, type Store } from '../../src/index.ts'
import { type InspectorOptions, inspector } from '../../src/inspect/index.ts'
import { newFile } from '../support/temporary.ts'

const ARGUMENTS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** Where Chromium is: what `UNDERTEXT_CHROMIUM` names, Debian's, one on the path, or the one that playwright-core installed. */
function chromiumPath(): string | undefined {
  const onPath = (process.env.PATH ?? '')
    .split(delimiter)
    .flatMap((folder) => ['chromium', 'chromium-browser', 'google-chrome'].map((name) => join(folder, name)))
  const { UNDERTEXT_CHROMIUM: named } = process.env
  const given = named === undefined || named === 'required' ? [] : [named]
  return [...given, '/usr/bin/chromium', ...onPath, chromium.executablePath()].find((path) =>
    existsSync(path),
  )
}

/**
 * Starts the browser. Without one it is `undefined` and a line says what isn't tested; with `UNDERTEXT_CHROMIUM=required` that is an error.
 */
export async function startBrowser(skipped: string): Promise<Browser | undefined> {
  const executablePath = chromiumPath()
  if (executablePath !== undefined) return chromium.launch({ executablePath, args: ARGUMENTS })
  const advice = `Chromium is not installed, so ${skipped} is not tested. Install it, or set UNDERTEXT_CHROMIUM to its path.`
  if (process.env.UNDERTEXT_CHROMIUM === 'required') throw new Error(advice)
  console.log(advice)
  return undefined
}

/** The inspector of a store, on a port of this machine. */
export type Served = {
  readonly url: string
  readonly store: Store
  readonly path: string
  /** Ends the server at once, with all its connections; the store stays open. */
  stop(): Promise<void>
  /** Starts it again on the same port. */
  start(): Promise<void>
  /** Ends the server and closes the store. */
  close(): Promise<void>
}

/** Serves the inspector of a store file, or of a copy of it, as `undertext inspect` does, without the token. */
export async function serve(path: string, options: InspectorOptions = {}): Promise<Served> {
  const store = await openStore(path, { env: false })
  const handler = getRequestListener(inspector(store, options), { overrideGlobalObjects: false })
  let server: Server | undefined
  let port = 0
  const start = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const started = createServer(handler)
      server = started
      started.once('error', reject)
      started.listen(port, '127.0.0.1', () => {
        port = (started.address() as AddressInfo).port
        resolve()
      })
    })
  const stop = (): Promise<void> =>
    new Promise((resolve) => {
      server?.close(() => resolve())
      server?.closeAllConnections()
    })
  await start()
  const close = async (): Promise<void> => {
    await stop()
    await store.close()
  }
  return { url: `http://127.0.0.1:${port}/`, store, path, stop, start, close }
}

/** A copy of a closed store in a folder of its own. */
export function copyOf(path: string): string {
  const copy = newFile()
  copyFileSync(path, copy)
  return copy
}

/* What runs in the browser; the tests are compiled without its types. */

const REPORT_VIOLATIONS = `addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI, sample }) =>
  reportProblem('policy: ' + violatedDirective + ' ' + blockedURI + ' ' + sample))`
/** What is loading in sight, as the beginning of its HTML. */
const LOADING = `[...document.querySelectorAll('[aria-busy="true"], .skeleton, .difference-waiting')]
  .filter((one) => one.checkVisibility() && [...one.getClientRects()].some(({ top, bottom }) => top < innerHeight && bottom > 0))
  .map((one) => one.outerHTML.slice(0, 120))`
const TWO_FRAMES = `new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve())))`

/** A page, and what must never happen on it. */
export type Opened = {
  readonly page: Page
  /** Errors, violations of the content security policy, dialogs, and requests to other hosts, in words. */
  readonly problems: string[]
  /** Goes to a place of the page, as a link that is opened fresh. */
  visit(hash: string): Promise<void>
  close(): Promise<void>
}

/** Opens the page in a context of its own. */
export async function openPage(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
): Promise<Opened> {
  const context = await browser.newContext({
    ...{
      viewport: { width: 1280, height: 800 },
      locale: 'en-US',
      timezoneId: 'UTC',
      reducedMotion: 'reduce',
    },
    ...options,
  })
  const page = await context.newPage()
  page.setDefaultTimeout(10_000)
  const problems: string[] = []
  const origin = new URL(url).origin
  page.on('console', (line) => {
    // A server that stops is a test of its own; the page says so itself.
    if (line.type() === 'error' && !/ERR_(?:CONNECTION|INCOMPLETE)/.test(line.text()))
      problems.push(`console: ${line.text()}`)
  })
  page.on('pageerror', (error) => problems.push(`error: ${error.message}`))
  page.on('dialog', (dialog) => {
    problems.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on('request', (request) => {
    const asked = request.url()
    if (!asked.startsWith(`${origin}/`) && !asked.startsWith('blob:')) problems.push(`request: ${asked}`)
  })
  page.on('response', (response) => {
    if (response.status() >= 400)
      problems.push(`status ${response.status()}: ${response.url()} ${response.request().postData() ?? ''}`)
  })
  await context.exposeFunction('reportProblem', (text: string) => problems.push(text))
  await context.addInitScript(REPORT_VIOLATIONS)
  const visit = async (hash: string): Promise<void> => {
    // Another document, even if only the hash differs.
    await page.goto('about:blank')
    await page.goto(`${url}${hash}`)
  }
  return { page, problems, visit, close: () => context.close() }
}

/** A page over a server of its own. */
export type ServedPage = Opened & { readonly served: Served }

/** Serves a store file and opens its page. `close` ends the page and the server, and closes the store. */
export async function openServed(
  browser: Browser,
  path: string,
  { page, ...options }: InspectorOptions & { readonly page?: BrowserContextOptions } = {},
): Promise<ServedPage> {
  const served = await serve(path, options)
  const opened = await openPage(browser, served.url, page)
  const close = async (): Promise<void> => {
    await opened.close()
    await served.close()
  }
  return { ...opened, served, close }
}

/** Fails with the words of what happened. */
export function expectNoProblems({ problems }: Opened): void {
  expect(problems).toEqual([])
}

/** Waits until the page has loaded what it shows. */
export async function settled(page: Page, where = 'the page'): Promise<void> {
  // `waitForFunction` would evaluate a text within the page, which its policy forbids.
  const end = performance.now() + 15_000
  for (;;) {
    const loading = (await page.evaluate(LOADING)) as string[]
    if (loading.length === 0) break
    if (performance.now() > end) throw new Error(`${where} is still loading: ${loading.join('\n')}`)
    await sleep(30)
  }
  await page.evaluate(TWO_FRAMES)
}
