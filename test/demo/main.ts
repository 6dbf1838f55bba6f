/*
 * npm run demo                  an agent works until its context is nearly full
 * npm run demo -- FILE.jsonl    the same with a transcript of your own
 *
 * One process records the conversation and ends; another opens the file and does the rest.
 */
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { recordAgent } from './record-agent.ts'
import { recordTranscript } from './record-transcript.ts'
import { reopen } from './reopen.ts'
import { brokenClaims, paint, print } from './screen.ts'
import { BROKEN, supervise, UNUSABLE } from './supervise.ts'
import { UnusableFile } from './transcript.ts'

const USAGE = 'Usage: npm run demo [-- FILE.jsonl]'

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      help: { type: 'boolean', short: 'h' },
      // For the processes we start ourselves: the folder they share.
      record: { type: 'string' },
      reopen: { type: 'string' },
    },
  })
  const [file, ...more] = positionals
  if (values.help) {
    print(USAGE)
    return 0
  }
  if (more.length > 0) throw new UnusableFile(`One file at a time. ${USAGE}`)
  if (values.reopen !== undefined) await reopen(values.reopen)
  else if (values.record === undefined) return supervise(fileURLToPath(import.meta.url), file)
  else if (file === undefined) await recordAgent(values.record)
  else await recordTranscript(values.record, file)
  return brokenClaims() === 0 ? 0 : BROKEN
}

try {
  process.exitCode = await main()
} catch (error) {
  const isOption = (error as NodeJS.ErrnoException).code?.startsWith('ERR_PARSE_ARGS') === true
  if (!(error instanceof UnusableFile) && !isOption) throw error
  process.stderr.write(`${paint.red(isOption ? USAGE : (error as Error).message)}\n`)
  process.exitCode = UNUSABLE
}
