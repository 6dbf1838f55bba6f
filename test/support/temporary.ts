import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const folders: string[] = []

/** Makes an empty folder. `test/support/setup.ts` removes it after the tests of the file. */
export function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'undertext-test-'))
  folders.push(folder)
  return folder
}

/** The path of a file that does not exist yet, in a folder of its own. */
export function newFile(name = 'chats.db'): string {
  return join(newFolder(), name)
}

export function removeFolders(): void {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
}
