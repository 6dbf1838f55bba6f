import { type ComponentChildren, Fragment, h } from 'preact'
import { useMemo } from 'preact/hooks'
import { Code } from './code.tsx'
import { MAX_MARKDOWN_LENGTH, type MarkdownNode, markdownOf } from './markdown-tree.ts'

/** A text with its Markdown, as elements: nothing in it is HTML. */
export function Markdown({ text }: { readonly text: string }) {
  const isLong = text.length > MAX_MARKDOWN_LENGTH
  const nodes = useMemo(() => (isLong ? [] : markdownOf(text)), [text, isLong])
  if (isLong)
    return (
      <pre class="plain" dir="auto">
        {text}
      </pre>
    )
  return (
    <div class="md" dir="auto">
      {rendered(nodes)}
    </div>
  )
}

/** A link in stored text: it opens elsewhere, and nothing is fetched before. */
export function WebLink({
  href,
  children,
}: {
  readonly href: string
  readonly children?: ComponentChildren
}) {
  return (
    <a href={href} title={href} rel="noopener noreferrer" target="_blank">
      {children ?? href}
    </a>
  )
}

function rendered(nodes: readonly MarkdownNode[]): ComponentChildren {
  return nodes.map((node, index) => <Fragment key={index}>{element(node)}</Fragment>)
}

function element(node: MarkdownNode): ComponentChildren {
  if (typeof node === 'string') return node
  const { tag, children, href, language, start, align } = node
  switch (tag) {
    case 'pre':
      return <Code text={String(children[0] ?? '')} language={language} />
    case 'a':
      return href === undefined ? (
        <span class="dead-link">{rendered(children)}</span>
      ) : (
        <WebLink href={href}>{rendered(children)}</WebLink>
      )
    case 'table':
      return (
        <div class="md-table">
          <table>{rendered(children)}</table>
        </div>
      )
    case 'tight':
      return rendered(children)
    case 'h1':
    case 'h2':
    case 'h3':
    case 'h4':
    case 'h5':
    case 'h6':
      // Headings of a message aren't headings of the page.
      return <p class={`md-${tag}`}>{rendered(children)}</p>
    case 'br':
    case 'hr':
      return h(tag, {})
    default:
      return h(
        tag,
        { ...(start !== undefined && { start }), ...(align !== undefined && { class: `align-${align}` }) },
        rendered(children),
      )
  }
}
