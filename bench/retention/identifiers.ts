/*
 * What counts as an identifier: paths, file names, function and variable names, ids, numbers of three digits or more.
 * Source: issue 5, "Quality of what is kept".
 */

/** Segments of letters, digits, dots, dashes, underscores and the like with slashes between them. */
const PATH = /(?:~|\.{1,2})?(?:\/?[\w@.+-]{1,100})(?:\/[\w@.+-]{1,100})+/g
/** A name, a dot and what files end in. */
const FILE =
  /\b[\w-]{1,80}(?:\.[\w-]{1,40}){0,3}\.(?:[cm]?[jt]sx?|json[lc]?|mdx?|txt|py|rs|go|java|kts?|swift|rb|php|cs|cpp|cc|hpp|[ch]|sql|ya?ml|toml|lock|sh|bash|css|s[ac]ss|html?|xml|vue|svelte|csv|log|env|ini|cfg|conf|proto|gradle|ipynb)\b/g
/** camelCase and PascalCase of two humps or more, snake_case, CONSTANT_CASE. */
const COMPOUND = /\b(?:[a-z]+[a-z0-9]*[A-Z]\w*|[A-Z]+[a-z0-9]+[A-Z]\w*|[A-Za-z]\w*_\w*[A-Za-z0-9])\b/g
/** A name that is called, or that a definition gives. */
const CALLED = /\b([A-Za-z_]\w{2,60})\(/g
const DEFINED =
  /\b(?:function|class|interface|type|enum|struct|trait|impl|def|fn|func|const|let|var|val|static|mod|module|package)\s+([A-Za-z_]\w{2,60})/g
/** Letters and digits mixed: numbers of orders, flights, bookings, commits. */
const MIXED = /\b(?=[A-Za-z0-9-]{0,40}\d)(?=[\d-]{0,40}[A-Za-z])[A-Za-z0-9][A-Za-z0-9-]{3,62}[A-Za-z0-9]\b/g
/** Three digits or more; with separators an amount, a day or a time. */
const NUMBER = /\b\d{3,}\b|\b\d{4}-\d\d-\d\d\b/g

/** Words of languages that look like a call or stand behind a word of definition. */
const KEYWORDS = new Set(
  'for while switch catch return function await async typeof new super constructor if else elif with and not print import export from default extends implements class interface type enum const let var def static'.split(
    ' ',
  ),
)

/** The identifiers of a text, each once. */
export function identifiersOf(text: string): Set<string> {
  const found = new Set<string>()
  for (const pattern of [PATH, FILE, COMPOUND, MIXED, NUMBER]) {
    for (const [match] of text.matchAll(pattern)) {
      const trimmed = match.replace(/[.+-]+$/, '')
      if (trimmed.length >= 3 && /[\w]/.test(trimmed) && isTelling(trimmed)) found.add(trimmed)
    }
  }
  for (const pattern of [CALLED, DEFINED]) {
    for (const [, name = ''] of text.matchAll(pattern)) if (!KEYWORDS.has(name)) found.add(name)
  }
  return found
}

/** "and/or" is no path, "1/2" neither: a path has a dot, starts at a root, or has three segments. */
function isTelling(found: string): boolean {
  if (!found.includes('/')) return true
  return /^(?:~|\.{0,2}\/)/.test(found) || /\.\w/.test(found) || /[^/]\/[^/]+\/[^/]/.test(found)
}

/** A text that can be asked for identifiers: as whole words, not as parts of others. */
export class Words {
  readonly #text: string
  readonly #words: ReadonlySet<string>

  constructor(text: string) {
    this.#text = text
    this.#words = new Set(text.match(/\w+/g) ?? [])
  }

  has(identifier: string): boolean {
    if (/^\w+$/.test(identifier)) return this.#words.has(identifier)
    for (let at = this.#text.indexOf(identifier); at >= 0; at = this.#text.indexOf(identifier, at + 1)) {
      if (!/\w/.test(this.#text[at - 1] ?? '') && !/\w/.test(this.#text[at + identifier.length] ?? ''))
        return true
    }
    return false
  }
}
