import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { expect, it } from 'vitest'

/*
 * Which room may import from which. A room is a folder of src, or a file at its top. What is not listed is not
 * allowed; everybody may import errors.ts.
 */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  core: [],
  files: ['core'],
  formats: ['core', 'plain/chat-message.ts', 'plain/message-parts.ts', 'plain/rows.ts'],
  summarizers: ['core'],
  storage: ['core', 'process.ts'],
  tokenizers: ['core'],
  compaction: ['core', 'events.ts', 'storage/storage.ts', 'summarizers', 'process.ts'],
  plain: ['core', 'summarizers', 'compaction'],
  strategies: ['core', 'plain'],
  turn: [
    'core',
    'config',
    'compaction',
    'events.ts',
    'plain',
    'stats.ts',
    'store-options.ts',
    'storage/storage.ts',
    'summarizers',
  ],
  config: ['core', 'compaction/config.ts', 'summarizers'],
  'ai-sdk.ts': ['ai-sdk', 'formats'],
  'openai.ts': ['formats'],
  'anthropic.ts': ['formats'],
  'google.ts': ['formats'],
  'langchain.ts': ['formats', 'langchain'],
  // What the entries of several libraries share.
  adapters: ['core', 'request', 'store', 'store.ts'],
  langchain: ['core', 'adapters', 'formats', 'request', 'store', 'store.ts', 'store-options.ts'],
  'openai-agents.ts': ['formats', 'openai-agents'],
  'openai-agents': [
    'core',
    'adapters',
    'compaction/result.ts',
    'formats',
    'request',
    'storage/storage.ts',
    'store',
    'store.ts',
    'store-options.ts',
  ],
  'claude-agent-sdk.ts': ['claude-agent-sdk'],
  'claude-agent-sdk': ['core', 'formats', 'storage/storage.ts', 'store', 'store.ts'],
  'ai-sdk': [
    'core',
    'adapters',
    'formats',
    'request',
    'storage/storage.ts',
    'store',
    'store.ts',
    'store-options.ts',
    'summarizers',
  ],
  background: ['core', 'config', 'compaction', 'events.ts', 'stats.ts', 'storage/storage.ts', 'process.ts'],
  request: [
    'core',
    'config',
    'compaction',
    'events.ts',
    'files',
    'prices.ts',
    'stats.ts',
    'store-options.ts',
    'turn',
    'usage-result.ts',
  ],
  'store-options.ts': ['core', 'config', 'storage/storage.ts'],
  'stats.ts': ['core', 'compaction/model.ts', 'storage/storage.ts', 'store-options.ts'],
  'undo-if-fits.ts': ['core', 'compaction/model.ts', 'stats.ts', 'storage/storage.ts', 'store-options.ts'],
  'prices.ts': ['core'],
  'usage-result.ts': ['core', 'storage/storage.ts'],
  'usage-totals.ts': ['prices.ts', 'storage/storage.ts'],
  'store.ts': ['store', 'storage/storage.ts'],
  import: ['core', 'compaction/model.ts', 'process.ts', 'storage/storage.ts'],
  // Whole sessions, out of a storage and into one.
  history: ['core', 'import/batch.ts', 'import/staging.ts', 'storage/storage.ts', 'version.ts'],
  'version.ts': [],
  'transfer.ts': ['transfer'],
  store: [
    'core',
    'prices.ts',
    'history',
    'import',
    'compaction',
    'config',
    'events.ts',
    'stats.ts',
    'storage/storage.ts',
    'store-options.ts',
    'background',
    'request',
    'turn',
    'undo-if-fits.ts',
    'usage-result.ts',
    'usage-totals.ts',
  ],
  'open.ts': [
    'core',
    'config',
    'storage',
    'store.ts',
    'store-options.ts',
    'summarizers/summarizer-schema.ts',
    'tokenizers',
  ],
  'index.ts': [
    'core',
    'history',
    'import',
    'compaction',
    'config',
    'events.ts',
    'files',
    'formats',
    'open.ts',
    'plain',
    'stats.ts',
    'storage/storage.ts',
    'store',
    'store.ts',
    'store-options.ts',
    'strategies',
    'summarizers',
    'request',
    'turn',
    'undo-if-fits.ts',
    'usage-result.ts',
    'usage-totals.ts',
    'tokenizers',
  ],
  transfer: [
    'core',
    'ai-sdk',
    'claude-agent-sdk/entry.ts',
    'formats',
    'history/restore-session.ts',
    'import/import-event.ts',
    'import/import-types.ts',
    'openai-agents',
    'stats.ts',
    'storage/storage.ts',
    'store/arguments.ts',
    'store.ts',
  ],
  cli: [
    'ai-sdk',
    'compaction/preview.ts',
    'compaction/result.ts',
    'config',
    'core',
    'events.ts',
    'formats/to-openai.ts',
    'open.ts',
    'request',
    'stats.ts',
    // What `doctor` says of a file that is no store.
    'storage/sqlite/driver.ts',
    'storage/storage.ts',
    'store-options.ts',
    'summarizers',
    'tokenizers/tokenizer.ts',
    'transfer',
    'usage-totals.ts',
    'version.ts',
  ],
  'errors.ts': [],
  'events.ts': ['core', 'usage-result.ts'],
  'process.ts': [],
}

const SOURCES = join(import.meta.dirname, '..', 'src')

type Import = { readonly from: string; readonly to: string; readonly typeOnly: boolean }

const files = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' }).filter((file) =>
  file.endsWith('.ts'),
)
const imports: Import[] = files.flatMap((file) => {
  const text = readFileSync(join(SOURCES, file), 'utf8')
  return [...text.matchAll(/^(?:import|export)\s+(type\s)?[^'";]*?from\s+'(\.[^']+)'/gm)].map(
    ([, typeOnly, target]) => ({
      from: file,
      to: relative(SOURCES, resolve(SOURCES, dirname(file), target!)),
      typeOnly: typeOnly !== undefined,
    }),
  )
})

function roomOf(file: string): string {
  return file.includes('/') ? file.slice(0, file.indexOf('/')) : file
}

it('imports only in the directions drawn', () => {
  expect(imports.length).toBeGreaterThan(100)
  const wrong = imports.filter(({ from, to }) => {
    const room = roomOf(from)
    if (to === 'errors.ts' || roomOf(to) === room) return false
    return !(MAY_IMPORT[room] ?? []).some((allowed) => to === allowed || roomOf(to) === allowed)
  })
  expect(wrong).toEqual([])
})

it('draws no arrow that nobody goes', () => {
  const idle = Object.entries(MAY_IMPORT).flatMap(([room, targets]) => {
    const gone = imports.filter(({ from }) => roomOf(from) === room).map(({ to }) => to)
    return targets
      .filter((target) => !gone.some((to) => to === target || roomOf(to) === target))
      .map((target) => `${room} → ${target}`)
  })
  expect(idle).toEqual([])
})

it('has a place for every room', () => {
  expect([...new Set(files.map(roomOf))].filter((room) => MAY_IMPORT[room] === undefined)).toEqual([])
})

it('draws no circle of rooms, types included', () => {
  const targets = new Map<string, Set<string>>()
  for (const { from, to } of imports)
    if (roomOf(from) !== roomOf(to))
      targets.set(roomOf(from), (targets.get(roomOf(from)) ?? new Set()).add(roomOf(to)))
  expect(circlesIn(targets)).toEqual([])
})

it('keeps the core free of everything but zod and hashes', () => {
  const outside = files
    .filter((file) => roomOf(file) === 'core')
    .flatMap((file) =>
      [...readFileSync(join(SOURCES, file), 'utf8').matchAll(/^import\s[^'";]*?from\s+'([^.'][^']*)'/gm)].map(
        ([, name]) => `${file}: ${name}`,
      ),
    )
    .filter((found) => !found.endsWith(': zod') && !found.endsWith(': node:crypto'))
  expect(outside).toEqual([])
})

it('has no circle of imports that survive compilation', () => {
  const targets = new Map<string, Set<string>>()
  for (const { from, to, typeOnly } of imports)
    if (!typeOnly) targets.set(from, (targets.get(from) ?? new Set()).add(to))
  expect(circlesIn(targets)).toEqual([])
})

function circlesIn(targets: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  const circles: string[] = []
  const done = new Set<string>()
  const visit = (place: string, path: readonly string[]): void => {
    if (path.includes(place)) {
      circles.push([...path.slice(path.indexOf(place)), place].join(' → '))
      return
    }
    if (done.has(place)) return
    for (const target of targets.get(place) ?? []) visit(target, [...path, place])
    done.add(place)
  }
  for (const place of targets.keys()) visit(place, [])
  return circles
}
