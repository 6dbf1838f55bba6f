import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { openStore } from '../../../src/index.ts'
import { live, standing, turned } from './story.ts'

/*
 * Writes a file of this version of the code, and what is in it, for later versions to open:
 *
 *   npx tsx test/storage/written/make.ts NAME
 *
 * makes NAME.db.gz and NAME.json beside this script (`npm run fix` formats it). Run it at the commit a change of the schema starts from; NAME is the number of
 * the schema and the commit. A file once made is never made again.
 */

const name = process.argv[2]
if (name === undefined) throw new Error('Give a name: the number of the schema and the commit.')
const folder = mkdtempSync(join(tmpdir(), 'undertext-written-'))
const file = join(folder, 'written.db')
const made = await openStore(file, { env: false })
await live(made)
const stood = await standing(made)
await made.close()
const bytes = readFileSync(file)
const store = await openStore(file, { env: false })
const written = { standing: stood, turned: await turned(store) }
await store.close()
const here = (end: string): string => fileURLToPath(new URL(`${name}${end}`, import.meta.url))
writeFileSync(here('.db.gz'), gzipSync(bytes, { level: 9 }), { flag: 'wx' })
writeFileSync(here('.json'), `${JSON.stringify(written, null, 1)}\n`, { flag: 'wx' })
rmSync(folder, { recursive: true })
