import { existsSync } from 'node:fs'
import { cp, mkdir, readdir, realpath } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url))

/** Folders of installed packages worth reading: of each the first that this version of the package has. */
const PACKAGES = [
  { name: 'zod', folders: ['src/v4/core', 'v4/core'] },
  { name: 'drizzle-orm', folders: ['sqlite-core'] },
]

/** Copies what the agent works on: this repository's sources, and typed sources of packages it uses. */
export async function copyProject(folder: string): Promise<string> {
  await mkdir(folder, { recursive: true })
  const root = await realpath(folder)
  for (const name of ['src', 'package.json', 'tsconfig.json']) {
    if (existsSync(join(REPOSITORY, name)))
      await cp(join(REPOSITORY, name), join(root, name), { recursive: true })
  }
  for (const { name, folders } of PACKAGES) {
    const home = packageHome(name)
    const found = folders.find((one) => existsSync(join(home, one)))
    if (found === undefined) continue
    const target = join(root, 'node_modules', name, found)
    await cp(join(home, found), target, { recursive: true, filter: isTypedSource })
  }
  return root
}

/** All files of the copy, as the agent writes their paths. */
export async function filesOf(root: string, folder: string): Promise<string[]> {
  if (!existsSync(join(root, folder))) return []
  const entries = await readdir(join(root, folder), { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) =>
      join(entry.parentPath, entry.name)
        .slice(root.length + 1)
        .replaceAll('\\', '/'),
    )
    .sort()
}

function isTypedSource(path: string): boolean {
  const name = basename(path)
  return name !== 'tests' && (name.endsWith('.ts') || !name.includes('.'))
}

function packageHome(name: string): string {
  let folder = dirname(createRequire(import.meta.url).resolve(name))
  while (!existsSync(join(folder, 'package.json')) || !folder.replaceAll('\\', '/').endsWith(`/${name}`)) {
    if (dirname(folder) === folder) throw new Error(`The package ${name} is not installed here.`)
    folder = dirname(folder)
  }
  return folder
}
