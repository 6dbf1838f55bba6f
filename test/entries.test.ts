import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'

/* The section "Names" of the page of each entry of the package, compared with what the entry exports. */

const ROOT = join(import.meta.dirname, '..')
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')

const { exports } = JSON.parse(read('package.json')) as {
  readonly exports: Readonly<Record<string, string | { readonly default: string }>>
}
const entries = Object.entries(exports).flatMap(([entry, target]) =>
  typeof target === 'string'
    ? []
    : [{ entry, source: target.default.replace('./dist/', 'src/').replace(/js$/, 'ts') }],
)

/** The page of an entry has its name. Both entries for drizzle have one page, and the root has that of the API. */
const pageOf = (entry: string): string => `docs/${entry.split('/')[1] ?? 'api'}.md`

const pages = [...new Set(entries.map(({ entry }) => pageOf(entry)))]

describe.each(pages)('%s', (page) => {
  const itsEntries = entries.filter(({ entry }) => pageOf(entry) === page)
  const section = read(page).split('\n## Names\n')[1] ?? ''

  it('lists every name once, and no other', async () => {
    const modules = await Promise.all(
      itsEntries.map(({ source }) => import(join(ROOT, source)) as Promise<object>),
    )
    const names = new Set(modules.flatMap((module) => Object.keys(module)))
    const listed = [...section.matchAll(/^\| `(\w+)` \| .+ \|$/gm)].map(([, name]) => name!)
    expect(listed.toSorted()).toEqual([...names].toSorted())
  })

  it('names only types that the entry exports', () => {
    const sources =
      itsEntries.map(({ source }) => read(source)).join('\n') + read('src/core/message-types.ts')
    const [, types = ''] = /^Types\b([\s\S]*)/m.exec(section) ?? []
    const unknown = [...types.matchAll(/`([A-Z]\w+)`/g)].filter(
      ([, name]) => !new RegExp(`\\b${name}\\b`).test(sources),
    )
    expect(unknown.map(([, name]) => name)).toEqual([])
  })
})
