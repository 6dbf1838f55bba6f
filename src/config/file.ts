import { readFile, stat } from 'node:fs/promises'
import { invalid } from '../errors.ts'
import { isObject } from '../messages/json.ts'
import { readSettings } from './layers.ts'
import type { LayerValues } from './settings.ts'

/** A file of settings is no larger, bytes. */
const MOST_BYTES = 1024 * 1024

/**
 * The settings a file gives: JSON or TOML, by what it begins with. When it has a table `undertext` or `memory`, those two
 * are read and the rest is somebody else's; otherwise all of it is ours. Names may be written_so.
 *
 * `what` is what errors call the file: never its path, which may come from the environment. Throws `INVALID_INPUT`.
 */
export async function readConfigFile(path: string, what: string): Promise<LayerValues> {
  const content = await parseFile(await readText(path, what), what)
  const isShared = isObject(content.undertext) || isObject(content.memory)
  if (!isShared) return readSettings(content, what, true)
  const { undertext = {}, memory } = content
  if (!isObject(undertext)) throw invalid(`${what}: undertext must be a table`)
  return readSettings(isObject(memory) ? { memory, ...undertext } : undertext, what, true)
}

async function readText(path: string, what: string): Promise<string> {
  try {
    const { size } = await stat(path)
    if (size > MOST_BYTES) throw invalid(`${what}: the file is larger than ${MOST_BYTES} bytes`)
    return (await readFile(path, 'utf8')).replace(/^\ufeff/, '')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'INVALID_INPUT') throw error
    throw invalid(`${what}: the file cannot be read (${code ?? 'unknown'})`)
  }
}

async function parseFile(text: string, what: string): Promise<{ readonly [name: string]: unknown }> {
  const isJson = text.trimStart().startsWith('{')
  const content = isJson ? parseJson(text, what) : await parseToml(text, what)
  if (!isObject(content)) throw invalid(`${what}: must be a table of settings`)
  return content
}

function parseJson(text: string, what: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // The parser's own sentence quotes the file.
    throw invalid(`${what}: the file is no valid JSON`)
  }
}

async function parseToml(text: string, what: string): Promise<unknown> {
  // Only stores with such a file pay for its parser.
  const { parse, TomlError } = await import('smol-toml')
  try {
    return parse(text)
  } catch (error) {
    const where = error instanceof TomlError ? ` (line ${error.line}, column ${error.column})` : ''
    throw invalid(`${what}: the file is no valid TOML${where}`)
  }
}
