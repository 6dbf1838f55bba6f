import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'

/** The layers of src from the ground up: a file imports only from its own layer and from layers before it (ARCHITECTURE.md). */
const LAYERS = [
  'ground', // errors.ts, events.ts, version.ts
  'messages',
  'search',
  'tokens',
  'validity',
  'model',
  'rendering',
  'files',
  'stages',
  'overflow',
  'summarizers',
  'storage',
  'config',
  'compaction',
  'history',
  'arrays',
  'requests',
  'store',
  'recall',
  'compat',
  'ecosystems',
  'transfer',
  'cli',
  'entries', // the other files of src itself
]
const GROUND = new Set(['errors.ts', 'events.ts', 'version.ts'])
/** Layers that only entries import: applications choose them, nothing here depends on them. */
const ENTRIES_ONLY = ['arrays', 'compat']

/** Layers without effects: no files, no clocks, no processes. */
const PURE = new Set(['messages', 'search', 'validity', 'model', 'rendering', 'stages', 'overflow'])

const SOURCES = join(import.meta.dirname, '..', 'src')

type Import = { readonly from: string; readonly to: string; readonly isLazy: boolean }

const files = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' }).filter((file) =>
  file.endsWith('.ts'),
)
const imports: Import[] = files.flatMap((file) => importsOf(file, readFileSync(join(SOURCES, file), 'utf8')))

/** Type imports count: who reads a file reads its types. */
function importsOf(file: string, text: string): Import[] {
  const at = (target: string): string => relative(SOURCES, resolve(SOURCES, dirname(file), target))
  const found = (pattern: RegExp, isLazy: boolean): Import[] =>
    [...text.matchAll(pattern)].map(([, target]) => ({ from: file, to: at(target!), isLazy }))
  return [
    ...found(/^(?:import|export)\b[^'";]*?from\s+'(\.[^']+)'/gm, false),
    ...found(/\bimport\('(\.[^']+)'\)/g, true),
  ]
}

function layerOf(file: string): string {
  if (file.includes('/')) return file.slice(0, file.indexOf('/'))
  return GROUND.has(file) ? 'ground' : 'entries'
}

describe('the source', () => {
  it('consists of the known layers', () => {
    expect(new Set(LAYERS).size).toBe(LAYERS.length)
    expect(imports.length).toBeGreaterThan(1_000)
    expect(new Set(files.map(layerOf))).toEqual(new Set(LAYERS))
  })

  it('imports only from the same layer or from layers before it, types included', () => {
    const wrong = imports.filter(
      ({ from, to }) => LAYERS.indexOf(layerOf(to)) > LAYERS.indexOf(layerOf(from)),
    )
    expect(wrong).toEqual([])
  })

  it('checks requests without the code that renders and converts them: of tokens/ only names of providers', () => {
    const used = imports.flatMap(({ from, to }) => (layerOf(from) === 'validity' ? [to] : []))
    const others = new Set(used.filter((to) => layerOf(to) !== 'validity'))
    expect([...others].sort()).toEqual(['errors.ts', 'tokens/providers.ts'])
  })

  it('has no import cycles, types included', () => {
    const targets = new Map<string, string[]>()
    for (const { from, to, isLazy } of imports)
      if (!isLazy) targets.set(from, [...(targets.get(from) ?? []), to])
    expect(cyclesIn(targets)).toEqual([])
  })

  it.each(ENTRIES_ONLY)('imports %s from entries only', (layer) => {
    const others = imports.filter(
      ({ from, to }) => layerOf(to) === layer && ![layer, 'entries'].includes(layerOf(from)),
    )
    expect(others).toEqual([])
  })

  it('loads drizzle in the schemas only, which no other file loads', () => {
    const SCHEMAS = ['postgres', 'sqlite'].map((engine) => join('storage', engine, 'schema.ts'))
    const loading = files.filter((file) =>
      packagesOf(readFileSync(join(SOURCES, file), 'utf8')).some((name) => name.startsWith('drizzle-orm')),
    )
    expect(loading.sort()).toEqual(SCHEMAS)
    expect(imports.filter(({ to }) => SCHEMAS.includes(to))).toEqual([])
  })

  it('keeps the pure layers pure: beside other files they import zod and hashes only', () => {
    const packages = files
      .filter((file) => PURE.has(layerOf(file)))
      .flatMap((file) => packagesOf(readFileSync(join(SOURCES, file), 'utf8')))
    expect([...new Set(packages)].sort()).toEqual(['node:crypto', 'zod'])
  })
})

function packagesOf(text: string): string[] {
  return [...text.matchAll(/^import\s[^'";]*?from\s+'([^.'][^']*)'/gm)].map(([, name]) => name!)
}

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
