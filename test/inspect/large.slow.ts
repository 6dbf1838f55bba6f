import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newFile } from '../support/temporary.ts'
import { expectNoProblems, openServed, type ServedPage, settled, startBrowser } from './browser.ts'
import { makeLargeSession, makeManySessions } from './demo-store.ts'

/* A session of 100,000 messages and a list of 400 sessions: only what is near the window is read and made. Times are printed, not tested. */

const browser = await startBrowser('the inspector’s page with large sessions')

const MESSAGES = 100_000
/** Rows in the document, whatever the session's length: those in sight, and some before and after. */
const MOST_ROWS = 80

describe.skipIf(browser === undefined)('a session of 100,000 messages', () => {
  let opened: ServedPage
  beforeAll(async () => {
    const path = newFile()
    await makeLargeSession(path, MESSAGES)
    opened = await openServed(browser!, path)
  }, 300_000)
  afterAll(() => opened?.close())

  const rowsOf = (page: Page): Promise<number> => page.getByRole('feed').locator('.row').count()
  /** The row is in the window, with its content. */
  async function expectInSight(page: Page, position: number, text: string): Promise<void> {
    const row = page.locator(`[data-key="${position}"]`)
    await row.getByText(text).waitFor()
    await expect
      .poll(async () => {
        const box = await row.boundingBox()
        return box !== null && box.y + box.height > 0 && box.y < 800
      })
      .toBe(true)
    expect(await rowsOf(page)).toBeLessThan(MOST_ROWS)
  }

  test('opens at its end', async () => {
    const { page, visit } = opened
    // The first visit also bundles the page.
    await visit('#/')
    await page.getByRole('link', { name: 'A large session' }).waitFor()
    const from = Date.now()
    await page.getByRole('link', { name: 'A large session' }).click()
    await page.locator(`[data-key="${MESSAGES}"]`).getByText(`Answer ${MESSAGES}:`).waitFor()
    console.log(`A session of ${MESSAGES} messages opened after ${Date.now() - from} ms.`)
    await expectInSight(page, MESSAGES, `Answer ${MESSAGES}:`)
  })

  test('jumps to its middle, its beginning and its end, and every row in sight has its content', async () => {
    const { page } = opened
    const goTo = page.getByRole('spinbutton', { name: /Go to/ })
    for (const position of [50_000, 2 * 33_332, 12_344]) {
      await goTo.fill(String(position))
      await goTo.press('Enter')
      await expectInSight(page, position, `Answer ${position}:`)
    }
    await page.locator(`[data-key="12344"]`).focus()
    await page.keyboard.press('g')
    await expectInSight(page, 1, 'Request 1:')
    await page.keyboard.press('G')
    await expectInSight(page, MESSAGES, `Answer ${MESSAGES}:`)
    await expect.poll(() => page.locator('.row-waiting').count()).toBe(0)
    expectNoProblems(opened)
  })

  test('opens at the message of a link', async () => {
    const { page, visit } = opened
    await visit('#/session/large/conversation?message=77776')
    await expectInSight(page, 77_776, 'Answer 77776:')
    expectNoProblems(opened)
  })

  test('scrolls through rows without gaps', async () => {
    const { page } = opened
    const box = (await page.getByRole('feed').boundingBox())!
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2)
    for (let turn = 0; turn < 20; turn++) {
      await page.mouse.wheel(0, turn < 10 ? 900 : -900)
      expect(await rowsOf(page)).toBeLessThan(MOST_ROWS)
    }
    await settled(page)
    await expect.poll(() => page.locator('.row-waiting').count()).toBe(0)
    const keys = await page
      .locator('[data-key]')
      .evaluateAll((all) => all.map((one) => Number(one.getAttribute('data-key'))))
    expect(keys).toEqual(Array.from(keys, (_, at) => keys[0]! + at))
    expectNoProblems(opened)
  })

  test('has its other views', { timeout: 120_000 }, async () => {
    const { page, visit } = opened
    await visit('#/session/large/context')
    await page.getByRole('slider', { name: 'Moment' }).waitFor({ timeout: 60_000 })
    await visit('#/session/large/compactions')
    await page.getByText('No compactions yet').waitFor()
    await visit('#/session/large/requests')
    await page.getByText('No requests were recorded in this session.').waitFor()
    expectNoProblems(opened)
  })
})

describe.skipIf(browser === undefined)('a list of 400 sessions', () => {
  test('is fetched by pages as one scrolls, down to the oldest', { timeout: 120_000 }, async () => {
    const path = newFile()
    await makeManySessions(path, 400)
    const opened = await openServed(browser!, path)
    const { page, visit } = opened
    await visit('#/')
    const titles = page.locator('.session-title')
    await titles.first().waitFor()
    expect(await titles.first().innerText()).toBe('Session 400')
    expect(await titles.count()).toBeLessThan(400)
    await expect
      .poll(
        async () => {
          await titles.last().scrollIntoViewIfNeeded()
          return titles.last().innerText()
        },
        { timeout: 60_000 },
      )
      .toBe('Session 1')
    expect(await titles.count()).toBe(400)
    expectNoProblems(opened)
    await opened.close()
  })
  afterAll(() => browser?.close())
})
