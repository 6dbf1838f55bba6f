import { setImmediate as turn } from 'node:timers/promises'
import { openStore } from '../../src/index.ts'

/* Appends to one session while texts without a break, and others that no one expects, are stored, indexed and searched. */

const [file] = process.argv.slice(2)
const store = await openStore(file!, { durability: 'normal' })

/** Texts of 13 MB in UTF-8 are of 4.3 million characters. */
const MONSTERS: readonly [word: string, text: string][] = [
  ['กา', 'กา'.repeat(2_200_000)],
  ['漢字', '漢字'.repeat(2_200_000)],
  ['한글', '한글'.repeat(2_200_000)],
  ['漢', '漢/'.repeat(300_000)],
  ['lamp', `${'['.repeat(1_000_000)}lamp`],
  ['deep', `${'{"deep":'.repeat(50_000)}1${'}'.repeat(50_000)}`],
  ['sofa', `${'e\u0301'.repeat(500_000)} sofa`],
  ['word9', Array.from({ length: 100_000 }, (_, at) => `word${at}`).join(' ')],
  ['blanks', `cd x |${' '.repeat(500_000)}blanks`],
  ['desk', `${'\ud800'.repeat(100_000)}desk`],
]

// The index is in use from now on, so that appends offer it to the background.
await store.append('talk', [{ role: 'user', content: 'kettle' }])
await store.search('kettle')

let [appended, isOver] = [1, false]
const appending = (async () => {
  while (!isOver) {
    await store.append('talk', [{ role: 'user', content: `teapot ${appended}` }])
    appended++
    await turn()
  }
})()

/** Words of texts that were not found. */
const lost: string[] = []
for (const [at, [word, text]] of MONSTERS.entries()) {
  await store.append(`monster ${at}`, [{ role: 'user', content: text }])
  const { hits } = await store.search(word, { session: `monster ${at}` })
  if (hits.length !== 1) lost.push(word)
}
const everywhere = await store.search('teapot')
isOver = true
await appending
const { messages } = (await store.sessions.get('talk', { counts: true })).counts
await store.close()
console.log(JSON.stringify({ lost, everywhere: everywhere.hits.length > 0, appended, messages }))
