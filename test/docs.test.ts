import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'

const REPOSITORY = join(import.meta.dirname, '..')
const read = (path: string): string => readFileSync(join(REPOSITORY, path), 'utf8')

describe('links', () => {
  const docs = readdirSync(join(REPOSITORY, 'docs')).filter((name) => name.endsWith('.md'))
  const pages = ['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', ...docs.map((name) => `docs/${name}`)]

  it.each(pages)('of %s lead to files and headings that exist', (page) => {
    const broken = linksOf(read(page)).filter((link) => !leadsSomewhere(page, link))
    expect(broken).toEqual([])
  })

  it('of docs/README.md lead to every page', () => {
    const linked = new Set(linksOf(read('docs/README.md')))
    expect(docs.filter((name) => name !== 'README.md' && !linked.has(name))).toEqual([])
  })
})

function linksOf(text: string): string[] {
  return [...text.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, link]) => link!)
    .filter((link) => !/^[a-z]+:/.test(link))
}

function leadsSomewhere(page: string, link: string): boolean {
  const [path = '', anchor] = link.split('#')
  const target = path === '' ? page : join(dirname(page), path)
  try {
    const text = read(target)
    return anchor === undefined || anchorsOf(text).includes(anchor)
  } catch {
    return readdirSync(join(REPOSITORY, dirname(target))).includes(target.split('/').at(-1)!)
  }
}

/** The anchors that Markdown renderers make of the headings of a page. */
function anchorsOf(text: string): string[] {
  return [...text.replaceAll(/```[\s\S]*?```/g, '').matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\- _]/gu, '')
      .trim()
      .replaceAll(' ', '-'),
  )
}
