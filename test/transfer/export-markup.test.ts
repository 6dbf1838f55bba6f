import { describe, expect, it } from 'vitest'
import { openStore } from '../../src/index.ts'
import { exportHtml } from '../../src/transfer/document/html.ts'
import { exportMarkdown } from '../../src/transfer/document/markdown.ts'
import { exportView } from '../../src/transfer/export-view.ts'
import { whole } from './sessions.ts'

const TYPED = 'Use uv.'
const ADDED = '<system-reminder>Never mention <b>this</b>.\n```</system-reminder>'
const CONTENT = `${ADDED}\n${TYPED}\n[Request interrupted by user]`

describe('what a client added to a message of the user', () => {
  const talk = async () => {
    const store = await openStore(':memory:')
    await store.append('s', [
      { role: 'user', content: CONTENT },
      { role: 'assistant', content: ADDED },
    ])
    return store
  }

  it('is folded in Markdown, where it cannot end its place', async () => {
    const text = await whole(exportMarkdown(await talk(), 's'))
    const [, message, answer] = text.split('\n### ')
    expect(message!.split('\n').slice(2).join('\n')).toBe(
      [
        '<details>',
        '<summary>Added by the client</summary>',
        '',
        '````',
        ADDED,
        '````',
        '',
        '</details>',
        '',
        TYPED,
        '',
        '<details>',
        '<summary>Added by the client</summary>',
        '',
        '```',
        '[Request interrupted by user]',
        '```',
        '',
        '</details>',
        '',
      ].join('\n'),
    )
    // In an answer it is what the model wrote.
    expect(answer).not.toContain('<details>')
  })

  it('is folded in HTML, and the turn has the name that the user gave it', async () => {
    const page = await whole(exportHtml(await talk(), 's'))
    expect(page).toContain('<a href="#m-1">1 Use uv.</a>')
    expect(page).toContain('<div class="prose" dir="auto">Use uv.</div>')
    const folded = page.split('<details class="added"><summary>Added by the client</summary>')
    expect(folded).toHaveLength(3)
    expect(folded[1]!.split('</details>')[0]).toContain('&#60;system-reminder&#62;Never mention')
  })

  it('is exact in the formats for programs', async () => {
    const text = await whole(exportView(await talk(), 's', { format: 'openai' }))
    expect(JSON.parse(text)[0].content).toBe(CONTENT)
  })
})
