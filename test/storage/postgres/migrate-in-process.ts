import { fromUrl } from '../../../src/storage/postgres/drivers.ts'
import { migrate } from '../../../src/storage/postgres/migrate.ts'
import { beNext } from '../../support/next-version.ts'

/* A process of its own: migrates a schema at a given moment, also to the made-up next version. */

const [url = '', schema = '', start = '0', version] = process.argv.slice(2)
if (version === 'next') beNext('postgres')
const driver = await fromUrl(url)
while (Date.now() < Number(start)) await new Promise((resolve) => setTimeout(resolve, 1))
await migrate(driver, { schema, readonly: false })
await driver.end()
