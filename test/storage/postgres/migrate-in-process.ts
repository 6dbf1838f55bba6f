import { migrate } from '../../../src/storage/postgres/migrate.ts'
import { poolDriver } from './servers.ts'

/* A process of its own: migrates a schema at a given moment. */

const [host = '', schema = '', start = '0'] = process.argv.slice(2)
const driver = poolDriver(host)
while (Date.now() < Number(start)) await new Promise((resolve) => setTimeout(resolve, 1))
await migrate(driver, { schema, readonly: false })
await driver.end()
