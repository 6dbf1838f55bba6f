import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newFile } from '../support/temporary.ts'
import { expectNoProblems, openPage, type Served, serve, settled, startBrowser } from './browser.ts'
import { makeHostileStore } from './hostile-store.ts'
import { PAYLOADS } from './payloads.ts'

/* Hostile texts in every field of every kind of row, in the real browser: none runs, none asks another host, and none breaks the page. */

const browser = await startBrowser('whether hostile texts run in the inspector’s page')

describe.skipIf(browser === undefined)('hostile texts', () => {
  let served: Served
  let ids: string[]
  beforeAll(async () => {
    const path = newFile()
    ids = await makeHostileStore(path)
    served = await serve(path, { title: Object.values(PAYLOADS).join(' ').slice(0, 900) })
    served.store.on('windowAssumed', () => {})
  }, 300_000)
  afterAll(async () => {
    await browser?.close()
    await served?.close()
  })

  const OPEN_ALL = `for (const one of document.querySelectorAll('main [aria-expanded="false"]')) one.click()
    for (const one of document.querySelectorAll('main details:not(.menu)')) one.open = true`
  const WRONG = `JSON.stringify([
    globalThis.executed,
    [...document.querySelectorAll('a')].map((one) => one.href).filter((href) => /^\\s*(javascript|data|vbscript)/i.test(href)),
    [...document.querySelectorAll('main script, main iframe, main object, main embed, main base, main meta, main link, main style, main form[action]')].map((one) => one.outerHTML),
    [...document.querySelectorAll('img')].map((one) => one.src).filter((src) => !src.startsWith(location.origin)),
    document.documentElement.scrollWidth > innerWidth,
  ])`
  const NOTHING = JSON.stringify([undefined, [], [], [], false])

  /** Within the same document, which is much faster. */
  const goTo = (page: Page, hash: string): Promise<unknown> =>
    page.evaluate(`location.hash = ${JSON.stringify(hash)}`)

  async function openAll(page: Page): Promise<void> {
    for (let round = 0; round < 3; round++) {
      await page.evaluate(OPEN_ALL)
      await settled(page)
    }
  }

  test('are at least thirty', () => {
    expect(Object.keys(PAYLOADS).length).toBeGreaterThanOrEqual(30)
  })

  test('run in no view', { timeout: 900_000 }, async () => {
    const opened = await openPage(browser!, served.url)
    const { page, visit } = opened
    const wrong: string[] = []
    const look = async (where: string): Promise<void> => {
      await settled(page)
      await openAll(page)
      const found = await page.evaluate(WRONG)
      if (found !== NOTHING) wrong.push(`${where}: ${found}`)
      wrong.push(...opened.problems.splice(0).map((problem) => `${where}: ${problem}`))
    }
    await visit('#/')
    await look('sessions')
    await visit('#/costs')
    await look('costs')
    for (const [at, id] of ids.entries()) {
      const name = Object.keys(PAYLOADS)[at]
      const { messageCount } = await served.store.sessions.get(id)
      for (const view of [
        ...['conversation?message=1', `conversation?message=${Math.ceil(messageCount / 2)}`, 'conversation'],
        ...['requests', 'context', 'compactions', 'costs'],
      ]) {
        await goTo(page, `#/session/${id}/${view}`)
        await look(`${name}, ${view}`)
      }
    }
    expect(wrong).toEqual([])
    await opened.close()
  })

  test('run in no compaction and no search', { timeout: 600_000 }, async () => {
    const opened = await openPage(browser!, served.url)
    const { page, visit } = opened
    for (const id of ids) {
      for (const { id: compaction } of await served.store.listCompactions(id)) {
        await goTo(page, `#/session/${id}/compactions?compaction=${compaction}`)
        await settled(page)
        await openAll(page)
      }
      expect(await page.evaluate('globalThis.executed')).toBeUndefined()
    }
    await visit('#/')
    await page.locator('.session-row').first().waitFor()
    for (const word of ['script', 'executed', 'img', 'onerror', 'constructor']) {
      await page.keyboard.press('/')
      await page.getByRole('searchbox', { name: 'Search messages' }).fill(word)
      await page.locator('.hit').first().waitFor()
      expect(await page.evaluate('globalThis.executed')).toBeUndefined()
      await page.keyboard.press('Escape')
    }
    expectNoProblems(opened)
    await opened.close()
  })
})
