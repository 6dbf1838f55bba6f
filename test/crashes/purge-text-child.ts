import { createRequire } from 'node:module'
import type BetterSqlite3 from 'better-sqlite3'
import { openStore } from '../../src/index.ts'
import { interceptStatements } from './statements.ts'

/* A process that removes a text from a store, and is killed before or after its nth statement. Without a number it says how many there are. */

const [file = '', secret = '', killAt = ''] = process.argv.slice(2)
let statements = 0

const die = (): unknown => process.kill(process.pid, 'SIGKILL')
const store = await openStore(file)
const Database = createRequire(import.meta.url)('better-sqlite3') as typeof BetterSqlite3
interceptStatements(Database.prototype as never, (_, execute) => {
  statements += 1
  const isLast = statements === Number(killAt)
  if (isLast && statements % 2 === 0) die()
  const answer = execute()
  if (isLast) die()
  return answer
})
await store.privacy.purgeText('all', secret)
process.stdout.write(String(statements))
// It had fewer statements.
if (killAt !== '') die()
