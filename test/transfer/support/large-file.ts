import { execFile } from 'node:child_process'
import { closeSync, openSync, writeSync } from 'node:fs'
import { promisify } from 'node:util'
import type { ImportTotals } from '../../../src/transfer/index.ts'

const run = promisify(execFile)

/** Writes a transcript of about this size, one message a line; answers how many messages it has. */
export function writeTranscript(path: string, bytes: number): number {
  const words = 'Words in "quotes", {brackets] and\na second line. '.repeat(40)
  const file = openSync(path, 'w')
  let messages = 0
  try {
    for (let size = 0; size < bytes; ) {
      const lines: string[] = []
      for (let i = 0; i < 200; i++, messages++)
        lines.push(
          JSON.stringify({
            role: messages % 2 === 0 ? 'user' : 'assistant',
            content: `${messages} ${words}`,
          }),
        )
      size += writeSync(file, `${lines.join('\n')}\n`)
    }
  } finally {
    closeSync(file)
  }
  return messages
}

export type ChildImport = { readonly totals: ImportTotals; readonly heap: number }

/** Imports a file in a process whose heap may not be larger than this many megabytes. */
export async function importInProcess(
  script: string,
  store: string,
  file: string,
  heapMegabytes: number,
): Promise<ChildImport> {
  const args = [`--max-old-space-size=${heapMegabytes}`, script, store, file]
  const { stdout } = await run(process.execPath, args)
  return JSON.parse(stdout) as ChildImport
}
