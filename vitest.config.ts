import { defineConfig } from 'vitest/config'

/** `LONG=1` (npm run test:long) runs the slow suites too, with many more random sequences. */
const long = process.env.LONG === '1'

/** What needs no process, file or clock of its own and changes nothing global: these share their modules, which halves their time. */
const SHARING =
  'test/{core,plain,importance,estimators,formats,files,strategies,config,summarizers,stages,replays,seeds}'
/** What is the same on every Node and with every driver: the second leg of CI leaves it out. */
const PURE = 'test/{core,plain,importance,estimators,formats,files,strategies}'

const suites = (folder: string): string[] => [
  `${folder}/**/*.test.ts`,
  ...(long ? [`${folder}/**/*.long.ts`] : []),
]

export default defineConfig({
  test: {
    testTimeout: long ? 3_600_000 : 60_000,
    hookTimeout: 120_000,
    pool: 'forks',
    projects: [
      { extends: true, test: { name: 'pure', include: suites(PURE), isolate: false } },
      {
        extends: true,
        test: {
          name: 'sharing',
          include: suites(SHARING),
          exclude: [...suites(PURE), 'test/**/docs.test.ts'],
          isolate: false,
        },
      },
      {
        extends: true,
        test: {
          name: 'pages',
          include: ['test/readme.test.ts', ...suites('test/demo'), 'test/**/docs.test.ts'],
          exclude: suites(PURE),
        },
      },
      {
        extends: true,
        test: {
          name: 'store',
          include: suites('test'),
          exclude: [
            ...suites(SHARING),
            'test/readme.test.ts',
            ...suites('test/demo'),
            'test/**/docs.test.ts',
          ],
        },
      },
    ],
  },
})
