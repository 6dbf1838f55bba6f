import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { detectSource } from '../../../src/transfer/detect.ts'
import type { SourceEvent, SourceName } from '../../../src/transfer/source.ts'
import { FileInput } from '../../../src/transfer/source.ts'

/** A folder that is taken away when the test that asks for it is over. */
export async function folder(): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'undertext-transfer-'))
  onTestFinished(() => rm(made, { recursive: true, force: true }))
  return made
}

/** A file with this content: text as it stands, a list as JSON lines, an object as one JSON value. */
export async function fileWith(name: string, content: string | Uint8Array | object): Promise<string> {
  const path = join(await folder(), name)
  await writeFile(
    path,
    typeof content === 'string' || content instanceof Uint8Array ? content : textOf(content),
  )
  return path
}

function textOf(content: object): string {
  return Array.isArray(content)
    ? content.map((line) => `${JSON.stringify(line)}\n`).join('')
    : JSON.stringify(content)
}

export type ReadFile = { readonly source: SourceName; readonly events: readonly SourceEvent[] }

/** What a file is recognized as, and what its source tells of it. Refuses a file that is not recognized. */
export async function readFile(path: string, branches = false): Promise<ReadFile> {
  const input = await FileInput.open(path)
  try {
    const found = await detectSource(input)
    if (!('source' in found)) throw new Error(`not recognized: ${found.looks}`)
    if (found.source === 'history') throw new Error('a history has no source')
    const events: SourceEvent[] = []
    for await (const event of found.source.read(input, { branches })) events.push(event)
    return { source: found.source.name, events }
  } finally {
    await input.close()
  }
}
