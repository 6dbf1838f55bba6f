import { openStore } from '../../src/index.ts'

/*
 * A process of its own for the tests of files: opens a store at a given moment and appends ten messages, or
 * appends for ever and tells each position that was acknowledged.
 */

const [file = '', name = '', start = '0', forever] = process.argv.slice(2)
while (Date.now() < Number(start)) await new Promise((resolve) => setTimeout(resolve, 1))
const store = await openStore(file)
for (let count = 1; forever !== undefined || count <= 10; count++) {
  const { position } = await store.append('shared', [{ role: 'user', content: `${name} ${count}` }])
  if (forever !== undefined) {
    process.stdout.write(`${position}\n`)
    await new Promise((resolve) => setImmediate(resolve))
  }
}
await store.close()
