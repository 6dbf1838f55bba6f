import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

/** `LONG=1` (npm run test:long) runs the slow suites too, with many more random sequences. */
const long = process.env.LONG === '1'

/** One seed, so that the suite is the same wherever it runs; what nobody has met is looked for by the long mode, or with `SEED=random`. */
const given = process.env.SEED ?? (long ? 'random' : '1')
const seed = given === 'random' ? String(Date.now() % 1_000_000) : given

const suitesIn = (...folders: string[]): string[] =>
  folders.flatMap((folder) => [`${folder}/**/*.test.ts`, ...(long ? [`${folder}/**/*.long.ts`] : [])])

/** What is the same on every Node and with every driver: the second leg of CI leaves these and the pages out. */
const PURE = suitesIn('test/{core,plain,importance,estimators,formats,files,strategies}')
/** What starts no process and changes nothing global, as the pure: these share their modules, which halves their time. */
const SHARING = suitesIn('test/{config,summarizers,stages,replays,seeds}')
/** Readers of files, documents, and commands within this process: the same on every Node too, and they share their modules. */
const FACES = suitesIn('test/transfer', 'test/cli')
/** What of them runs the program, or other processes. */
const PROGRAM = [...suitesIn('test/cli/pty'), 'test/cli/process.test.ts', 'test/cli/completion.test.ts']
/** What runs pages and the demo. */
const PAGES = ['test/readme.test.ts', 'test/**/docs.test.ts', ...suitesIn('test/demo')]

/** Suites that run once more over a storage that returns late, as one over a network does; the long mode runs them all. */
const LATE = long
  ? [
      'test/{storage/late,states,bad-input}.test.ts',
      ...suitesIn('test/{background,compaction,history,import,random,request,store,turn}'),
    ]
  : ['test/storage/late.test.ts', 'test/background/ends.test.ts']
/** What they leave out: tests that step a clock while the storage must return, and one of the driver's own errors. */
const NEVER_LATE = ['test/background/rows.test.ts', 'test/store/opening.test.ts', ...PAGES]

export default defineConfig({
  test: {
    testTimeout: long ? 3_600_000 : 60_000,
    hookTimeout: 120_000,
    env: { SEED: seed },
    setupFiles: ['test/support/seed.ts'],
    pool: 'forks',
    // Left alone, two cores get one worker; much of the suite waits for processes and disks.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    projects: [
      { extends: true, test: { name: 'pure', include: PURE, isolate: false } },
      { extends: true, test: { name: 'sharing', include: SHARING, exclude: PAGES, isolate: false } },
      {
        extends: true,
        test: { name: 'faces', include: FACES, exclude: [...PROGRAM, ...PAGES], isolate: false },
      },
      { extends: true, test: { name: 'program', include: PROGRAM } },
      { extends: true, test: { name: 'pages', include: PAGES, exclude: PURE } },
      {
        extends: true,
        test: {
          name: 'late',
          include: LATE,
          exclude: NEVER_LATE,
          setupFiles: ['test/support/late-storage.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'store',
          include: suitesIn('test'),
          exclude: [...PURE, ...SHARING, ...FACES, ...PAGES, 'test/storage/late.test.ts'],
        },
      },
    ],
  },
})
