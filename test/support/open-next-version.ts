import { openStore } from '../../src/index.ts'
import { Connection } from '../../src/storage/sqlite/connection.ts'
import { beNext } from './next-version.ts'

/*
 * A process of its own: opens a file as the made-up next version of the schema at a given moment. With a number it kills itself before
 * that statement of the migration.
 */

const [file = '', start = '0', killAt] = process.argv.slice(2)
beNext('sqlite')
if (killAt !== undefined) {
  const { script } = Connection.prototype
  let count = 0
  Connection.prototype.script = function (this: Connection, sql: string) {
    if (count++ === Number(killAt)) process.kill(process.pid, 'SIGKILL')
    return script.call(this, sql)
  }
}
while (Date.now() < Number(start)) await new Promise((resolve) => setTimeout(resolve, 1))
await (await openStore(file, { env: false })).close()
