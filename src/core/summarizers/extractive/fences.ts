import { editedFiles } from '../../messages/tool-names.ts'

/** A fenced block of a text. `path`: the file whose name is beside its language, above it, or in its first line. */
type Fence = { readonly path: string | undefined; readonly code: string }

/** The name of a file, also of a route: `app/(shop)/[...slug]/page.tsx`. */
const FILE = '((?:[^\\s`*"\'<>|:/\\\\]{1,100}[/\\\\]){0,12}[^\\s`*"\'<>|:/\\\\]{1,100}\\.[A-Za-z]\\w{0,9})'
const BESIDE = new RegExp(`(?:^|[\\s:="'])${FILE}["']?$`)
/** A line with nothing but a label and a name. */
const ABOVE = new RegExp(
  `^[\\s#>*]{0,8}(?:\\d{1,3}[.)]\\s{1,4})?(?:\\p{L}{2,20}:\\s{0,4})?([*\`"]{0,4})${FILE}[*\`":)\\s]{0,6}$`,
  'u',
)
const COMMENT = new RegExp(`^\\s{0,8}(?://|#|--|<!--|/\\*)\\s{0,4}${FILE}\\s{0,4}(?:-->|\\*/)?\\s{0,4}$`)
/** A name by itself that may be that of a library. */
const LIBRARY = /^[A-Z]\w*\.(?:js|io|ai|NET)$/

/** The fenced blocks of a text. */
export function fencesIn(text: string): Fence[] {
  const parts = text.split('```')
  return parts.flatMap((block, i) => {
    if (i % 2 === 0) return []
    const [info = '', first = ''] = block.split('\n', 2)
    const code = block.slice(info.length + 1)
    return [{ path: pathOf(info.trim(), parts[i - 1]!, first) ?? patched(info, code), code }]
  })
}

function pathOf(info: string, before: string, first: string): string | undefined {
  const line = before.slice(-400).trimEnd().split('\n').at(-1) ?? ''
  const [, marks = '', above = ''] = ABOVE.exec(line) ?? []
  const isNamed = above !== '' && (marks !== '' || !LIBRARY.test(above))
  return BESIDE.exec(info)?.[1] ?? (isNamed ? above : COMMENT.exec(first)?.[1])
}

function patched(info: string, code: string): string | undefined {
  return /diff|patch/i.test(info) ? editedFiles(`\n${code}`)[0] : undefined
}
