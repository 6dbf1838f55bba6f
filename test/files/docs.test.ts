import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

const run = promisify(execFile)
const REPOSITORY = join(import.meta.dirname, '..', '..')
const DOCS = readFileSync(join(REPOSITORY, 'docs', 'files-and-tool-outputs.md'), 'utf8')

/** Runs code as a user would, in a folder of its own, with the package's name resolved to the sources. */
async function runAsUser(code: string): Promise<string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'undertext-docs-'))
  try {
    const file = join(folder, 'example.mts')
    const source = join(REPOSITORY, 'src', 'index.ts')
    await writeFile(file, code.replaceAll("from 'undertext'", `from ${JSON.stringify(source)}`))
    const tsx = join(REPOSITORY, 'node_modules', 'tsx', 'dist', 'cli.mjs')
    const { stdout } = await run(process.execPath, [tsx, file], { cwd: folder })
    return stdout.trim().split('\n')
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

const blocks = [...DOCS.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code]) => code!)

it('has examples that do what they say', async () => {
  expect(blocks.length).toBe(3)
  const model =
    "const askYourModel = async (prompt: string, _: AbortSignal) => 'Many words, ' + (prompt.length > 1000)"
  const printed = await Promise.all(blocks.map((code) => runAsUser(`${model}\n${code}`)))
  expect(printed).toEqual([
    // 12 tokens are 10 units, 40 characters: the first sentence has 32.
    ['true true A first sentence of some length....'],
    // 9 × 20 + 90 × 21 + 900 × 22 + 4,001 × 23 bytes, and 4,999 breaks.
    ['true 118892 true', '101 4900'],
    // (128,000 − 4,000 − 60,000) × 0.6 = 38,400 tokens are too few for the large file's 138,000, so it is cut.
    ['true 2 1', 'src/small.ts: kept, docs/large.md: summarized', 'true'],
  ])
})
