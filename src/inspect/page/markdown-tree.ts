import MarkdownIt, { type Token } from 'markdown-it'

/*
 * Markdown as a tree of known elements. Whatever else a text contains stays text: HTML isn't read, images become links, and only addresses
 * of the web are links.
 */

type MarkdownTag =
  | ('p' | 'tight' | 'h1' | 'h2' | 'h3' | 'h4' | 'h5' | 'h6' | 'ul' | 'ol' | 'li' | 'blockquote' | 'hr')
  | ('table' | 'thead' | 'tbody' | 'tr' | 'th' | 'td' | 'em' | 'strong' | 's' | 'code' | 'pre' | 'a' | 'br')

export type MarkdownNode =
  | string
  | {
      readonly tag: MarkdownTag
      readonly children: readonly MarkdownNode[]
      /** Of a link to the web. */
      readonly href?: string
      /** Of a fence. */
      readonly language?: string
      /** Of an ordered list. */
      readonly start?: number
      readonly align?: 'center' | 'right'
    }

/** Longer texts are shown as they are, so that a hostile one can't hold the page. */
export const MAX_MARKDOWN_LENGTH = 50_000

const parser = new MarkdownIt({
  html: false,
  linkify: true,
  breaks: true,
  typographer: false,
  maxNesting: 30,
})
parser.linkify.set({ fuzzyLink: false, fuzzyEmail: false })
// Every address is read, so that a link keeps its words; which ones are links is decided below.
parser.validateLink = () => true

const TAGS: ReadonlySet<string> = new Set([
  ...['p', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'ul', 'ol', 'li', 'blockquote', 'table', 'thead', 'tbody'],
  ...['tr', 'th', 'td', 'em', 'strong', 's', 'a'],
])

/** Returns the elements of a text; a text that is too long is one paragraph. */
export function markdownOf(text: string): readonly MarkdownNode[] {
  return text.length > MAX_MARKDOWN_LENGTH ? [{ tag: 'p', children: [text] }] : treeOf(parser.parse(text, {}))
}

type Open = { readonly token: Token; readonly children: MarkdownNode[] }

function treeOf(tokens: readonly Token[]): MarkdownNode[] {
  const root: MarkdownNode[] = []
  const open: Open[] = []
  for (const token of tokens) {
    const into = open.at(-1)?.children ?? root
    if (token.nesting === 1) open.push({ token, children: [] })
    else if (token.nesting === 0) for (const node of leavesOf(token)) into.push(node)
    else {
      const closed = open.pop()
      if (closed !== undefined) (open.at(-1)?.children ?? root).push(...elementOf(closed))
    }
  }
  return root
}

function leavesOf(token: Token): readonly MarkdownNode[] {
  switch (token.type) {
    case 'inline':
      return treeOf(token.children ?? [])
    case 'code_inline':
      return [{ tag: 'code', children: [token.content] }]
    case 'fence':
    case 'code_block': {
      const [language = ''] = token.info.trim().split(/\s+/, 1)
      return [{ tag: 'pre', children: [token.content], ...(language !== '' && { language }) }]
    }
    case 'softbreak':
    case 'hardbreak':
      return [{ tag: 'br', children: [] }]
    case 'hr':
      return [{ tag: 'hr', children: [] }]
    case 'image': {
      const words = token.content === '' ? 'image' : `image: ${token.content}`
      return [linkTo(attribute(token, 'src'), [words])]
    }
    default:
      return token.content === '' ? [] : [token.content]
  }
}

function elementOf({ token, children }: Open): readonly MarkdownNode[] {
  if (!TAGS.has(token.tag)) return children
  if (token.tag === 'a') return [linkTo(attribute(token, 'href'), children)]
  if (token.hidden) return [{ tag: 'tight', children }]
  const tag = token.tag as MarkdownTag
  const start = tag === 'ol' ? Number(attribute(token, 'start') ?? 1) : 1
  const align = /text-align:(center|right)/.exec(attribute(token, 'style') ?? '')?.[1] as
    | 'center'
    | 'right'
    | undefined
  return [{ tag, children, ...(start !== 1 && { start }), ...(align !== undefined && { align }) }]
}

function attribute(token: Token, name: string): string | undefined {
  const value = token.attrGet(name)
  return value === null ? undefined : String(value)
}

/** A link to the web; any other is its words. */
function linkTo(href: string | undefined, children: readonly MarkdownNode[]): MarkdownNode {
  const address = href === undefined ? undefined : webAddress(href)
  return { tag: 'a', children, ...(address !== undefined && { href: address }) }
}

/** Returns an address that may be a link: http or https. */
export function webAddress(text: string): string | undefined {
  if (!/^https?:\/\//i.test(text)) return undefined
  try {
    return new URL(text).href
  } catch {
    return undefined
  }
}
