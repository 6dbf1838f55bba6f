import type { Dirent } from 'node:fs'
import { readdir, realpath, stat } from 'node:fs/promises'
import { join, sep } from 'node:path'

/** A file, or a folder within that cannot be gone through, by its path below the folder that was given; `/` stands between names everywhere. */
type FolderEntry = { readonly path: string; readonly isFolder: boolean }

/**
 * Folders that hold what is of no conversation, or a copy of what a tool once printed, which may look like one: those of packages, and where
 * Claude Code and Roo Code put large outputs.
 */
const PASSED_OVER: ReadonlySet<string> = new Set(['node_modules', 'tool-results', 'command-output'])

/**
 * Goes through a folder and all within it, by name. What begins with a dot is passed over, and so are links to folders, and to files that lie in
 * the folder themselves; with `follow` false all links are, so nothing outside of the folder is read. A folder that cannot be read is told as
 * such. Names of one folder at a time are held.
 */
export async function* filesIn(root: string, follow = true): AsyncGenerator<FolderEntry, void, undefined> {
  const real = await realpath(root).catch(() => root)
  yield* filesBelow(root, '', follow ? real : undefined)
}

async function* filesBelow(
  root: string,
  below: string,
  real: string | undefined,
): AsyncGenerator<FolderEntry, void, undefined> {
  const entries = await entriesOf(join(root, below))
  if (entries === undefined) yield { path: below, isFolder: true }
  for (const entry of entries ?? []) {
    const { name } = entry
    const path = below === '' ? name : `${below}/${name}`
    if (name.startsWith('.')) continue
    if (entry.isDirectory()) {
      if (!PASSED_OVER.has(name)) yield* filesBelow(root, path, real)
    } else if (entry.isFile() || (entry.isSymbolicLink() && (await leadsToFile(join(root, path), real))))
      yield { path, isFolder: false }
  }
}

async function entriesOf(folder: string): Promise<Dirent[] | undefined> {
  try {
    const entries = await readdir(folder, { withFileTypes: true })
    return entries.sort((a, b) => (a.name < b.name ? -1 : 1))
  } catch {
    return undefined
  }
}

/** Whether a link leads to a file elsewhere; of one that lies in the folder the name of its own counts. */
async function leadsToFile(link: string, root: string | undefined): Promise<boolean> {
  if (root === undefined) return false
  try {
    const target = await realpath(link)
    return !target.startsWith(`${root}${sep}`) && (await stat(target)).isFile()
  } catch {
    return false
  }
}

/** Whether something is a folder, by itself or by a link. */
export function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  )
}

/** How many files there are in a folder. */
export async function countFiles(root: string, follow: boolean): Promise<number> {
  let count = 0
  for await (const { isFolder } of filesIn(root, follow)) if (!isFolder) count += 1
  return count
}
