import { execFileSync } from 'node:child_process'
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Bundled, bundle } from '../support/bundled.ts'

/** Megabytes of heap that 100,000 messages, 70 MB of text, may need. All contents at once need more. */
const HEAP = 220
const MESSAGES = 100_000

describe('a session of 100,000 messages', () => {
  let program: Bundled
  const fileOf = (name: string): string => join(program.folder, `${name}.db`)

  function run(file: string, task: string, count = 0): string {
    const args = [`--max-old-space-size=${HEAP}`, program.script, file, task, String(count)]
    return execFileSync(process.execPath, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
  }

  /** Does a task on a copy of a file. */
  function measured(
    name: string,
    task: string,
  ): { seconds: number; tokensBefore: number; tokensAfter: number } {
    const file = fileOf(`${name}-${task}`)
    copyFileSync(fileOf(name), file)
    return JSON.parse(run(file, task)) as { seconds: number; tokensBefore: number; tokensAfter: number }
  }

  beforeAll(async () => {
    program = await bundle('test/compaction/large-session.ts')
    run(fileOf('whole'), 'make', MESSAGES)
    run(fileOf('half'), 'make', MESSAGES / 2)
  })
  afterAll(() => program.remove())

  it.each(['compact', 'preview'])(
    '%s: fits a heap that its contents and their copies would not, in linear time',
    (task) => {
      const whole = measured('whole', task)
      const half = measured('half', task)

      expect(whole.tokensAfter).toBeLessThan(whole.tokensBefore / 100)
      expect(whole.seconds / half.seconds).toBeLessThanOrEqual(2.6)
    },
  )
})
