import type { Dirent } from 'node:fs'
import { readdir, realpath, stat } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { newNameSchema } from '../../../core/messages/check.ts'
import { stemOf } from '../../../transfer/session-rows.ts'

/** A file, a folder, or a folder that cannot be read, by its path below the given folder; `/` separates names on every system. */
type FolderEntry = { readonly path: string; readonly kind: 'file' | 'folder' | 'unreadable' }

/**
 * Folders that are skipped: packages, and the folders in which Claude Code and Roo Code store large tool outputs, which may look like
 * conversations.
 */
const SKIPPED: ReadonlySet<string> = new Set(['node_modules', 'tool-results', 'command-output'])

/**
 * Lists a folder, its files, and the files of all folders in it, by name, with one folder's names in memory at a time. Hidden files are
 * skipped, and so are links to folders and to files within the given folder. Without `follow` all links are skipped, so that nothing
 * outside of the folder is read.
 */
export async function* filesIn(root: string, follow: boolean): AsyncGenerator<FolderEntry, void, undefined> {
  const real = await realpath(root).catch(() => root)
  yield* filesBelow(root, '', follow ? real : undefined)
}

async function* filesBelow(
  root: string,
  below: string,
  real: string | undefined,
): AsyncGenerator<FolderEntry, void, undefined> {
  const entries = await entriesOf(join(root, below))
  yield { path: below, kind: entries === undefined ? 'unreadable' : 'folder' }
  for (const entry of entries ?? []) {
    const { name } = entry
    const path = below === '' ? name : `${below}/${name}`
    if (name.startsWith('.')) continue
    if (entry.isDirectory()) {
      if (!SKIPPED.has(name)) yield* filesBelow(root, path, real)
    } else if (entry.isFile() || (entry.isSymbolicLink() && (await isLinkToFile(join(root, path), real))))
      yield { path, kind: 'file' }
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

/** Whether a link leads to a file outside of the folder; one within it is found by its own name. */
async function isLinkToFile(link: string, root: string | undefined): Promise<boolean> {
  if (root === undefined) return false
  try {
    const target = await realpath(link)
    return !target.startsWith(`${root}${sep}`) && (await stat(target)).isFile()
  } catch {
    return false
  }
}

/**
 * The name of a conversation without an id in a file of a folder: its path, since every folder may have files of the same name. Empty if
 * the path can't be a name.
 */
export function nameWithin(path: string): { readonly name?: string } {
  const name = stemOf(path)
  return newNameSchema.safeParse(name).success ? { name } : {}
}
