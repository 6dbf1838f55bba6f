import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newFile } from '../support/temporary.ts'
import { expectNoProblems, openServed, type ServedPage, settled, startBrowser } from './browser.ts'
import { DEMO_SESSION, makeDemoStore } from './demo-store.ts'

/* The page in the real browser, over the real handler and a real store: that each view shows what it should, and does nothing else. */

const browser = await startBrowser('the inspector’s page')

describe.skipIf(browser === undefined)('the page in Chromium', () => {
  let opened: ServedPage
  beforeAll(async () => {
    const path = newFile()
    await makeDemoStore(path)
    opened = await openServed(browser!, path)
  })
  afterAll(async () => {
    await opened?.close()
    await browser?.close()
  })

  test('the list has the sessions, newest first, with children folded under their parents', async () => {
    const { page, visit } = opened
    await visit('#/')
    const titles = page.locator('.session-title')
    await titles.first().waitFor()
    expect(await titles.allInnerTexts()).toEqual([
      'Checkout is one cent short',
      '0199-untitled',
      'A trip to Porto',
      'A poem',
      '京都への旅',
      'An empty session',
    ])
    await page.getByRole('button', { name: '3 child sessions' }).click()
    expect(await titles.allInnerTexts()).toEqual(
      expect.arrayContaining([
        'Find all callers of round',
        'The same in Rust',
        'Try banker’s rounding instead',
      ]),
    )
    expectNoProblems(opened)
  })

  test('a session opens from the list, and each of its tabs has content', async () => {
    const { page } = opened
    await page.getByRole('link', { name: 'Checkout is one cent short' }).click()
    await page.getByRole('heading', { level: 1, name: 'Checkout is one cent short' }).waitFor()
    // The last answer of the demo.
    await page.getByText('Two things:').waitFor()
    const tabs = page.getByRole('navigation', { name: 'Session' })
    await tabs.getByRole('link', { name: 'Requests' }).click()
    await page.getByRole('heading', { name: '119 requests' }).waitFor()
    await page.getByRole('region', { name: 'The log at that moment' }).waitFor()
    await tabs.getByRole('link', { name: 'Context' }).click()
    await page.getByRole('slider', { name: 'Moment' }).waitFor()
    await tabs.getByRole('link', { name: 'Compactions' }).click()
    await page.getByRole('region', { name: 'Runs, newest first' }).waitFor()
    await tabs.getByRole('link', { name: 'Costs' }).click()
    await page.getByText('claude-sonnet-4-5').first().waitFor()
    await settled(page)
    expectNoProblems(opened)
  })

  test('the search finds a hidden message and leads to it', async () => {
    const { page, visit } = opened
    await visit(`#/session/${DEMO_SESSION}/compactions`)
    await page.getByRole('region', { name: 'Runs, newest first' }).waitFor()
    await page.keyboard.press('/')
    await page.getByRole('searchbox', { name: 'Search messages' }).fill('"one such order today"')
    await page.locator('.hit').first().waitFor()
    await page.keyboard.press('Enter')
    await page.getByText('The log has one such order today').first().waitFor()
    expect(page.url()).toContain('message=15')
    expectNoProblems(opened)
  })
})
