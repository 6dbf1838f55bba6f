import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'

/** The text of a file that an option names, without a mark of byte order. Rejects with the system's error, which names the file. */
export async function readTextFile(cwd: string, path: string): Promise<string> {
  const file = resolve(cwd, path)
  try {
    return (await readFile(file, 'utf8')).replace(/^\ufeff/, '')
  } catch (error) {
    // Of a folder the system does not say which.
    throw error instanceof Error ? Object.assign(error, { path: file }) : error
  }
}
