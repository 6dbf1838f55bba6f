import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import type { BrowserContextOptions, Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { InspectorOptions } from '../../src/inspect/index.ts'
import { newFile } from '../support/temporary.ts'
import {
  copyOf,
  expectNoProblems,
  openPage,
  openServed,
  type Served,
  type ServedPage,
  settled,
  startBrowser,
} from './browser.ts'
import { DEMO_SESSION, makeDemoStore } from './demo-store.ts'

/* What people do on the page, by mouse and by keyboard, in the real browser over a real store. */

const browser = await startBrowser('what people do on the inspector’s page')

/* Positions of the demo's log (demo-store.ts). */
/** The answer of the second turn, which two summaries replace. */
const HIDDEN_ANSWER = 15
/** Written right after the first summary, by another model, by the first one again, with another system prompt, and after lunch. */
const AFTER_SUMMARY = 43
const OTHER_MODEL = 97
const OTHER_SYSTEM = 103
const AFTER_LUNCH = 107
/** The question that was edited, and the answer that was made again twice. */
const FIRST_QUESTION = 90
const LAST_ANSWER = 238

let demo: string

/** What a page may do: save files, and use the clipboard. */
const READS_AND_SAVES: BrowserContextOptions = {
  acceptDownloads: true,
  permissions: ['clipboard-read', 'clipboard-write'],
}

/** A test with a store of its own, whose page must have had no problem at the end. */
function flow(name: string, run: (flow: ServedPage) => Promise<void>, options: InspectorOptions = {}): void {
  test(name, { timeout: 120_000 }, async () => {
    const opened = await openServed(browser!, copyOf(demo), { ...options, page: READS_AND_SAVES })
    try {
      await run(opened)
      expectNoProblems(opened)
    } finally {
      await opened.close()
    }
  })
}

const session = (tab: string): string => `#/session/${DEMO_SESSION}/${tab}`
const message = (page: Page, position: number): Locator => page.locator(`[data-key="${position}"]`)
const toast = (page: Page, text: string | RegExp): Locator => page.locator('.toast').filter({ hasText: text })
const dialog = (page: Page, name: string | RegExp): Locator => page.getByRole('dialog', { name })
const view = async ({ store }: Served, id = DEMO_SESSION): Promise<string> =>
  JSON.stringify(await store.getEffectiveHistory(id))

async function isInSight(page: Page, row: Locator): Promise<boolean> {
  const box = await row.boundingBox()
  return box !== null && box.y + box.height > 0 && box.y < page.viewportSize()!.height
}

/** Focused, and in the window. */
async function expectAt(page: Page, position: number): Promise<void> {
  await message(page, position).waitFor()
  await expect.poll(() => page.evaluate('document.activeElement?.dataset.key')).toBe(String(position))
  await expect.poll(() => isInSight(page, message(page, position))).toBe(true)
}

/** Chooses an action of a menu. */
async function choose(page: Page, menu: string, action: string | RegExp): Promise<void> {
  await page.getByLabel(menu, { exact: true }).click()
  await page.locator('.menu-items').getByRole('button', { name: action }).click()
}

describe.skipIf(browser === undefined)('the page', () => {
  beforeAll(async () => {
    demo = newFile()
    await makeDemoStore(demo)
  })
  afterAll(() => browser?.close())

  describe('sessions', () => {
    flow('are filtered by title and by owner', async ({ page, visit }) => {
      await visit('#/')
      const titles = page.locator('.session-title')
      await titles.first().waitFor()
      await page.getByRole('searchbox', { name: 'Filter by title or id' }).fill('porto')
      await expect.poll(() => titles.allInnerTexts()).toEqual(['A trip to Porto'])
      await page.getByRole('searchbox', { name: 'Filter by title or id' }).fill('')
      const owner = page.getByRole('searchbox', { name: 'Owner' })
      await owner.fill('aiko')
      await owner.press('Enter')
      await expect.poll(() => titles.allInnerTexts()).toEqual(['京都への旅'])
    })

    flow('open by keyboard, one after another', async ({ page, visit }) => {
      await visit('#/')
      await page.locator('.session-row.chosen').waitFor()
      for (const key of ['j', 'j', 'j', 'k']) await page.keyboard.press(key)
      await page.keyboard.press('Enter')
      await page.getByRole('heading', { level: 1, name: 'A trip to Porto' }).waitFor()
      await page.keyboard.press('4')
      await page.getByRole('region', { name: 'Runs, newest first' }).waitFor()
      await page.keyboard.press('s')
      await page.getByRole('heading', { level: 1, name: 'Sessions' }).waitFor()
    })

    flow('of an owner open', async ({ page, visit }) => {
      await visit('#/')
      await page.getByRole('link', { name: '京都への旅' }).click()
      await page.getByText('予算は十万円です').waitFor()
    })

    flow('are archived and moved back', async ({ page, visit, served }) => {
      await visit('#/')
      await choose(page, 'Actions for A poem', 'Archive')
      await toast(page, 'Archived.').waitFor()
      await page.getByRole('link', { name: 'A poem' }).waitFor({ state: 'detached' })
      await page.keyboard.press('a')
      await page.getByRole('heading', { level: 1, name: 'Archived sessions' }).waitFor()
      await expect
        .poll(() => page.locator('.session-title').allInnerTexts())
        .toEqual(['A poem', 'Notes of last year'])
      await toast(page, 'Archived.').getByRole('button', { name: 'Undo' }).click()
      await expect
        .poll(async () => (await served.store.forOwner('kim').sessions.get('poem')).archivedAt)
        .toBeUndefined()
    })
  })

  describe('the search', () => {
    flow('jumps to the hit, which is in sight and focused', async ({ page, visit }) => {
      await visit(session('context'))
      await page.getByRole('slider', { name: 'Moment' }).waitFor()
      await page.keyboard.press('/')
      await page.keyboard.type('"one such order today"')
      await page.locator('.hit').first().waitFor()
      await page.keyboard.press('Enter')
      await expectAt(page, HIDDEN_ANSWER)
    })

    flow('covers all sessions, and finds only hidden messages if asked', async ({ page, visit }) => {
      await visit('#/')
      await page.getByRole('button', { name: /^Search/ }).click()
      await page.getByRole('searchbox', { name: 'Search messages' }).fill('hotel')
      await page.locator('.hit', { hasText: 'porto-trip' }).first().waitFor()
      await page.getByRole('checkbox', { name: 'only what the model no longer sees' }).check()
      await expect
        .poll(() => page.locator('.hit').allInnerTexts())
        .toEqual([expect.stringContaining('hidden')])
    })
  })

  describe('the conversation', () => {
    flow('says what hid a row, by whom and why, and leads to the compaction', async ({ page, visit }) => {
      await visit(`${session('conversation')}?message=${HIDDEN_ANSWER}`)
      const row = message(page, HIDDEN_ANSWER)
      await row.getByText('by kim').waitFor()
      await row.getByText('“Before the modules”').waitFor()
      await row.getByRole('link', { name: /^Summarized by run \S+, Nov 26, 08:09 AM, manual$/ }).click()
      await page.getByRole('heading', { name: 'Summarized' }).waitFor()
      await page.getByText('Written by').waitFor()
      await page.getByText('claude-haiku-4-5, demo-writer').waitFor()
    })

    flow('opens a summary to what it replaces, level by level', async ({ page, visit }) => {
      await visit(session('conversation'))
      await page.getByRole('combobox', { name: 'Role' }).selectOption('summary')
      // Three summaries: the second replaces the first, and the newest the second.
      await expect.poll(() => page.getByRole('feed').locator('.is-summary').count()).toBe(3)
      const sources = page.getByRole('article', { name: 'Inserted after message 144' })
      // By keyboard: rows that were never in sight are measured now, and move what is beneath the pointer.
      await sources.getByRole('button', { name: 'What this summary replaces' }).press('Enter')
      await sources.getByText(/tokens in 134 messages/).waitFor()
      await sources.getByRole('button', { name: /3–80/ }).click()
      await sources.getByRole('button', { name: 'What this summary replaces' }).last().click()
      await sources.getByRole('button', { name: /3–35/ }).click()
      await sources.getByRole('button', { name: 'What this summary replaces' }).last().click()
      await sources.getByRole('button', { name: /^▸?\s*15/ }).click()
      await sources.getByRole('link', { name: 'Show message 15 in its place' }).click()
      await expectAt(page, HIDDEN_ANSWER)
    })

    flow(
      'shows what the model sees in place of a cleared output, and the original',
      async ({ page, visit }) => {
        await visit(`${session('conversation')}?message=19`)
        const row = message(page, 19)
        await row.getByText('[Tool result cleared]').waitFor()
        await row.getByText('Applied 2 edits to src/checkout/cart.ts.').waitFor()
        await row.getByText("import { allocate } from '../money/rounding.ts'").first().waitFor()
      },
    )

    flow('shows each version of a message', async ({ page, visit }) => {
      await visit(`${session('conversation')}?message=${FIRST_QUESTION}`)
      await page.getByText('Which modules are left? Answer with a table, please.').waitFor()
      await page.getByText('1 / 2').waitFor()
      await page.getByRole('button', { name: 'Next version' }).first().click()
      await page.getByText('Which modules are left? A list, please.').waitFor()
      expect(await page.getByText('Answer with a table, please.').count()).toBe(0)
    })

    flow('filters what the model sees, by role and by tool', async ({ page, visit, served }) => {
      await visit(session('conversation'))
      await page.getByRole('button', { name: 'What the model sees' }).first().click()
      const rows = (await served.store.getEffectiveHistory(DEMO_SESSION)).length
      await page
        .getByRole('status')
        .filter({ hasText: `${rows} rows` })
        .waitFor()
      await page.getByRole('button', { name: 'Everything' }).click()
      await page.getByRole('combobox', { name: 'Tool' }).fill('apply_patch')
      await page
        .getByRole('status')
        .filter({ hasText: /^[12] rows?$/ })
        .waitFor()
      await page.getByText('src/invoice/README.md').first().waitFor()
    })

    flow('moves by keyboard: next, previous, first, last, next compaction', async ({ page, visit }) => {
      await visit(`${session('conversation')}?message=${HIDDEN_ANSWER}`)
      await expectAt(page, HIDDEN_ANSWER)
      await page.keyboard.press('j')
      await expectAt(page, 16)
      await page.keyboard.press('k')
      await expectAt(page, HIDDEN_ANSWER)
      await page.keyboard.press('G')
      await expectAt(page, LAST_ANSWER)
      await page.keyboard.press('g')
      await expectAt(page, 1)
      await page.keyboard.press('n')
      await expect
        .poll(() => page.evaluate('document.activeElement?.getAttribute("aria-label")'))
        .toMatch(/hidden|Inserted|Hidden/)
    })

    flow('shows stored images, names files, and folds what a client added', async ({ page, visit }) => {
      await visit(`${session('conversation')}?message=10`)
      const row = message(page, 10)
      await row.getByText('invoice-9700.pdf').waitFor()
      await expect
        .poll(() =>
          row
            .locator('img')
            .evaluateAll((all) =>
              all.map((one) => (one as unknown as { naturalWidth: number }).naturalWidth),
            ),
        )
        .toEqual([320, 320])
      await visit(`${session('conversation')}?message=2`)
      await page.getByRole('button', { name: /Added by the client: system reminder/ }).click()
      await page.getByText('Do not mention this reminder.').waitFor()
    })

    flow(
      'is pinned by keyboard, and unpinned by the message that says so',
      async ({ page, visit, served }) => {
        const pinned = async (): Promise<boolean | undefined> =>
          (await served.store.getMessages(DEMO_SESSION, { after: LAST_ANSWER - 1 }))[0]?.pinned
        await visit(`${session('conversation')}?message=${LAST_ANSWER}`)
        await expectAt(page, LAST_ANSWER)
        await page.keyboard.press('p')
        await message(page, LAST_ANSWER).getByText('pinned').waitFor()
        expect(await pinned()).toBe(true)
        await toast(page, 'Pinned 1 message.').getByRole('button', { name: 'Undo' }).click()
        await expect.poll(pinned).not.toBe(true)
      },
    )

    flow('hides a message after a question, and shows it again', async ({ page, visit, served }) => {
      const before = await view(served)
      await visit(session('conversation'))
      await choose(page, `Actions for message ${LAST_ANSWER}`, /^Hide from the model/)
      await dialog(page, 'Hide 1 message from the model?').getByRole('button', { name: 'Cancel' }).click()
      expect(await view(served)).toBe(before)
      await choose(page, `Actions for message ${LAST_ANSWER}`, /^Hide from the model/)
      await dialog(page, 'Hide 1 message from the model?').getByRole('button', { name: 'Hide' }).click()
      await toast(page, 'Hid 1 message.').waitFor()
      await message(page, LAST_ANSWER)
        .getByText(/by inspector/)
        .waitFor()
      expect(await view(served)).not.toContain('Two things:')
      await toast(page, 'Hid 1 message.').getByRole('button', { name: 'Undo' }).click()
      await expect.poll(() => view(served)).toBe(before)
    })

    flow('rewinds to before a message, and takes it back', async ({ page, visit, served }) => {
      const before = await view(served)
      await visit(session('conversation'))
      await choose(page, `Actions for message ${LAST_ANSWER}`, 'Rewind to before this')
      await dialog(page, /^Rewind/)
        .getByRole('button', { name: 'Rewind' })
        .click()
      await toast(page, /^Rewound/)
        .getByRole('button', { name: 'Undo' })
        .click()
      await expect.poll(() => view(served)).toBe(before)
    })

    flow('is forked at a message, and the fork brought back', async ({ page, visit, served }) => {
      await visit(`${session('conversation')}?message=232`)
      await choose(page, 'Actions for message 232', 'Fork from here')
      await page.getByRole('link', { name: 'forked at 232' }).waitFor()
      const fork = (await served.store.sessions.forks(DEMO_SESSION)).at(-1)!
      expect(fork.forkedFrom).toEqual({ sessionId: DEMO_SESSION, position: 232 })
      await served.store.append(fork.id, [
        { role: 'user', content: 'Is the README right?' },
        { role: 'assistant', content: 'It names `share`: I corrected it.' },
      ])
      await choose(page, 'Actions for this session', 'Bring the outcome back')
      await dialog(page, 'Bring the outcome of this fork back?')
        .getByRole('button', { name: 'Bring back' })
        .click()
      await toast(page, 'Appended the outcome').waitFor()
      const [last] = await served.store.getMessages(DEMO_SESSION, { order: 'backward', limit: 1 })
      expect(last?.metadata).toMatchObject({ broughtBack: { fork: fork.id } })
    })

    flow('is renamed, and the name taken back', async ({ page, visit, served }) => {
      await visit(session('conversation'))
      await choose(page, 'Actions for this session', 'Rename')
      await page.getByRole('textbox', { name: 'Title' }).fill('A cent is missing')
      await page.keyboard.press('Enter')
      await page.getByRole('heading', { level: 1, name: 'A cent is missing' }).waitFor()
      await toast(page, 'Renamed.').getByRole('button', { name: 'Undo' }).click()
      await page.getByRole('heading', { level: 1, name: 'Checkout is one cent short' }).waitFor()
      expect((await served.store.sessions.get(DEMO_SESSION)).title).toBe('Checkout is one cent short')
    })
  })

  describe('what the model saw', () => {
    flow(
      'is one click from an answer: the bytes that were sent, beside the log at that moment',
      async ({ page, visit }) => {
        await visit(`${session('conversation')}?message=${LAST_ANSWER}`)
        await message(page, LAST_ANSWER).getByRole('link', { name: 'What the model saw' }).click()
        await page.getByText('matches what was sent').waitFor()
        await page.getByRole('heading', { name: /^Request 119/ }).waitFor()
        await page
          .getByRole('region', { name: 'The log at that moment' })
          .getByText('Primary Request and Intent')
          .waitFor()
        await page.getByText('And thanks. Anything else?').first().waitFor()
        await page.getByRole('link', { name: `Answer ${LAST_ANSWER}` }).click()
        await expectAt(page, LAST_ANSWER)
      },
    )

    flow('of an answer without a recorded request is the view at that moment', async ({ page, visit }) => {
      await visit('#/session/porto-trip/requests?answer=2')
      await page.getByText('Plan the trip to Porto, and keep to 900 euros.').first().waitFor()
      expect(await page.getByText('Add a day at the sea.').count()).toBe(0)
    })

    test.each([
      ['a compaction', AFTER_SUMMARY, 'Compaction'],
      ['another model', OTHER_MODEL, 'Another model'],
      ['another system prompt', OTHER_SYSTEM, 'Another system prompt'],
      ['a pause of an hour', AFTER_LUNCH, 'Expired'],
    ])('says that %s lost the cache, and how much', async (_, answer, cause) => {
      const opened = await openServed(browser!, copyOf(demo))
      await opened.visit(`${session('requests')}?answer=${answer}`)
      const comparison = opened.page.locator('.request-comparison-body')
      await comparison.locator('.badge').filter({ hasText: cause }).waitFor()
      await comparison
        .getByText(
          /^[\d,]+ tokens could have been read from the cache and weren’t, which cost \$0\.\d+ more\.$/,
        )
        .waitFor()
      expectNoProblems(opened)
      await opened.close()
    })

    flow(
      'lists first, in the order of losses, the request that lost most',
      async ({ page, visit, served }) => {
        const { requests } = served.store
        const lost = []
        for (const { id } of await requests.list(DEMO_SESSION, { limit: 1_000 })) {
          const found = await requests.compare(DEMO_SESSION, id)
          lost.push(found.before === undefined ? 0 : (found.lost?.tokens ?? 0))
        }
        const most = lost.indexOf(Math.max(...lost)) + 1
        await visit(session('requests'))
        await page.getByRole('combobox', { name: 'Order' }).selectOption('largest cache loss')
        await page.locator('.request-item').first().getByText(`#${most}`, { exact: true }).waitFor()
      },
    )

    flow('shows the first change: the message and the character', async ({ page, visit }) => {
      await visit(`${session('requests')}?answer=${AFTER_SUMMARY}`)
      const change = page.locator('.request-first-change')
      await change.getByText(/First change: in/).waitFor()
      await change.getByRole('button', { name: /^message \d+$/ }).click()
      await expect.poll(() => isInSight(page, page.locator('.sent-changed').first())).toBe(true)
    })

    flow('is copied as JSON', async ({ page, visit }) => {
      await visit(`${session('requests')}?answer=${LAST_ANSWER}`)
      await page.getByText('matches what was sent').waitFor()
      await page.getByRole('button', { name: 'Copy as JSON' }).click()
      await toast(page, 'Copied the request as JSON.').waitFor()
      const copied = JSON.parse(String(await page.evaluate('navigator.clipboard.readText()')))
      expect(copied).toMatchObject({ model: 'claude-sonnet-4-5', matches: true })
    })

    flow('is stepped through by keyboard', async ({ page, visit }) => {
      await visit(session('requests'))
      await page.getByRole('heading', { name: /^Request 119/ }).waitFor()
      await page.keyboard.press('[')
      await page.getByRole('heading', { name: /^Request 118/ }).waitFor()
      await page.keyboard.press(']')
      await page.getByRole('heading', { name: /^Request 119/ }).waitFor()
    })
  })

  describe('the context over time', () => {
    flow('is scrubbed to a moment, with the view there', async ({ page, visit }) => {
      await visit(session('context'))
      const slider = page.getByRole('slider', { name: 'Moment' })
      await slider.focus()
      await page.keyboard.press('Home')
      await page.getByRole('heading', { name: 'Before answer 3' }).waitFor()
      await page.keyboard.press('ArrowRight')
      await page.getByRole('heading', { name: 'Before answer 5' }).waitFor()
      const there = page.getByRole('region', { name: /view there/ })
      await there.getByText('Where is the discount rounded?').waitFor()
      await expect.poll(() => page.url()).toContain('position=5')
    })

    flow(
      'differs between two moments: what appeared and what disappeared, and by which compaction',
      async ({ page, visit }) => {
        await visit(`${session('context')}?position=41`)
        await page.getByRole('heading', { name: 'Before answer 41' }).waitFor()
        await page.keyboard.press('c')
        await page.keyboard.press('j')
        const difference = page.getByRole('region', { name: 'The difference' })
        await difference.getByRole('heading', { name: 'Before answer 41 → before answer 43' }).waitFor()
        await difference.getByRole('heading', { name: 'Compactions responsible' }).waitFor()
        await difference.getByRole('link', { name: 'Summarized' }).first().waitFor()
        await difference.getByRole('img', { name: 'Disappeared' }).first().waitFor()
      },
    )

    flow('has images as another measure, and a time axis', async ({ page, visit }) => {
      await visit(session('context'))
      await page.getByText('Images', { exact: true }).click()
      await page.getByRole('img', { name: /^Images: / }).waitFor()
      await page.getByText('By time').click()
      await settled(page)
    })
  })

  describe('compactions', () => {
    flow('are previewed with settings, applied, undone and redone', async ({ page, visit, served }) => {
      const before = await view(served)
      await visit(session('compactions'))
      await page.getByRole('button', { name: 'Preview a compaction' }).click()
      const planner = page.getByRole('region', { name: 'Preview a compaction' })
      await planner.getByText('Tokens of the history').waitFor()
      await planner.getByRole('slider').fill('10')
      await planner.getByRole('checkbox', { name: /^prune/i }).uncheck()
      await planner.getByRole('textbox', { name: 'Reason' }).fill('Tried in a test')
      await planner.getByText('The summary by extractive').first().waitFor()
      expect(await view(served)).toBe(before)
      await expect.poll(() => planner.getByRole('button', { name: 'Apply…' }).isEnabled()).toBe(true)
      await planner.getByRole('button', { name: 'Apply…' }).click()
      await dialog(page, 'Compact this session?').getByRole('button', { name: 'Compact' }).click()
      await toast(page, /^Compacted: /).waitFor()
      const after = await view(served)
      expect(after).not.toBe(before)
      const newest = (await served.store.listCompactions(DEMO_SESSION)).at(-1)
      expect(newest).toMatchObject({ actor: 'inspector', reason: 'Tried in a test', status: 'active' })
      await toast(page, /^Compacted: /)
        .getByRole('button', { name: 'Undo' })
        .click()
      await expect.poll(() => view(served)).toBe(before)
      await toast(page, /^Undid /)
        .getByRole('button', { name: 'Redo' })
        .click()
      await expect.poll(() => view(served)).toBe(after)
    })

    flow(
      'are undone with those that build on them, after a question that lists them; redo restores all',
      async ({ page, visit, served }) => {
        const before = await view(served)
        const first = (await served.store.listCompactions(DEMO_SESSION)).find(
          ({ kind, status }) => kind === 'condense' && status === 'active',
        )!
        await visit(`${session('compactions')}?compaction=${first.id}`)
        await page.getByRole('button', { name: /^Undo with \d+ later$/ }).click()
        const question = dialog(page, /^Undo \d+ compactions\?$/)
        await question.getByText('Redo restores all of them.').waitFor()
        await question.getByRole('button', { name: 'Undo all' }).click()
        await toast(page, /^Undid \d+ compactions/).waitFor()
        expect(await view(served)).not.toBe(before)
        await toast(page, /^Undid /)
          .getByRole('button', { name: 'Redo' })
          .click()
        await expect.poll(() => view(served)).toBe(before)
      },
    )

    flow('are undone and redone by keyboard', async ({ page, visit, served }) => {
      const before = await view(served)
      await visit(session('compactions'))
      await page.getByRole('button', { name: 'Undo', exact: true }).waitFor()
      await page.keyboard.press('u')
      await toast(page, /^Undid 1 compaction/).waitFor()
      await page.locator('.detail').getByRole('button', { name: 'Redo', exact: true }).waitFor()
      expect(await view(served)).not.toBe(before)
      await page.keyboard.press('u')
      await toast(page, /^Redid 1 compaction/).waitFor()
      expect(await view(served)).toBe(before)
    })

    flow(
      'show the summary beside its sources, who, why, tokens and cost; failures are listed',
      async ({ page, visit, served }) => {
        const listed = await served.store.listCompactions(DEMO_SESSION)
        const first = listed.find(({ reason }) => reason === 'Before the modules')!
        await visit(`${session('compactions')}?compaction=${first.id}`)
        const detail = page.getByRole('article', { name: /^Compaction: / })
        await detail
          .getByRole('region', { name: 'The summary' })
          .getByText('largest remainder')
          .first()
          .waitFor()
        await detail
          .getByRole('region', { name: 'The sources of the summary' })
          .getByText('edit')
          .first()
          .waitFor()
        await detail.getByText('$0.012').waitFor()
        await detail.getByText('Before the modules').waitFor()
        const failed = listed.find(({ status }) => status === 'failed')!
        await visit(`${session('compactions')}?compaction=${failed.id}`)
        await detail.getByText('failed').first().waitFor()
      },
    )
  })

  describe('costs', () => {
    flow('are by model and day, with what compaction saved', async ({ page, visit }) => {
      await visit(session('costs'))
      const table = page.getByRole('region', { name: 'Table by model' }).last()
      await table.getByText('gpt-5-mini').waitFor()
      await table.getByText('claude-sonnet-4-5').first().waitFor()
      await page.getByRole('region', { name: 'By day' }).waitFor()
      await page.getByRole('region', { name: 'Compaction', exact: true }).waitFor()
      await visit('#/costs')
      await page.getByText('gpt-5-mini').first().waitFor()
    })
  })

  describe('live', () => {
    flow('shows what another process appends', async ({ page, visit, served }) => {
      await visit(session('conversation'))
      await message(page, LAST_ANSWER).waitFor()
      const program = `
        import { openStore } from ${JSON.stringify(new URL('../../src/index.ts', import.meta.url).href)}
        const store = await openStore(process.argv[1], { env: false })
        await store.append(${JSON.stringify(DEMO_SESSION)}, [{ role: 'user', content: 'Hello from another process.' }])
        console.log(Date.now())
        await store.close()`
      const added = page.getByText('Hello from another process.')
      const [{ stdout }, seen] = await Promise.all([
        promisify(execFile)(process.execPath, [
          '--import',
          'tsx',
          '--input-type=module',
          '-e',
          program,
          served.path,
        ]),
        added.waitFor({ timeout: 30_000 }).then(() => Date.now()),
      ])
      console.log(`The page showed a message of another process after ${seen - Number(stdout)} ms.`)
    })

    flow('shows in one tab what another one changes', async ({ page, visit, served }) => {
      const other = await openPage(browser!, served.url)
      await other.visit(session('compactions'))
      await visit(session('compactions'))
      await page.getByRole('button', { name: 'Undo', exact: true }).waitFor()
      await other.page.getByRole('button', { name: 'Undo', exact: true }).click()
      await page.getByRole('button', { name: 'Redo', exact: true }).first().waitFor()
      await page.getByRole('button', { name: 'Redo', exact: true }).first().click()
      await other.page.getByRole('button', { name: 'Undo', exact: true }).waitFor()
      expectNoProblems(other)
      await other.close()
    })

    flow('says that the server has stopped, and goes on when it is back', async ({ page, visit, served }) => {
      await visit(session('conversation'))
      await message(page, LAST_ANSWER).waitFor()
      await served.stop()
      await page.getByText('not connected').waitFor()
      await served.store.append(DEMO_SESSION, [{ role: 'user', content: 'Written in the meantime.' }])
      await served.start()
      await page.getByText('not connected').waitFor({ state: 'detached' })
      await page.getByText('Written in the meantime.').waitFor()
    })
  })

  describe('exports and links', () => {
    test.each([
      ['HTML', /\.html$/, '<!DOCTYPE html>'],
      ['Markdown', /\.md$/, 'Checkout is one cent short'],
      ['JSON', /\.json$/, '{'],
    ])('a session is downloaded as %s', async (format, name, beginning) => {
      const opened = await openServed(browser!, copyOf(demo), { page: READS_AND_SAVES })
      const { page } = opened
      await opened.visit(session('conversation'))
      await choose(page, 'Actions for this session', 'Export')
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        dialog(page, 'Export').getByRole('button', { name: format, exact: true }).click(),
      ])
      expect(download.suggestedFilename()).toMatch(name)
      const text = readFileSync(await download.path(), 'utf8')
      expect(text.slice(0, 200)).toContain(beginning)
      expect(text).toContain('Two things:')
      expectNoProblems(opened)
      await opened.close()
    })

    flow('a copied link to a message opens at it, fresh', async ({ page, visit, served }) => {
      await visit(`${session('conversation')}?message=${HIDDEN_ANSWER}`)
      await expectAt(page, HIDDEN_ANSWER)
      await choose(page, `Actions for message ${HIDDEN_ANSWER}`, 'Copy link')
      await toast(page, 'Copied the link.').waitFor()
      const link = String(await page.evaluate('navigator.clipboard.readText()'))
      const fresh = await openPage(browser!, served.url)
      await fresh.page.goto(link)
      await expectAt(fresh.page, HIDDEN_ANSWER)
      expectNoProblems(fresh)
      await fresh.close()
    })

    flow('links to a request and a moment open what they name', async ({ page, visit, served }) => {
      const [first] = await served.store.requests.list(DEMO_SESSION, { limit: 1 })
      await visit(`${session('requests')}?request=${encodeURIComponent(first!.id)}`)
      await page.getByRole('heading', { name: /^Request 1\b/ }).waitFor()
      await visit(`${session('context')}?position=43`)
      await page.getByRole('heading', { name: 'Before answer 43' }).waitFor()
    })
  })

  flow(
    'shows no action that changes anything if it only reads',
    async ({ page, visit, served }) => {
      const changing =
        /^(undo|redo|pin|unpin|hide|fork|rename|archive|rewind|apply|preview a compaction|bring|move back|continue)/i
      const before = await view(served)
      await visit('#/')
      await page.getByText('read-only').waitFor()
      expect(await page.getByLabel(/^Actions for /).count()).toBe(0)
      for (const hash of [
        `${session('conversation')}?message=${HIDDEN_ANSWER}`,
        `${session('conversation')}?message=${FIRST_QUESTION}`,
        session('conversation'),
        session('requests'),
        session('context'),
        session('compactions'),
        session('costs'),
      ]) {
        await visit(hash)
        await settled(page)
        await page.evaluate('for (const one of document.querySelectorAll("details.menu")) one.open = true')
        const names = await page.getByRole('button').allInnerTexts()
        expect(names.filter((name) => changing.test(name.trim()))).toEqual([])
        for (const key of ['p', 'h', 'u', 'n']) await page.keyboard.press(key)
        expect(await page.getByRole('dialog').count()).toBe(0)
      }
      expect(await view(served)).toBe(before)
    },
    { readonly: true },
  )
})
