import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newFile } from '../support/temporary.ts'
import { copyOf, expectNoProblems, openServed, startBrowser } from './browser.ts'
import { makeDemoStore } from './demo-store.ts'

/* Questions of a new user, from the list of sessions on. Each is answered after at most four clicks; typing isn't a click. */

const browser = await startBrowser('the questions of a new user of the inspector’s page')

const MOST_CLICKS = 4

type Role = 'link' | 'button'
type Click =
  | readonly [role: Role, name: string | RegExp]
  | readonly [css: string]
  | readonly [role: 'type', text: string]

const OPEN: Click = ['link', 'Checkout is one cent short']
const tab = (name: string): Click => ['link', name]

const QUESTIONS: readonly (readonly [
  question: string,
  clicks: readonly Click[],
  answer: (page: Page) => Promise<void>,
])[] = [
  [
    'Which compaction hid this message, and who asked for it?',
    [OPEN, ['button', 'Only hidden'], ['[data-key] .hidden-by a, .run-why a']],
    (page) =>
      page
        .getByRole('article', { name: /^Compaction: / })
        .getByText('Started')
        .waitFor(),
  ],
  [
    'What did it cost?',
    [OPEN, tab('Compactions'), ['.run:has-text("Before the modules") .run-compaction']],
    (page) => page.locator('.detail-facts').getByText('$0.012').waitFor(),
  ],
  [
    'What did the model see when it wrote this?',
    [OPEN, ['.conversation [data-key="238"] .saw-link']],
    (page) => page.getByText('matches what was sent').waitFor(),
  ],
  [
    'Undo it!',
    [OPEN, tab('Compactions'), ['button', 'Undo']],
    (page) =>
      page
        .locator('.toast')
        .getByText(/^Undid 1 compaction/)
        .waitFor(),
  ],
  [
    'Why was the cache lost, and what did that cost?',
    [OPEN, tab('Requests'), ['.request-link:has-text("cache −")']],
    (page) =>
      page
        .locator('.request-comparison-body')
        .getByText(
          /^[\d,]+ tokens could have been read from the cache and weren’t, which cost \$0\.\d+ more\.$/,
        )
        .waitFor(),
  ],
  [
    'What fills the context?',
    [OPEN, ['.context-bar summary']],
    (page) => page.locator('.context-bar').getByText('Tool results').waitFor(),
  ],
  [
    'What did this session cost, and with which model?',
    [OPEN, tab('Costs')],
    (page) => page.getByRole('region', { name: 'Table by model' }).last().getByText('gpt-5-mini').waitFor(),
  ],
  [
    'What would a compaction do now?',
    [OPEN, tab('Compactions'), ['button', 'Preview a compaction']],
    (page) => page.getByRole('region', { name: 'Preview a compaction' }).getByText('Rows hidden').waitFor(),
  ],
  [
    'What does this summary replace?',
    [OPEN, tab('Compactions')],
    (page) =>
      page
        .getByRole('region', { name: 'The sources of the summary' })
        .getByText('Summary of messages 3 to 80')
        .waitFor(),
  ],
  [
    'How full was the context an hour ago, and what was in it?',
    [OPEN, tab('Context'), ['.timeline svg']],
    (page) => page.getByRole('heading', { name: /^Before answer \d+$/ }).waitFor(),
  ],
  [
    'Where did I read about the log?',
    [['button', /^Search/], ['type', '"one such order today"'], ['.hit']],
    (page) => page.locator('[data-key="15"]').getByText('The log has one such order today').waitFor(),
  ],
  [
    'Which sessions were forked from this one?',
    [OPEN, ['.session-facts .menu summary']],
    (page) => page.locator('.menu-items').getByRole('button', { name: 'The same in Rust' }).waitFor(),
  ],
]

describe.skipIf(browser === undefined)('questions', () => {
  let demo: string
  beforeAll(async () => {
    demo = newFile()
    await makeDemoStore(demo)
  })
  afterAll(() => browser?.close())

  test('are at least ten', () => {
    expect(QUESTIONS.length).toBeGreaterThanOrEqual(10)
  })

  test.each(QUESTIONS)('%s', async (_, clicks, answer) => {
    const opened = await openServed(browser!, copyOf(demo))
    const { page } = opened
    await opened.visit('#/')
    let count = 0
    for (const [what, name] of clicks) {
      if (what === 'type') {
        await page.keyboard.type(String(name))
        continue
      }
      count += 1
      const target =
        name === undefined ? page.locator(what) : page.getByRole(what as Role, { name, exact: true })
      await target.first().click()
    }
    expect(count).toBeLessThanOrEqual(MOST_CLICKS)
    await answer(page)
    expectNoProblems(opened)
    await opened.close()
  })
})
