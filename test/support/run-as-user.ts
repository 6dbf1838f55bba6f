import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url))

/** The code blocks of a page marked as TypeScript, in order. */
export function examplesOf(page: string): string[] {
  return [...page.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code = '']) => code)
}

/** Runs code as a user would, in a folder of its own, with the package's name resolved to the sources. Answers what it printed. */
export async function runAsUser(code: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'undertext-example-'))
  try {
    const file = join(folder, 'example.mts')
    const source = join(REPOSITORY, 'src', 'index.ts')
    await writeFile(file, code.replaceAll("from 'undertext'", `from ${JSON.stringify(source)}`))
    const tsx = join(REPOSITORY, 'node_modules', 'tsx', 'dist', 'cli.mjs')
    const { stdout } = await run(process.execPath, [tsx, file], { cwd: folder })
    return stdout
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
