import fc from 'fast-check'

/** Pieces that mean something to HTML, to Markdown, or to a terminal. */
const PIECES = [
  '<script>alert(1)</script>',
  '</details>',
  '</summary>',
  '</code></pre>',
  '</article>',
  '</main>',
  '<img src=x onerror=alert(1)>',
  '<!--',
  '-->',
  '<![CDATA[',
  ']]>',
  '"',
  "'",
  ' onmouseover="alert(1)"',
  '&lt;',
  '&#60;',
  '&',
  '`',
  '``',
  '```',
  '````',
  '```html',
  '```{=html}',
  '~~~',
  '~~~~',
  '# ',
  '## ',
  '### ',
  '===',
  '---',
  '- ',
  '1. ',
  '> ',
  '[a](javascript:alert(1))',
  '[a]: javascript:alert(1)',
  '![a](https://example.org/p.png)',
  '](',
  '<javascript:alert(1)>',
  'https://example.org/?a=1&b="2"',
  'javascript:alert(1)',
  'data:text/html,<b>',
  '\\',
  '|',
  '$',
  '    ',
  '  ',
  '   ',
  '\t',
  '\n',
  '\n',
  '\n\n',
  '\r',
  '\r\n',
  '\0',
  '\u001b[31m',
  '\u0085',
  '\u2028',
  '\u202e',
  '\u2066',
  '\u200b',
  '\ufeff',
  '\ud800',
  '\udc00',
  'word',
]

/** A text made to leave its place. */
export const hostileText: fc.Arbitrary<string> = fc
  .array(
    fc.oneof(
      { weight: 6, arbitrary: fc.constantFrom(...PIECES) },
      fc.string({ unit: 'binary', maxLength: 6 }),
    ),
    {
      maxLength: 24,
    },
  )
  .map((pieces) => pieces.join(''))

/** Whether a text holds anything a reader cannot see, save line breaks, tabs and the joiners of scripts and emoji. */
export function hidesSomething(text: string): boolean {
  return /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/u.test(
    text.replace(/[\n\t]/g, ''),
  )
}
