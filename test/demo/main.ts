/*
 * npm run demo                  an agent works until its context is nearly full
 * npm run demo -- FILE.jsonl    the same with a transcript of your own
 *
 * One process (record.ts) stores the conversation and ends; another (reopen.ts) opens the file, compacts, audits
 * and undoes. This one starts them over a temporary folder and takes the folder away.
 */
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { UNUSABLE } from './exit-codes.ts'
import { complain, print } from './screen.ts'
import { inTurn } from './supervise.ts'

const USAGE = 'Usage: npm run demo [-- FILE.jsonl]'

const recorder = fileURLToPath(new URL('record.ts', import.meta.url))
const reopener = fileURLToPath(new URL('reopen.ts', import.meta.url))

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { help: { type: 'boolean', short: 'h' } },
  })
  if (values.help) {
    print(USAGE)
    return 0
  }
  if (positionals.length > 1) {
    complain(`One file at a time. ${USAGE}`)
    return UNUSABLE
  }
  return inTurn((folder) => [
    [recorder, folder, ...positionals],
    [reopener, folder],
  ])
}

try {
  process.exitCode = await main()
} catch (error) {
  if (!(error as NodeJS.ErrnoException).code?.startsWith('ERR_PARSE_ARGS')) throw error
  complain(USAGE)
  process.exitCode = UNUSABLE
}
