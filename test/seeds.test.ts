import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Command } from 'commander'
import { describe, expect, it } from 'vitest'
import { COMMANDS } from '../src/cli/commands.ts'
import { ENTRY_FILES, everything as undertext } from './support/entries.ts'
import { STORE_METHODS } from './support/methods.ts'
import { sharedPath } from './support/shared.ts'

/* docs/internals/seeds.md, held to what it says: every row of the founding documents once, and nothing named that is not there. */

const ROOT = join(import.meta.dirname, '..')

/** How many rows each document has, and how many of its real source only. */
const COUNTS = [
  { seed: 'S0', digits: 2, rows: 91, unstated: 20 },
  { seed: 'S1', digits: 2, rows: 31, unstated: 19 },
  { seed: 'S2', digits: 3, rows: 112, unstated: 7 },
  { seed: 'S3', digits: 3, rows: 338, unstated: 12 },
  { seed: 'S4', digits: 2, rows: 59, unstated: 12 },
  { seed: 'F1', digits: 2, rows: 10, unstated: 0 },
  { seed: 'F2', digits: 2, rows: 10, unstated: 0 },
  { seed: 'F3', digits: 2, rows: 10, unstated: 0 },
  { seed: 'F4', digits: 2, rows: 10, unstated: 0 },
  { seed: 'F5', digits: 2, rows: 10, unstated: 0 },
]

/** The verbs of the store whose options are named, and the files that declare those. */
const VERB_FILES = [
  'src/store/config/store-options.ts',
  'src/store/store.ts',
  'src/store/search.ts',
  'src/store/rewind.ts',
  'src/store/undo-if-fits.ts',
  'src/store/requests/options.ts',
  'src/store/config/run-config.ts',
  'src/core/tokens/budget.ts',
  'src/store/config/settings.ts',
]

type Line = {
  readonly ids: readonly string[]
  readonly fulfils: string
  readonly tests: string
  readonly state: string
}

const lines = read('docs/internals/seeds.md')
  .split('\n')
  .filter((line) => /^\| [SF]\d-/.test(line))
  .map(lineOf)

function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8')
}

function lineOf(text: string): Line {
  const [rows = '', fulfils = '', tests = '', state = '', ...more] = text.split(' | ')
  expect(more, text).toEqual([])
  const ids = rows
    .replace(/^\|/, '')
    .split(',')
    .flatMap((part) => expand(part.trim()))
  return { ids, fulfils, tests, state: state.replace(/\|\s*$/, '').trim() }
}

/** `S3-194..S3-196` as its three ids, an id as itself. */
function expand(range: string): string[] {
  const [from = '', to] = range.split('..')
  if (to === undefined) return [from]
  const [, head, first] = /^([SF]\d-U?)(\d+)$/.exec(from) ?? []
  const [, sameHead, last] = /^([SF]\d-U?)(\d+)$/.exec(to) ?? []
  if (head === undefined || head !== sameHead || Number(first) >= Number(last)) throw new Error(range)
  return Array.from({ length: Number(last) - Number(first) + 1 }, (_, at) =>
    idOf(head, Number(first) + at, first!.length),
  )
}

function idOf(head: string, number: number, digits: number): string {
  return `${head}${String(number).padStart(digits, '0')}`
}

/** Everything in backticks. */
function quoted(cell: string): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name!)
}

const isDone = ({ state }: Line): boolean => state === 'done' || state.startsWith('differs: ')

/** The file that declares each exported name, types included. */
const fileOfExport = new Map<string, string>()
const EXPORTS = ENTRY_FILES.flatMap((entry) =>
  [...read(entry).matchAll(/^export (?:type )?\{([^}]*)\} from '(\.[^']+)'/gm)].map(
    ([, names, file]) => [names, join(dirname(entry), file!)] as const,
  ),
)
for (const [names, file] of EXPORTS) {
  for (const entry of names!.split(',')) {
    const name = entry
      .trim()
      .replace(/^type /, '')
      .split(' as ')
      .at(-1)
    if (name) fileOfExport.set(name, file)
  }
}

/** What is wrong with a name in backticks; `undefined` when it stands for something. */
function problemWith(name: string): string | undefined {
  const [owner = '', field] = name.split('.')
  if (name.startsWith('npm run ')) {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
    return Object.hasOwn(scripts, name.slice('npm run '.length)) ? undefined : 'no such script'
  }
  if (name.startsWith('npx ')) return undefined
  if (name.startsWith('undertext ')) return problemWithCommand(name.split(' ').slice(1))
  if (owner === 'store') return hasMethod(name.slice('store.'.length)) ? undefined : 'no method of the store'
  if (field === undefined) {
    if (!fileOfExport.has(name)) return 'no export'
    const isType = /^[A-Z][a-z]/.test(name) && !Object.hasOwn(undertext, name)
    return isType || Object.hasOwn(undertext, name) ? undefined : 'no export at run time'
  }
  const files = [fileOfExport.get(owner), ...(hasMethod(owner) ? VERB_FILES : [])].filter(
    (file) => file !== undefined,
  )
  const declares = new RegExp(`\\b${field}\\??\\s*[:(<]`)
  const found = files.some((file) => declares.test(read(file)))
  return found ? undefined : `not in ${files.join(', ')}`
}

/** A command of the command line, and options it has. */
function problemWithCommand([name = '', ...options]: readonly string[]): string | undefined {
  const command = COMMANDS.find((one) => one.name === name)
  if (command === undefined) return 'no command'
  const known = command.declare(new Command()).options.map(({ long }) => long)
  const missing = options.filter((option) => !known.includes(option))
  return missing.length === 0 ? undefined : `no option ${missing.join(', ')}`
}

function hasMethod(name: string): boolean {
  return STORE_METHODS.includes(name)
}

describe('docs/internals/seeds.md', () => {
  it('names every row once', () => {
    const expected = COUNTS.flatMap(({ seed, digits, rows, unstated }) => [
      ...Array.from({ length: rows }, (_, at) => idOf(`${seed}-`, at + 1, digits)),
      ...Array.from({ length: unstated }, (_, at) => idOf(`${seed}-U`, at + 1, 2)),
    ])
    expect(expected).toHaveLength(631 + 70 + 50)
    const named = lines.flatMap(({ ids }) => ids)
    expect(
      named.filter((id, at) => named.indexOf(id) !== at),
      'named twice',
    ).toEqual([])
    expect(
      expected.filter((id) => !named.includes(id)),
      'missing',
    ).toEqual([])
    expect(
      named.filter((id) => !expected.includes(id)),
      'no such row',
    ).toEqual([])
  })

  const checklist = sharedPath('spec/seeds-checklist.md')
  it.skipIf(checklist === undefined)('names the rows of the checklist itself', () => {
    const rows = [...readFileSync(checklist!, 'utf8').matchAll(/^\| ((?:S[0-4]|F[1-5])-U?\d+) \|/gm)].map(
      ([, id]) => id!,
    )
    const named = lines.flatMap(({ ids }) => ids)
    expect([...named].sort()).toEqual([...new Set(rows)].sort())
  })

  it('has a state for each', () => {
    const strange = lines.filter(({ state }) => !/^(done|open|not a capability|differs: .{10,})$/.test(state))
    expect(strange.map(({ ids, state }) => [ids[0], state])).toEqual([])
  })

  it('names nothing done that is not there', () => {
    expect(fileOfExport.size).toBeGreaterThan(100)
    const wrong = lines.filter(isDone).flatMap(({ ids, fulfils }) =>
      quoted(fulfils).flatMap((name) => {
        const problem = problemWith(name)
        return problem === undefined ? [] : [`${ids[0]}: ${name}: ${problem}`]
      }),
    )
    expect(wrong).toEqual([])
  })

  it('names a test for all that is done, in a file that has it', () => {
    const wrong = lines.filter(isDone).flatMap(({ ids, tests }) => {
      const cells = tests.split('; ')
      return cells.flatMap((cell) => {
        const [, path, name] = /^`([^`]+)`(?: › (.+))?$/.exec(cell.trim()) ?? []
        if (path === undefined) return [`${ids[0]}: ${cell}`]
        if (!existsSync(join(ROOT, path))) return [`${ids[0]}: ${path} is not there`]
        return name === undefined || read(path).includes(name) ? [] : [`${ids[0]}: ${path} has no "${name}"`]
      })
    })
    expect(wrong).toEqual([])
  })

  it('notices what is not there', () => {
    expect(problemWith('getContextStats')).toBe('no export')
    expect(problemWith('store.getContextStats')).toBeUndefined()
    expect(problemWith('store.constructo')).toBe('no method of the store')
    expect(problemWith('repairToolPairs')).toBeUndefined()
    expect(problemWith('repairToolPairs.orphan')).toBe('not in src/compat/arrays/repair-tool-pairs.ts')
    expect(problemWith('RepairResult.repaired')).toBeUndefined()
    expect(problemWith('compactSession.enablePruning')).toMatch(/^not in/)
    expect(problemWith('RepairResults')).toBe('no export')
    expect(problemWith('npm run nothing')).toBe('no such script')
    expect(problemWith('undertext chat --compact-threshold')).toBeUndefined()
    expect(problemWith('undertext chat --compact-treshold')).toBe('no option --compact-treshold')
    expect(problemWith('undertext chant')).toBe('no command')
    expect(() => expand('S3-U01..S3-12')).toThrow()
    expect(expand('S3-009..S3-011')).toEqual(['S3-009', 'S3-010', 'S3-011'])
  })
})
