import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser, Locator, Page } from 'playwright-core'
import { openPage, serve, settled, startBrowser } from '../../test/inspect/browser.ts'
import { DemoClock } from '../../test/inspect/demo-clock.ts'
import { DEMO_SESSION, DEMO_START, makeDemoStore } from '../../test/inspect/demo-store.ts'
import { newFile, removeFolders } from '../../test/support/temporary.ts'
import { animatedGif, type Frame, palettePng, readPng, withPointer } from './inspect-image.ts'

/*
 * Makes the pictures of the inspector: `npm run pictures:inspect`, with Chromium. The page shows the demo store of its tests, over the real
 * handler. Ids are others each time.
 */

const FOLDER = import.meta.dirname
const MOST_BYTES = { png: 150_000, gif: 1_000_000 }
/** A while after the last message of the demo. */
const NOW = new Date(DEMO_START + 2 * 3_600_000 + 20 * 60_000)

const session = (place: string): string => `#/session/${DEMO_SESSION}/${place}`

const STILLS = [
  { name: 'inspect-conversation', hash: session('conversation?message=19') },
  { name: 'inspect-requests', hash: session('requests?answer=43') },
  { name: 'inspect-context', hash: session('context?position=165') },
  { name: 'inspect-compactions', hash: session('compactions') },
] as const

const browser = await startBrowser('the inspector: there are no pictures')
if (browser !== undefined) {
  const path = newFile()
  await makeDemoStore(path)
  await new DemoClock(NOW.getTime()).during(() => makePictures(browser, path))
}

async function makePictures(chromium: Browser, path: string): Promise<void> {
  const served = await serve(path, { title: 'shop.db' })
  // Chromium may have no font for the other title.
  await served.store.forOwner('aiko').sessions.update('kyoto-trip', { title: 'A trip to Kyoto' })
  try {
    for (const { name, hash } of STILLS) {
      const { page, visit, close } = await openPage(chromium, served.url, { colorScheme: 'light' })
      await page.clock.setFixedTime(NOW)
      await visit(hash)
      await settled(page)
      write(`${name}.png`, palettePng(readPng(await page.screenshot())), MOST_BYTES.png)
      await close()
    }
    const { page, visit, close } = await openPage(chromium, served.url, {
      viewport: { width: 1000, height: 640 },
    })
    await page.clock.setFixedTime(NOW)
    await visit('#/')
    write('inspect.gif', animatedGif(await film(page)), MOST_BYTES.gif)
    await close()
  } finally {
    await chromium.close()
    await served.close()
    removeFolders()
  }
}

function write(name: string, file: Buffer, most: number): void {
  writeFileSync(join(FOLDER, name), file)
  process.stdout.write(`${name}: ${Math.round(file.length / 1_000)} kB\n`)
  if (file.length > most) throw new Error(`${name} may have at most ${most} bytes`)
}

/** The first of several elements that lies well within the window. */
async function inSight(all: Locator): Promise<Locator | undefined> {
  for (const one of await all.all()) {
    const box = await one.boundingBox()
    if (box !== null && box.y > 230 && box.y < 560) return one
  }
  return undefined
}

/** A session is opened, hidden rows come into sight, what hid them is opened, undone and redone. */
async function film(page: Page): Promise<Frame[]> {
  const frames: Frame[] = []
  let pointer = { x: 620, y: 420 }
  const shoot = async (delayMs: number): Promise<void> => {
    const image = readPng(await page.screenshot())
    frames.push({ image: withPointer(image, pointer.x, pointer.y), delayMs })
  }
  const click = async (target: Locator): Promise<void> => {
    const box = (await target.boundingBox())!
    const goal = { x: box.x + Math.min(box.width / 2, 60), y: box.y + box.height / 2 }
    const from = pointer
    for (const share of [0.4, 0.75, 0.95, 1]) {
      pointer = { x: from.x + (goal.x - from.x) * share, y: from.y + (goal.y - from.y) * share }
      await page.mouse.move(pointer.x, pointer.y)
      await shoot(60)
    }
    await shoot(350)
    await page.mouse.click(pointer.x, pointer.y)
    await settled(page)
  }
  const scroll = async (pixels: number, times: number): Promise<void> => {
    for (let turn = 0; turn < times; turn++) {
      await page.mouse.wheel(0, pixels)
      await settled(page)
      await shoot(90)
    }
  }
  await page.locator('.session-row').first().waitFor()
  await settled(page)
  await shoot(1_200)
  await click(page.getByRole('link', { name: 'Checkout is one cent short' }))
  await page.getByText('Two things:').waitFor()
  await settled(page)
  await shoot(1_300)
  await click(page.getByRole('button', { name: 'Only hidden' }))
  await shoot(700)
  pointer = { x: 520, y: 420 }
  await page.mouse.move(pointer.x, pointer.y)
  await scroll(-200, 6)
  const reasons = page.locator('.run-why a, .hidden-by a')
  let reason = await inSight(reasons)
  for (let tries = 0; reason === undefined && tries < 40; tries++) {
    await scroll(-120, 1)
    reason = await inSight(reasons)
  }
  await shoot(900)
  await click(reason!)
  await page.getByRole('article', { name: /^Compaction: / }).waitFor()
  await settled(page)
  await shoot(2_000)
  await click(page.locator('.detail').getByRole('button', { name: /^Undo/ }))
  const question = page.getByRole('dialog')
  if ((await question.count()) > 0) {
    await shoot(1_400)
    await click(question.getByRole('button', { name: /^Undo/ }))
  }
  const toast = page.locator('.toast', { hasText: 'Undid' })
  await toast.waitFor()
  await page.locator('.detail').getByRole('button', { name: 'Redo' }).waitFor()
  await settled(page)
  await shoot(2_200)
  await click(toast.getByRole('button', { name: 'Redo' }))
  await page.locator('.toast', { hasText: 'Redid' }).waitFor()
  await page.locator('.detail').getByRole('button', { name: /^Undo/ }).waitFor()
  await settled(page)
  await shoot(2_600)
  return frames
}
