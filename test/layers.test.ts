import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'

/** The rooms of src, and the rooms that each may import, types included (ARCHITECTURE.md). */
const ROOMS: Readonly<Record<string, readonly string[]>> = {
  core: [],
  storage: ['core'],
  store: ['core', 'storage'],
  adapters: ['core', 'storage', 'store'],
  transfer: ['core', 'storage', 'store', 'adapters'],
  compat: ['core', 'storage', 'store', 'adapters'],
  inspect: ['core', 'storage', 'store', 'adapters', 'transfer'],
  cli: ['core', 'storage', 'store', 'adapters', 'transfer', 'inspect'],
}
/** The packages that core imports: schemas, hashes, and tables of prices and tokens. None has an effect. */
const PURE_PACKAGES = [
  '@pydantic/genai-prices',
  'gpt-tokenizer/encoding/cl100k_base',
  'gpt-tokenizer/encoding/o200k_base',
  'node:crypto',
  'zod',
]

/** Pure functions of the storage that the page shares: what an undo includes. */
const PURE_STORAGE = ['storage/sql/plan-undo.ts', 'storage/sql/work.ts']

const ROOT = join(import.meta.dirname, '..')
const SOURCES = join(ROOT, 'src')

type Import = { readonly from: string; readonly to: string }

const files = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' }).filter((file) =>
  /\.tsx?$/.test(file),
)
const textOf = new Map(files.map((file) => [file, readFileSync(join(SOURCES, file), 'utf8')]))
const imports: Import[] = files.flatMap((file) => importsOf(file, textOf.get(file)!))

/** Types and lazy imports count: who reads a file reads what it names. */
function importsOf(file: string, text: string): Import[] {
  return namesOf(text)
    .filter((name) => name.startsWith('.'))
    .map((target) => ({ from: file, to: relative(SOURCES, resolve(SOURCES, dirname(file), target)) }))
}

/** The modules that a text imports, by any form of import. */
function namesOf(text: string): string[] {
  return [
    ...text.matchAll(/^(?:import|export)\b[^'";]*?from\s+'([^']+)'/gm),
    ...text.matchAll(/^import '([^']+)'/gm),
    ...text.matchAll(/\bimport\('([^']+)'\)/g),
  ].map(([, name]) => name!)
}

/** The relative modules of which a text imports more than types. */
function valueImportsOf(text: string): string[] {
  return [...text.matchAll(/^(?:import|export)\b(?! type\b)[^'";]*?'(\.[^']+)'/gm)].map(([, name]) => name!)
}

const roomOf = (file: string): string => (file.includes('/') ? file.slice(0, file.indexOf('/')) : file)

describe('the source', () => {
  it('consists of eight rooms and the root entry', () => {
    expect(imports.length).toBeGreaterThan(1_000)
    expect([...new Set(files.map(roomOf))].sort()).toEqual([...Object.keys(ROOMS), 'index.ts'].sort())
  })

  it('is described by ARCHITECTURE.md room by room', () => {
    const [, table] = readFileSync(join(ROOT, 'ARCHITECTURE.md'), 'utf8').split('\n| `src/` |')
    const listed = [...table!.split('\n\n')[0]!.matchAll(/^\| `([a-z.]+)\/?` \|/gm)].map(([, name]) => name)
    expect(listed.sort()).toEqual([...Object.keys(ROOMS), 'index.ts'].sort())
  })

  it.each(Object.entries(ROOMS))('imports into %s from %j only', (room, allowed) => {
    const others = imports.filter(({ from, to }) => roomOf(from) === room && roomOf(to) !== room)
    expect(others.filter(({ to }) => !allowed.includes(roomOf(to)))).toEqual([])
  })

  it('has no import cycles: types and lazy imports included', () => {
    const targets = new Map<string, string[]>()
    for (const { from, to } of imports) targets.set(from, [...(targets.get(from) ?? []), to])
    expect(cyclesIn(targets)).toEqual([])
  })

  it('has a core without effects: no files, no network, no clock, no chance', () => {
    const core = files.filter((file) => roomOf(file) === 'core')
    const packages = core
      .flatMap((file) => namesOf(textOf.get(file)!))
      .filter((name) => !name.startsWith('.'))
    expect([...new Set(packages)].sort()).toEqual(PURE_PACKAGES)
    const effects =
      /\b(?:Date\.now|new Date\(\)|performance\.|Math\.random|random[A-Z]\w*\(|fetch\(|process\.[a-z]|set(?:Timeout|Interval|Immediate)\()/
    const code = (file: string): string => textOf.get(file)!.replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')
    expect(core.filter((file) => effects.test(code(file)))).toEqual([])
  })

  it('checks requests without the code that renders and converts them', () => {
    const used = imports.filter(
      ({ from, to }) => from.startsWith('core/validity/') && !to.startsWith('core/validity/'),
    )
    expect([...new Set(used.map(({ to }) => to))].sort()).toEqual([
      'core/errors.ts',
      'core/tokens/providers.ts',
    ])
  })

  it('has a page that imports only types and pure functions from other rooms, because it runs in the browser', () => {
    const page = join('inspect', 'page')
    const values = files
      .filter((file) => file.startsWith(page))
      .flatMap((file) =>
        valueImportsOf(textOf.get(file)!).map((name) => ({
          file,
          to: relative(SOURCES, resolve(SOURCES, dirname(file), name)),
        })),
      )
    expect(values.length).toBeGreaterThan(10)
    expect(
      values.filter(
        ({ to }) => !to.startsWith(page) && !to.startsWith('core/') && !PURE_STORAGE.includes(to),
      ),
    ).toEqual([])
  })

  it('has verbs that know no stage and no engine', () => {
    const verbs = imports.filter(({ from }) => from.startsWith('storage/'))
    expect(verbs.filter(({ to }) => to.startsWith('core/stages/'))).toEqual([])
    const engines = /^storage\/(?:sqlite|postgres)\//
    expect(verbs.filter(({ from, to }) => from.startsWith('storage/sql/') && engines.test(to))).toEqual([])
  })

  it('loads drizzle in the schemas only, which no other file loads', () => {
    const SCHEMAS = ['postgres', 'sqlite'].map((engine) => join('storage', engine, 'schema.ts'))
    const loading = files.filter((file) =>
      namesOf(textOf.get(file)!).some((name) => name.startsWith('drizzle-orm')),
    )
    expect(loading.sort()).toEqual(SCHEMAS)
    expect(imports.filter(({ to }) => SCHEMAS.includes(to))).toEqual([])
  })
})

function cyclesIn(targets: ReadonlyMap<string, readonly string[]>): string[] {
  const cycles: string[] = []
  const done = new Set<string>()
  const visit = (file: string, path: readonly string[]): void => {
    if (path.includes(file)) {
      cycles.push([...path.slice(path.indexOf(file)), file].join(' → '))
      return
    }
    if (done.has(file)) return
    for (const target of targets.get(file) ?? []) visit(target, [...path, file])
    done.add(file)
  }
  for (const file of targets.keys()) visit(file, [])
  return cycles
}
