import { fromUrl } from '../../../src/storage/postgres/drivers.ts'
import { migrate } from '../../../src/storage/postgres/migrate.ts'

/* A process of its own: migrates a schema at a given moment. */

const [url = '', schema = '', start = '0'] = process.argv.slice(2)
const driver = await fromUrl(url)
while (Date.now() < Number(start)) await new Promise((resolve) => setTimeout(resolve, 1))
await migrate(driver, { schema, readonly: false })
await driver.end()
