import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import axe from 'axe-core'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newFile } from '../support/temporary.ts'
import { expectNoProblems, openPage, type Served, serve, settled, startBrowser } from './browser.ts'
import { DEMO_SESSION, makeDemoStore } from './demo-store.ts'

/*
 * Every view and every dialog, in both themes, at three widths: axe finds nothing, and the page is never wider than the window. With
 * `UNDERTEXT_SCREENSHOTS=FOLDER`, a picture of each is written there, to be looked at.
 */

const browser = await startBrowser('whether the inspector’s page is accessible')

const screenshots = process.env.UNDERTEXT_SCREENSHOTS

const session = (tab: string): string => `#/session/${DEMO_SESSION}/${tab}`
const press = (key: string) => (page: Page) => page.keyboard.press(key)
const click = (role: 'button' | 'link', name: string | RegExp) => (page: Page) =>
  page.getByRole(role, { name }).first().click()

type View = readonly [name: string, hash: string, ...steps: ((page: Page) => Promise<unknown>)[]]
const VIEWS: readonly View[] = [
  ['sessions', '#/', click('button', '3 child sessions')],
  ['sessions: actions', '#/', (page) => page.getByLabel('Actions for Checkout is one cent short').click()],
  ['archived sessions', '#/?archived=yes'],
  ['no session matches', '#/?search=nothing'],
  ['an unknown session', '#/session/nobody/conversation'],
  ['costs of all sessions', '#/costs'],
  ['conversation: the end', session('conversation')],
  ['conversation: hidden rows', `${session('conversation')}?message=15`],
  ['conversation: images', `${session('conversation')}?message=10`],
  ['conversation: edits', `${session('conversation')}?message=19`],
  ['conversation: versions', `${session('conversation')}?message=92`],
  ['conversation: only hidden', session('conversation'), click('button', 'Only hidden')],
  [
    'conversation: an open summary',
    session('conversation'),
    (page) => page.getByRole('combobox', { name: 'Role' }).selectOption('summary'),
    click('button', 'What this summary replaces'),
  ],
  [
    'conversation: actions of a message',
    `${session('conversation')}?message=15`,
    (page) => page.getByLabel('Actions for message 15').click(),
  ],
  [
    'conversation: a question',
    session('conversation'),
    (page) => page.getByLabel('Actions for message 238').click(),
    click('button', /^Hide from the model/),
  ],
  ['an empty session', '#/session/empty/conversation'],
  ['an empty session: compactions', '#/session/empty/compactions'],
  ['an empty session: requests', '#/session/empty/requests'],
  ['an empty session: context', '#/session/empty/context'],
  ['an empty session: costs', '#/session/empty/costs'],
  ['requests', session('requests')],
  ['requests: a lost cache', `${session('requests')}?answer=42`],
  ['requests: an answer without one', '#/session/porto-trip/requests?answer=2'],
  ['context', session('context')],
  ['context: a comparison', `${session('context')}?position=40`, press('c'), press('j'), press('j')],
  ['compactions', session('compactions')],
  ['compactions: a preview', `${session('compactions')}?new=1`],
  ['compactions: before and after', session('compactions'), click('button', 'Compare before and after')],
  ['costs', session('costs')],
  [
    'search',
    session('conversation'),
    press('/'),
    (page) => page.keyboard.type('cent'),
    (page) => page.locator('.hit').first().waitFor(),
  ],
  ['keyboard', session('conversation'), press('?')],
  [
    'rename',
    session('conversation'),
    (page) => page.getByLabel('Actions for this session').click(),
    click('button', 'Rename'),
  ],
  [
    'export',
    session('conversation'),
    (page) => page.getByLabel('Actions for this session').click(),
    click('button', 'Export'),
  ],
]

type Violation = {
  readonly id: string
  readonly nodes: readonly { readonly target: unknown; readonly failureSummary?: string }[]
}

/** What axe finds, in words. */
async function violations(page: Page): Promise<string[]> {
  const { violations: found } = (await page.evaluate('axe.run({ resultTypes: ["violations"] })')) as {
    readonly violations: readonly Violation[]
  }
  return found.flatMap(({ id, nodes }) =>
    nodes
      .slice(0, 3)
      .map(
        ({ target, failureSummary = '' }) =>
          `${id}: ${String(target)}: ${failureSummary.split('\n')[1]?.trim()}`,
      ),
  )
}

/** What axe finds twice: what is loaded after a pause is dimmed for a moment. */
async function lasting(page: Page, name: string): Promise<string[]> {
  if ((await violations(page)).length === 0) return []
  await sleep(1_000)
  await settled(page, name)
  return violations(page)
}

describe.skipIf(browser === undefined)('axe', () => {
  let served: Served
  beforeAll(async () => {
    const path = newFile()
    await makeDemoStore(path)
    served = await serve(path)
  })
  afterAll(async () => {
    await browser?.close()
    await served?.close()
  })

  const cases = (['light', 'dark'] as const).flatMap((colorScheme) =>
    [360, 1280, 2560].map((width) => ({ colorScheme, width })),
  )
  test.each(cases)(
    'finds nothing in any view, $colorScheme, $width pixels wide',
    { timeout: 300_000 },
    async ({ colorScheme, width }) => {
      const opened = await openPage(browser!, served.url, {
        colorScheme,
        viewport: { width, height: width > 2_000 ? 1_300 : 800 },
      })
      const { page, visit } = opened
      await page.context().addInitScript({ content: axe.source })
      const found: string[] = []
      for (const [name, hash, ...steps] of VIEWS) {
        await visit(hash)
        for (const step of [() => Promise.resolve(), ...steps]) {
          await step(page)
          await settled(page, name)
        }
        if (screenshots !== undefined)
          await page.screenshot({ path: join(screenshots, `${width} ${colorScheme} ${name}.png`) })
        // At the largest width the rules find what they find at the middle one.
        if (width < 2_000) found.push(...(await lasting(page, name)).map((one) => `${name}: ${one}`))
        const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth')
        if (Number(overflow) > 0) found.push(`${name}: the page is ${overflow} pixels wider than the window`)
      }
      expect(found).toEqual([])
      // The session of one view doesn't exist.
      const expected = opened.problems.filter(
        (one) => one.includes('nobody') || one.includes('status of 404'),
      )
      expectNoProblems({ ...opened, problems: opened.problems.filter((one) => !expected.includes(one)) })
      await opened.close()
    },
  )
})
