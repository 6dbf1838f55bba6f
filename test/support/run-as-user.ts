import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
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

const { exports: ENTRIES } = JSON.parse(readFileSync(join(REPOSITORY, 'package.json'), 'utf8')) as {
  readonly exports: Readonly<Record<string, { readonly default: string }>>
}

/** Code with the package's names resolved to the sources. */
export function resolved(code: string): string {
  return code.replaceAll(/from 'undertext(\/[a-z/-]+)?'/g, (_, entry = '') => {
    const built = ENTRIES[`.${entry}`]!.default
    return `from ${JSON.stringify(join(REPOSITORY, built.replace('dist', 'src').replace(/js$/, 'ts')))}`
  })
}

/** Runs code as a user would, in a folder of its own, with the package's name resolved to the sources. Answers what it printed. */
export async function runAsUser(code: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'undertext-example-'))
  try {
    const file = join(folder, 'example.mts')
    await symlink(join(REPOSITORY, 'node_modules'), join(folder, 'node_modules'))
    await writeFile(file, resolved(code))
    const tsx = join(REPOSITORY, 'node_modules', 'tsx', 'dist', 'cli.mjs')
    const { stdout } = await run(process.execPath, [tsx, file], { cwd: folder })
    return stdout
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/**
 * Runs a script of a folder of examples as a user would, in a copy of the folder, with the package's names resolved to the sources.
 * `env` goes in place of the process's own variables, save those Node needs.
 */
export async function runExample(
  folder: string,
  script: string,
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  const copy = await mkdtemp(join(tmpdir(), 'undertext-example-'))
  try {
    await writeFile(join(copy, 'package.json'), '{ "type": "module" }')
    await symlink(join(REPOSITORY, 'node_modules'), join(copy, 'node_modules'))
    for (const file of await readdir(join(REPOSITORY, folder))) {
      const code = await readFile(join(REPOSITORY, folder, file), 'utf8')
      await writeFile(join(copy, file), resolved(code))
    }
    const tsx = join(REPOSITORY, 'node_modules', 'tsx', 'dist', 'cli.mjs')
    const { PATH = '' } = process.env
    const { stdout } = await run(process.execPath, [tsx, script], { cwd: copy, env: { PATH, ...env } })
    return stdout
  } finally {
    await rm(copy, { recursive: true, force: true })
  }
}
