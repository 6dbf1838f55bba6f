/** A fenced block of a text. `path`: the file whose name is beside its language, above it, or in its first line. */
type Fence = { readonly path: string | undefined; readonly code: string }

/** The name of a file, also of a route: `app/(shop)/[...slug]/page.tsx`. */
const FILE = '((?:[^\\s`*"\'<>|:/\\\\]{1,100}[/\\\\]){0,12}[^\\s`*"\'<>|:/\\\\]{1,100}\\.[A-Za-z]\\w{0,9})'
const BESIDE = new RegExp(`(?:^|[\\s:="'])${FILE}["']?$`)
/** A line with nothing but a label and a name. */
const ABOVE = new RegExp(
  `^[\\s#>*]{0,8}(?:\\d{1,3}[.)]\\s{1,4})?(?:\\p{L}{2,20}:\\s{0,4})?[*\`"]{0,4}${FILE}[*\`":)\\s]{0,6}$`,
  'u',
)
const COMMENT = new RegExp(`^\\s{0,8}(?://|#|--|<!--|/\\*)\\s{0,4}${FILE}\\s{0,4}(?:-->|\\*/)?\\s{0,4}$`)
/** The fenced blocks of a text. */
export function fencesIn(text: string): Fence[] {
  const parts = text.split('```')
  return parts.flatMap((block, i) => {
    if (i % 2 === 0) return []
    const [info = '', first = ''] = block.split('\n', 2)
    const code = block.slice(info.length + 1)
    const line = parts[i - 1]!.slice(-400).trimEnd().split('\n').at(-1) ?? ''
    const path = BESIDE.exec(info.trim()) ?? ABOVE.exec(line) ?? COMMENT.exec(first)
    return [{ path: path?.[1], code }]
  })
}
