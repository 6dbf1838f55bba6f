import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url))

/** Sources and scripts as JavaScript, in a folder of their own. */
export type Compiled = { readonly script: (path: string) => string; readonly remove: () => void }

/**
 * Turns `src`, `test/support` and some further folders into JavaScript that plain Node runs. A process that has to
 * load a compiler first takes four times as long to start, and these tests start many.
 */
export function compile(...folders: readonly string[]): Compiled {
  const root = mkdtempSync(join(tmpdir(), 'undertext-compiled-'))
  for (const folder of ['src', 'test/support', ...folders]) {
    const files = readdirSync(join(REPOSITORY, folder), { recursive: true, encoding: 'utf8' })
    for (const file of files.filter((name) => name.endsWith('.ts'))) compileFile(root, join(folder, file))
  }
  writeFileSync(join(root, 'package.json'), '{ "type": "module" }')
  symlinkSync(join(REPOSITORY, 'node_modules'), join(root, 'node_modules'))
  return {
    script: (path) => join(root, path.replace(/\.ts$/, '.js')),
    remove: () => rmSync(root, { recursive: true, force: true }),
  }
}

function compileFile(root: string, path: string): void {
  const target = join(root, path.replace(/\.ts$/, '.js'))
  mkdirSync(dirname(target), { recursive: true })
  const { outputText } = ts.transpileModule(readFileSync(join(REPOSITORY, path), 'utf8'), {
    compilerOptions: {
      module: ts.ModuleKind.ESNext,
      target: ts.ScriptTarget.ES2022,
      rewriteRelativeImportExtensions: true,
    },
  })
  writeFileSync(target, outputText)
}
