/** An element of a page: its name, its attributes, and what is in it. */
export type Element = {
  readonly name: string
  readonly attributes: ReadonlyMap<string, string>
  readonly children: (Element | string)[]
}

const VOID = new Set(['meta', 'img', 'input', 'rect'])
const RAW = new Set(['style', 'script'])
const TAG = /<(\/?)([a-z][a-z0-9]*)((?: [a-zA-Z-]+(?:="[^"<>]*")?)*)(\/?)>/y
const ATTRIBUTE = / ([a-zA-Z-]+)(?:="([^"<>]*)")?/g

/**
 * Reads a page of ours by rules a browser cannot read otherwise: every tag is written out in full, attributes are quoted, elements are closed in
 * order, and `<` and `>` stand in tags alone, outside of style and script. Throws at the first place that breaks them.
 */
export function readStrictly(page: string): Element {
  const doctype = '<!DOCTYPE html>\n'
  if (!page.startsWith(doctype)) throw new Error('no doctype')
  const root: Element = { name: '#page', attributes: new Map(), children: [] }
  const open: Element[] = [root]
  let at = doctype.length
  while (at < page.length) {
    const inner = open.at(-1)!
    const next = page.indexOf('<', at)
    const text = page.slice(at, next === -1 ? page.length : next)
    if (RAW.has(inner.name)) {
      const end = page.indexOf(`</${inner.name}`, at)
      inner.children.push(page.slice(at, end))
      at = end
    } else if (text !== '') {
      if (text.includes('>')) throw new Error(`a loose > at ${at}`)
      inner.children.push(text)
      at += text.length
      continue
    }
    TAG.lastIndex = at
    const tag = TAG.exec(page)
    if (tag === null) throw new Error(`no tag of ours at ${at}`)
    at += tag[0].length
    const [, closing, name, attributes] = tag as unknown as readonly [string, string, string, string]
    if (closing === '/') {
      if (open.pop()!.name !== name) throw new Error(`</${name}> at ${at} closes another`)
      continue
    }
    const pairs = [...attributes.matchAll(ATTRIBUTE)].map(([, key, value]) => [key!, value ?? ''] as const)
    const element: Element = { name, attributes: new Map(pairs), children: [] }
    inner.children.push(element)
    if (!VOID.has(name)) open.push(element)
  }
  if (open.length !== 1) throw new Error(`${open.at(-1)!.name} is not closed`)
  return root
}

/** All elements of a name within another, in order. */
export function elementsOf(root: Element, name: string): Element[] {
  return root.children.flatMap((child) =>
    typeof child === 'string' ? [] : [...(child.name === name ? [child] : []), ...elementsOf(child, name)],
  )
}

/** The text of an element, as a reader sees it. */
export function textOf(element: Element): string {
  const text = element.children.map((child) => (typeof child === 'string' ? child : textOf(child))).join('')
  return text.replace(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)))
}

/** The elements of a page with their attributes; what is within `leave` is left out. */
export function outlineOf(element: Element, leave: (element: Element) => boolean): unknown {
  const children = element.children.filter((child) => typeof child !== 'string')
  return {
    name: element.name,
    attributes: Object.fromEntries(element.attributes),
    children: leave(element) ? [] : children.map((child) => outlineOf(child, leave)),
  }
}
