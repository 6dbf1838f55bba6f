import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

/*
 * Test files by time: `*.test.ts` run in `npm test` (5 minutes), `*.slow.ts` in `npm run test:slow` and CI (13 minutes),
 * `*.long.ts` in `npm run test:long` only (hours). TESTS selects: unset, `slow` (these alone), `all` (both), or `platform` (those of
 * both that depend on Node, the driver, or the version of an SDK); LONG=1 runs all three, with many more random sequences.
 */
const isLong = process.env.LONG === '1'
const ENDINGS = isLong
  ? ['test', 'slow', 'long']
  : ({ slow: ['slow'], all: ['test', 'slow'], platform: ['test', 'slow'] }[process.env.TESTS ?? ''] ?? [
      'test',
    ])

/** One seed, so that every run is the same; the long mode, and `SEED=random`, look for new cases. */
const given = process.env.SEED ?? (isLong ? 'random' : '1')
const seed = given === 'random' ? String(Date.now() % 1_000_000) : given

const filesOf = (...paths: string[]): string[] =>
  paths.flatMap((path) => ENDINGS.map((ending) => `${path}.${ending}.ts`))
const suitesIn = (...folders: string[]): string[] => filesOf(...folders.map((folder) => `${folder}/**/*`))
const quick = (files: string[]): string[] => files.filter((file) => file.endsWith('.test.ts'))
const slower = (files: string[]): string[] => files.filter((file) => !file.endsWith('.test.ts'))

/** Pure functions, and the storage contract in memory: the same on every Node and with every driver. `npm run test:fast`. */
const PURE = [
  ...suitesIn('test/{core,plain,importance,estimators,formats,files,strategies,validity}'),
  ...filesOf('test/storage/model'),
]
/** No processes and no global changes, like the pure suites: these share their modules, which halves their time. */
const SHARING = suitesIn('test/{config,source,summarizers,stages,replays,seeds}')
/** Readers of files, documents, and commands within this process: the same on every Node too, and they share their modules. */
const FACES = suitesIn('test/transfer', 'test/cli')
/** The suites among them that start the program or other processes. */
const PROGRAM = [...suitesIn('test/cli/pty'), ...filesOf('test/cli/process', 'test/cli/completion')]
/** What needs a PostgreSQL server or PGlite: the same on every Node and with every version of better-sqlite3. */
const SERVER = [
  ...suitesIn('test/storage/postgres'),
  ...filesOf('test/random/postgres', 'test/mcp/postgres', 'test/cli/postgres', 'test/cli/move'),
]
/** The examples of the pages, and the demo. */
const PAGES = [...filesOf('test/readme', 'test/**/*docs'), ...suitesIn('test/demo')]

/** The database file and its driver, processes and signals, the published program and package, and the SDKs of which newer versions run. */
const PLATFORM = [
  ...suitesIn('test/{crashes,disk,processes,ai-sdk,openai,google,anthropic}'),
  ...filesOf(
    'test/storage/{sqlite,guards,connection,upgrade,driver,files}',
    'test/store/opening',
    'test/mcp/wire',
    'test/background/kills',
  ),
  ...filesOf(
    'test/recall/frameworks',
    'test/request/{meter,added,refused-everywhere}',
    'test/{package,version}',
  ),
]

/** Suites that run once more over a storage that returns late, as a storage over a network does. The long mode runs all of them. */
const LATE = isLong
  ? [
      ...filesOf('test/storage/late', 'test/states', 'test/bad-input'),
      ...suitesIn('test/{background,compaction,history,import,random,request,store,turn}'),
    ]
  : filesOf('test/storage/late', 'test/background/ends')
/** Exceptions: tests that step a clock while the storage must return, and one of the driver's own errors. */
const NEVER_LATE = [...filesOf('test/background/rows', 'test/store/opening'), ...PAGES]

/** What the other projects run. */
const IN_OTHERS = [...PURE, ...SHARING, ...FACES, ...SERVER, ...PAGES, ...filesOf('test/storage/late')]

const project = (name: string, include: string[], exclude: string[], options: object = {}) => ({
  extends: true as const,
  test: { name, include, exclude, ...options },
})

export default defineConfig({
  test: {
    testTimeout: isLong ? 3_600_000 : 60_000,
    hookTimeout: 120_000,
    env: { SEED: seed },
    setupFiles: ['test/support/seed.ts', 'test/support/setup.ts'],
    pool: 'forks',
    passWithNoTests: true,
    // Much of the suite waits for processes, disks and leases.
    maxWorkers: availableParallelism() + 1,
    projects: [
      project('pure', PURE, PAGES, { isolate: false }),
      project('sharing', SHARING, PAGES, { isolate: false }),
      project('faces', FACES, [...PROGRAM, ...SERVER, ...PAGES], { isolate: false }),
      project('program', PROGRAM, []),
      project('server', SERVER, []),
      project('pages', PAGES, []),
      project('late', LATE, NEVER_LATE, { setupFiles: ['test/support/late-storage.ts'] }),
      // To load the store for each file takes as long as half of the tests. The slow ones measure memory and replace modules.
      project('store', quick(suitesIn('test')), IN_OTHERS, { isolate: false }),
      project('alone', slower(suitesIn('test')), IN_OTHERS),
      project('platform', process.env.TESTS === 'platform' ? PLATFORM : [], PAGES),
    ],
  },
})
