import { defineConfig } from 'vitest/config'

/** `LONG=1` (npm run test:long) runs the slow suites too, with many more random sequences. */
const long = process.env.LONG === '1'

export default defineConfig({
  test: {
    include: long ? ['test/**/*.test.ts', 'test/**/*.long.ts'] : ['test/**/*.test.ts'],
    testTimeout: long ? 3_600_000 : 60_000,
    hookTimeout: 120_000,
    pool: 'forks',
  },
})
