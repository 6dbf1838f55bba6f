import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { openStore } from '../../src/index.ts'
import { exportHtml } from '../../src/transfer/document/html.ts'
import { hidesSomething, hostileText } from './hostile.ts'
import { EVERY_PART, PNG, storeWith, whole } from './sessions.ts'
import { type Element, elementsOf, outlineOf, readStrictly, textOf } from './strict-html.ts'

const byId = (page: Element, id: string): Element =>
  ['article', 'li', 'main', 'h2', 'h3', 'input']
    .flatMap((name) => elementsOf(page, name))
    .find((element) => element.attributes.get('id') === id)!

describe('the page of a session', () => {
  it('shows every part once, in order', async () => {
    const store = await storeWith(EVERY_PART)
    const page = readStrictly(await whole(exportHtml(store, 's')))
    const rows = elementsOf(page, 'article')
    expect(rows.map((row) => row.attributes.get('class'))).toEqual([
      'row system',
      'row user',
      'row assistant',
      'row tool',
      'row assistant',
      'row user',
    ])
    expect(
      textOf(rows[1]!)
        .split('\n')
        .filter((line) => line !== ''),
    ).toEqual([
      '2 · user2025-03-01 10:00:01 UTC',
      'Look:',
      'image https://example.org/a.png',
      'file a.pdf (application/pdf, 8 bytes)',
      'file <b>.svg (image/svg+xml, 17 bytes)',
    ])
    expect(elementsOf(rows[1]!, 'img').map((image) => image.attributes.get('src'))).toEqual([
      `data:image/png;base64,${PNG.toString('base64')}`,
    ])
    expect(elementsOf(rows[2]!, 'pre').map(textOf)).toEqual([
      '{\n  "path": "a.ts",\n  "lines": [\n    1,\n    2\n  ]\n}',
      '{}',
      '{\n  "type": "odd"\n}',
    ])
    expect(elementsOf(rows[2]!, 'summary').map(textOf)).toEqual([
      'Reasoning',
      'A part that only anthropic reads',
    ])
    expect(elementsOf(rows[3]!, 'p').map(textOf)).toEqual(['Result of read c1 failed', 'Result of shot c2'])
    expect(elementsOf(rows[3]!, 'img')).toHaveLength(1)
    const turns = elementsOf(page, 'nav').flatMap((nav) => elementsOf(nav, 'a'))
    expect(turns.map((turn) => [turn.attributes.get('href'), textOf(turn)])).toEqual([
      ['#m-2', '2 Look:'],
      ['#m-6', '6 Thanks.'],
    ])
    await store.close()
  })

  it('shows what hides a row, what a summary replaces, and what became of both', async () => {
    const store = await storeWith(EVERY_PART)
    await store.compactSession('s', {
      range: { from: 2, to: 4 },
      summary: 'Looked.',
      actor: 'ada',
      reason: 'room',
    })
    const [last] = await store.getMessages('s', { after: 5 })
    await store.compactions.hide('s', [last!.id])
    const [, manual] = await store.listCompactions('s')
    await store.undoCompaction('s', manual!.id, { actor: 'bob' })
    await store.messages.pin('s', [last!.id])

    const page = readStrictly(await whole(exportHtml(store, 's')))
    const hidden = byId(page, 'm-3')
    expect(hidden.attributes.get('class')).toBe('row assistant hidden')
    expect(textOf(hidden)).toContain('Hidden, a summary replaces it: compaction 1 (condense, in force)')
    expect(elementsOf(hidden, 'a').map((a) => a.attributes.get('href'))).toEqual(['#m-3', '#c-1'])
    const summary = byId(page, 'r-1')
    expect(textOf(summary)).toContain('Summary of positions 2–4')
    expect(elementsOf(summary, 'a').map((a) => a.attributes.get('href'))).toEqual(['#r-1', '#c-1', '#m-2'])
    const made = textOf(byId(page, 'c-1'))
    for (const said of ['1 condense in force', 'ada', 'room', 'positions 2–4']) expect(made).toContain(said)
    const undone = byId(page, 'c-2')
    expect(undone.attributes.get('class')).toBe('past')
    expect(textOf(undone)).toMatch(/2 manual undone[\s\S]*Undone.* UTC bob/)
    expect(byId(page, 'm-6').attributes.get('class')).toBe('row user')
    expect(textOf(byId(page, 'm-6'))).toContain('pinned')

    const ids = ['article', 'li', 'h2', 'h3', 'main']
      .flatMap((name) => elementsOf(page, name))
      .flatMap((one) => one.attributes.get('id') ?? [])
    expect(new Set(ids).size).toBe(ids.length)
    for (const link of elementsOf(page, 'a').map((a) => a.attributes.get('href')!))
      if (link.startsWith('#')) expect(ids).toContain(link.slice(1))

    const without = readStrictly(await whole(exportHtml(store, 's', { hidden: 'omit' })))
    expect(elementsOf(without, 'article').map((row) => row.attributes.get('id'))).toEqual([
      'm-1',
      'r-1',
      'm-5',
      'm-6',
    ])
    expect(elementsOf(without, 'main').map(textOf).join()).toContain('3 messages hidden here')
    for (const link of elementsOf(without, 'a').map((a) => a.attributes.get('href')!))
      if (link.startsWith('#m')) expect(link).toMatch(/^#m-[156]$/)
    await store.close()
  })

  it('shows the text in place of an output, and the output', async () => {
    const store = await storeWith([
      { role: 'user', content: 'Go.' },
      { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'c1', toolName: 'ls', input: {} }] },
      {
        role: 'tool',
        content: [
          {
            type: 'tool-result',
            toolCallId: 'c1',
            toolName: 'ls',
            output: { type: 'text', value: 'a'.repeat(900) },
          },
        ],
      },
      { role: 'assistant', content: 'Done.' },
      { role: 'user', content: 'And?' },
    ])
    await store.compactSession('s', { stages: [{ stage: 'clear_tool_results', keep: 0 }], targetTokens: 1 })
    const row = byId(readStrictly(await whole(exportHtml(store, 's'))), 'm-3')
    expect(textOf(row)).toMatch(
      /Result of ls c1 shown differently by compaction 1 \(prune, in force\), in place of 900 characters/,
    )
    expect(elementsOf(row, 'details').map((fold) => fold.attributes.get('class'))).toEqual(['original'])
    expect(textOf(row)).toContain('a'.repeat(900))
    const short = byId(readStrictly(await whole(exportHtml(store, 's', { hidden: 'omit' }))), 'm-3')
    expect(textOf(short)).not.toContain('aaa')
    await store.close()
  })

  it('lets nothing run or load but its own style and script', async () => {
    const store = await storeWith(EVERY_PART)
    const text = await whole(exportHtml(store, 's'))
    const page = readStrictly(text)
    const hash = (element: Element): string =>
      `'sha256-${createHash('sha256').update(element.children.join(''), 'utf8').digest('base64')}'`
    const [style] = elementsOf(page, 'style')
    const [script, ...others] = elementsOf(page, 'script')
    expect(others).toEqual([])
    const [, policy] = elementsOf(page, 'meta')
    expect(policy!.attributes.get('content')).toBe(
      `default-src 'none'; style-src ${hash(style!)}; script-src ${hash(script!)}; img-src data:; base-uri 'none'; form-action 'none'`,
    )
    expect(text).not.toMatch(/\sstyle=|\son[a-z]+=|<link|@import|url\(/)
    await store.close()
  })

  it('gives the same bytes for the same session', async () => {
    const store = await storeWith(EVERY_PART)
    await store.compactSession('s', { range: { from: 2, to: 4 }, summary: 'Looked.' })
    expect(await whole(exportHtml(store, 's'))).toBe(await whole(exportHtml(store, 's')))
    expect(await whole(exportHtml(store, 's', { exportedAt: 0 }))).toContain('1970-01-01 00:00:00 UTC')
    await store.close()
  })

  it('cuts outputs on request, and reports it', async () => {
    const store = await storeWith([
      {
        role: 'tool',
        content: [{ type: 'tool-result', toolCallId: 'c', output: { type: 'text', value: 'abcdefgh' } }],
      },
    ])
    const [row] = elementsOf(readStrictly(await whole(exportHtml(store, 's', { cutOutputs: 3 }))), 'article')
    expect(elementsOf(row!, 'pre').map(textOf)).toEqual(['abc'])
    expect(textOf(row!)).toContain('5 more characters are in the store and not in this document')
    await store.close()
  })

  it('reports that the session was changed while it was written', async () => {
    const store = await storeWith(EVERY_PART)
    const pieces = exportHtml(store, 's')
    let text = (await pieces.next()).value as string
    await store.append('s', [{ role: 'assistant', content: 'too late' }])
    text += await whole(pieces)
    expect(text).toContain('The session was changed while this page was written')
    expect(text).not.toContain('too late')
    await store.close()
  })

  it('refuses what is no session and no option', async () => {
    const store = await openStore(':memory:')
    await expect(whole(exportHtml(store, 'none'))).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' })
    await expect(whole(exportHtml(store, 'none', { colour: 1 } as never))).rejects.toMatchObject({
      code: 'INVALID_INPUT',
    })
    await store.sessions.create({ id: 'empty' })
    expect(elementsOf(readStrictly(await whole(exportHtml(store, 'empty'))), 'article')).toEqual([])
    await store.close()
  })
})

/** What is made of words: these elements and no others. */
const OF_WORDS: { readonly [name: string]: readonly string[] } = {
  div: ['class', 'dir'],
  pre: ['tabindex'],
  code: [],
  strong: [],
  a: ['href', 'rel'],
}

it('keeps any text in its place', async () => {
  const store = await openStore(':memory:')
  const pageOf = async (id: string, text: string): Promise<Element> => {
    // A title that is longer than the heading is a fact of its own.
    const title = `t${text}`.replace(/[\0\ud800-\udfff]/g, '').slice(0, 80)
    await store.sessions.create({ id, title, model: 'm' })
    await store.append(id, [
      { role: 'user', content: `x${text}`, createdAt: 0 },
      {
        role: 'assistant',
        content: [
          { type: 'reasoning', text: `x${text}` },
          { type: 'tool-call', toolCallId: text, toolName: text, input: { [text]: text } },
          { type: 'file', data: '', mediaType: `x/${text}`, filename: text },
          { type: 'provider', provider: text, data: text },
        ],
        createdAt: 0,
      },
      {
        role: 'tool',
        content: [
          { type: 'tool-result', toolCallId: text, output: { type: 'text', value: text.slice(0, 40) } },
        ],
        createdAt: 0,
      },
      { role: 'assistant', content: `x${text}`, createdAt: 0 },
    ])
    const html = await whole(exportHtml(store, id))
    expect(hidesSomething(html)).toBe(false)
    return readStrictly(html)
  }
  /** What depends on what is said: words and outputs, and how large they are. */
  const isVarying = ({ name, attributes }: Element): boolean =>
    name === 'article' || name === 'svg' || attributes.get('class') === 'legend'
  const plain = outlineOf(await pageOf('plain', 'word'), isVarying)
  let count = 0
  await fc.assert(
    fc.asyncProperty(hostileText, async (text) => {
      count++
      const page = await pageOf(`s${count}`, text)
      expect(outlineOf(page, isVarying)).toEqual(plain)
      const [user, assistant, tool, last] = elementsOf(page, 'article')
      for (const row of [user!, last!])
        for (const child of row.children.slice(2)) if (typeof child !== 'string') expectWords(child)
      expect(elementsOf(assistant!, 'details').map((fold) => fold.attributes.get('class'))).toEqual([
        'reasoning',
        'provider',
      ])
      expect(elementsOf(tool!, 'pre')).toHaveLength(1)
    }),
    { numRuns: 150 },
  )
  await store.close()
})

function expectWords(element: Element): void {
  const allowed = OF_WORDS[element.name]
  expect(allowed, element.name).toBeDefined()
  expect([...element.attributes.keys()].filter((name) => !allowed!.includes(name))).toEqual([])
  const address = element.attributes.get('href')
  if (address !== undefined) expect(address).toMatch(/^https?:\/\//i)
  for (const child of element.children) if (typeof child !== 'string') expectWords(child)
}
