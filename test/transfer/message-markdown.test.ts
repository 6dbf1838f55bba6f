import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { messageHtml } from '../../src/transfer/document/html.ts'
import { messageMarkdown } from '../../src/transfer/document/markdown.ts'
import { hidesSomething, hostileText } from './hostile.ts'

const lines = (...given: readonly string[]): string => given.join('\n')

describe('the Markdown of a message', () => {
  it.each([
    ['words, emphasis and links to the web', 'A *b* **c** [d](https://example.org/x) [e](#f)'],
    ['lists', lines('- a', '  - b', '1. c')],
    ['code in a line', 'call `f(a)` and ``a ` b``'],
    ['tables', lines('| a | b |', '|---|---|', '| 1 | 2 |')],
    ['code', lines('Look:', '```ts', 'const a: Array<string> = []', '# no heading', '```', 'done')],
    ['code in a list', lines('1. a', '   ```html', '   <b>', '   ```', '2. c')],
    ['quotes', lines('> a', '> b')],
    ['a rule behind a blank line', lines('a', '', '---', '', 'b')],
  ])('keeps %s', (_, text) => {
    expect(messageMarkdown(text)).toBe(text)
  })

  it.each([
    ['raw HTML', 'a <script>x</script>', 'a &lt;script>x&lt;/script>'],
    ['HTML in code in a line', 'an `Array<string>`', 'an <code>Array&lt;string&gt;</code>'],
    ['headings', lines('# a', '### b', '###### c'), lines('#### a', '###### b', '###### c')],
    ['headings in quotes and lists', lines('> # a', '', '- ## b'), lines('> #### a', '', '- ##### b')],
    ['underlined headings', lines('a', '===', '', 'b', '---'), lines('a', '\\===', '', 'b', '\\---')],
    ['code that is never closed', lines('```', 'a'), lines('```', 'a', '```')],
    ['code with a longer fence within', lines('~~~', '```', '~~~'), lines('````', '```', '````')],
    [
      'code that leaves its list',
      lines('1. a', '   ```', '<b>', 'c'),
      lines('1. a', '   ```', '   <b>', '   c', '   ```'),
    ],
    ['code on the line of its item', lines('- ```', '  a', '  ```'), lines('-', '  ```', '  a', '  ```')],
    [
      'code in a quote that is left',
      lines('> ```', '> <b>', '<b>'),
      lines('> ```', '> <b>', '> ```', '&lt;b>'),
    ],
    [
      'code by indentation',
      lines('a', '', '    <b>', '', '    c', 'd'),
      lines('a', '', '```', '<b>', '', 'c', '```', 'd'),
    ],
    ['attributes and raw code of a fence', lines('```{=html}', '<b>', '```'), lines('```html', '<b>', '```')],
    ['what becomes a fence when code behind it does not stay', '```a`<b>`', '\\```a<code>&lt;b&gt;</code>'],
    [
      'the sign of an item that would underline a heading',
      lines('a', '- ~~~'),
      lines('a', '', '-', '  ```', '  ```'),
    ],
    ['a fence in a quote in a list', '- > ```', '- > \\```'],
    ['links to scripts', '[a](javascript:x)', '[a]&#40;javascript:x)'],
    [
      'links that are spelled otherwise',
      '[a](java&#115;cript:x) [b](\\/x)',
      '[a]&#40;java&#115;cript:x) [b]&#40;\\/x)',
    ],
    ['pictures', '![a](https://example.org/p.png)', '&#33;[a](https://example.org/p.png)'],
    ['definitions of links', '[a]: https://example.org', '[a]&#58; https://example.org'],
    ['what cannot be seen', 'a\u202eb\u001b[2Jc\0', 'a⟨U+202E⟩b␛[2Jc␀'],
    ['a return that would be a line', 'a\r# b\r\nc', lines('a␍# b', 'c')],
  ])('makes %s harmless', (_, text, kept) => {
    expect(messageMarkdown(text)).toBe(kept)
  })

  it('shows invisible characters, also where no character is assigned yet', () => {
    expect(messageMarkdown('a\u{e0000}b\u3164c\u2764\ufe0f')).toBe('a⟨U+E0000⟩b⟨U+3164⟩c\u2764\ufe0f')
  })

  it('stays in its place, whatever its content', () => {
    fc.assert(
      fc.property(hostileText, (text) => {
        const kept = messageMarkdown(text)
        expect(hidesSomething(kept)).toBe(false)
        const { words, isClosed } = outsideOfCode(kept)
        expect(isClosed).toBe(true)
        for (const [index, line] of words.entries()) {
          expect(line.replaceAll(/<\/?code>/g, '')).not.toMatch(/<|!\[|\]:|\]\(\s*(?:javascript|data)/i)
          expect(line).not.toMatch(/^[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+[ \t>]*)*#{1,3}(?:[ \t]|$)/)
          const isUnderline = /^ {0,3}(?:=+|-+)[ \t]*$/.test(line)
          // Behind a quote it underlines nothing: it would have to stand in the quote itself. Source: CommonMark 0.31, section 4.3.
          if (isUnderline) expect(words[index - 1] ?? '').toMatch(/^[ \t]*$|^ {0,3}>/)
        }
      }),
      { numRuns: 2_000 },
    )
  })

  it.each([
    ['lines of code', `\`\`\`\n${'a\n'.repeat(300_000)}`],
    ['fences within fences', `~~~\n${'``` a\n'.repeat(300_000)}`],
    ['runs of backticks', '``` ` '.repeat(200_000)],
    ['blanks', `a${' '.repeat(400_000)}b`],
    ['blank lines', `    a${'\n'.repeat(400_000)}b`],
    ['quotes', '> '.repeat(100_000)],
    ['signs of lists', '- '.repeat(100_000)],
    ['open links', '[a]('.repeat(100_000)],
  ])('takes hundreds of thousands of %s', (_, text) => {
    expect(messageMarkdown(text).length).toBeGreaterThan(100_000)
    expect(messageHtml(text).length).toBeGreaterThan(100_000)
  })

  it('takes a time that grows with the text alone', () => {
    const text = Array.from(
      { length: 30_000 },
      (_, i) => `- \`\`\`${i}\n  \`\`\`\n> a \`${'`'.repeat(i % 7)} <\n`,
    )
    expect(messageMarkdown(text.join('')).length).toBeGreaterThan(100_000)
  })
})

/** The lines outside of code, by the fences alone: code ends at a line of its own indentation or quoting with the very fence. Code counts as a blank line. */
function outsideOfCode(markdown: string): { readonly words: readonly string[]; readonly isClosed: boolean } {
  const words: string[] = []
  let open: string | undefined
  for (const line of markdown.split('\n')) {
    if (open !== undefined) {
      if (line === open) open = undefined
      continue
    }
    const fence = /^((?: {0,3}> ?)* *`{3,})[^`]*$/.exec(line)?.[1]
    if (fence === undefined) words.push(line)
    else {
      open = fence
      words.push('')
    }
  }
  return { words, isClosed: open === undefined }
}

it('writes the margin of code no wider than a list can be deep, however far in its fence is', () => {
  const lines = 1_000
  const inList = `${'- '.repeat(2_000)}\`\`\`\n${'x\n'.repeat(lines)}\`\`\``
  const indented = `${' '.repeat(4_000)}\`\`\`\n${'x\n'.repeat(lines)}\`\`\``
  // With the margin of the fence each of the lines would have 4,000 columns.
  for (const text of [inList, indented])
    expect(messageMarkdown(text).length).toBeLessThan(4_000 + 100 * lines)
})

it('takes runs of backticks for code where the next run of their length ends it, and for text elsewhere', () => {
  expect(messageMarkdown('`a ``b` c`` d```')).toBe('`a ``b` c`` d```')
  expect(messageMarkdown('`<a> ``b` <c>`` d')).toBe('<code>&lt;a&gt; &#96;&#96;b</code> &lt;c>`` d')
})
