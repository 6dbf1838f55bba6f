import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Folder } from './folder.ts'
import { medianBlocks } from './rounds.ts'

const PACKAGE = new URL('../../dist/index.js', import.meta.url).href
const ROUNDS = 15

/** Milliseconds that a new process needs to import the package, open a file and answer the first stats, beyond Node's own start. */
export async function coldStart(folder: Folder, name: string): Promise<number> {
  const program = `
    const { openStore } = await import(${JSON.stringify(PACKAGE)})
    const store = await openStore(${JSON.stringify(folder.file(name))})
    if ((await store.getContextStats('s')) === null) process.exit(1)`
  const run = (source: string) => (): void => {
    const { status } = spawnSync(process.execPath, ['--input-type=module', '--eval', source], {
      cwd: fileURLToPath(new URL('.', import.meta.url)),
      stdio: 'ignore',
    })
    if (status !== 0) throw new Error('the process that starts cold did not end well')
  }
  const timeOf = await medianBlocks(
    [
      { name: 'package', block: run(program) },
      { name: 'node', block: run('await 0') },
    ],
    ROUNDS,
  )
  return timeOf('package') - timeOf('node')
}
