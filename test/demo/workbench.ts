import { execFile } from 'node:child_process'
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { dirname, join, relative, resolve, sep } from 'node:path'
import type { JsonObject, ToolResultOutput } from '../../src/index.ts'

/** Most lines a read shows at once, most files a listing names, most lines a search finds. */
const MOST_LINES = 260
const MOST_FILES = 120
const MOST_HITS = 30
/** Most characters a read shows at once. */
const MOST_CHARACTERS = 20_000
const COMMAND_TIMEOUT_MS = 20_000

/** One call of a tool: its name and its arguments. */
export type Call = { readonly tool: ToolName; readonly input: JsonObject }

/** What the tool answered: its output as text, and whether it failed. */
export type Answer = { readonly text: string; readonly failed: boolean }

export type ToolName = 'list_files' | 'read_file' | 'search' | 'edit_file' | 'write_file' | 'run'

/** The tools of an agent, working on the files of one folder and on no others. */
export class Workbench {
  readonly #root: string

  constructor(root: string) {
    this.#root = root
  }

  /** Uses a tool. What goes wrong is an answer too: an agent reads it and goes on. */
  async use({ tool, input }: Call): Promise<Answer> {
    const text = (name: string): string => String(input[name] ?? '')
    try {
      switch (tool) {
        case 'list_files':
          return done(await this.#list(text('path')))
        case 'read_file':
          return done(
            await this.#read(text('path'), Number(input.offset ?? 1), Number(input.limit ?? MOST_LINES)),
          )
        case 'search':
          return done(await this.#search(text('text'), text('path')))
        case 'edit_file':
          return done(await this.#edit(text('path'), text('old_text'), text('new_text')))
        case 'write_file':
          return done(await this.#write(text('path'), text('content')))
        case 'run':
          return await this.#run(text('command'))
      }
    } catch (error) {
      return { text: this.#withoutRoot(error instanceof Error ? error.message : String(error)), failed: true }
    }
  }

  async #list(path: string): Promise<string> {
    const files = await this.#filesIn(path)
    const shown = await Promise.all(
      files.slice(0, MOST_FILES).map(async (file) => {
        const { size } = await stat(this.#inside(file))
        return `${String(size).padStart(8)}  ${file}`
      }),
    )
    const more = files.length > MOST_FILES ? [`… and ${files.length - MOST_FILES} more`] : []
    return [...shown, ...more].join('\n')
  }

  async #read(path: string, offset: number, limit: number): Promise<string> {
    const lines = linesOf(await readFile(this.#inside(path), 'utf8'))
    const from = Math.max(1, offset)
    const shown = firstOf(lines.slice(from - 1, from - 1 + limit), MOST_CHARACTERS)
    if (shown.length === 0) throw new Error(`${path} has ${lines.length} lines; there is no line ${from}.`)
    const to = from + shown.length - 1
    const numbered = shown.map((line, at) => `${String(from + at).padStart(5)}  ${line}`).join('\n')
    return from === 1 && to === lines.length
      ? numbered
      : `${numbered}\n(lines ${from}-${to} of ${lines.length})`
  }

  async #search(wanted: string, path: string): Promise<string> {
    const hits: string[] = []
    for (const file of await this.#filesIn(path)) {
      const lines = linesOf(await readFile(this.#inside(file), 'utf8'))
      for (const [at, line] of lines.entries()) {
        if (line.includes(wanted)) hits.push(`${file}:${at + 1}: ${line.trim().slice(0, 160)}`)
      }
    }
    if (hits.length === 0) return `Nothing in ${path} contains this.`
    const more = hits.length > MOST_HITS ? [`… and ${hits.length - MOST_HITS} more`] : []
    return [...hits.slice(0, MOST_HITS), ...more].join('\n')
  }

  async #edit(path: string, oldText: string, newText: string): Promise<string> {
    const before = await readFile(this.#inside(path), 'utf8')
    const times = before.split(oldText).length - 1
    if (oldText === '' || times !== 1) {
      throw new Error(`old_text occurs ${times} times in ${path}; it must occur once. Nothing was changed.`)
    }
    await writeFile(
      this.#inside(path),
      before.replace(oldText, () => newText),
    )
    return `${path} was changed at line ${linesOf(before.slice(0, before.indexOf(oldText) + 1)).length}.`
  }

  async #write(path: string, content: string): Promise<string> {
    await mkdir(dirname(this.#inside(path)), { recursive: true })
    await writeFile(this.#inside(path), content)
    return `${path} was written, ${linesOf(content).length} lines.`
  }

  /** Runs `node` with arguments; other programs are not for this agent. */
  #run(command: string): Promise<Answer> {
    const [program, ...args] = command.split(' ')
    if (program !== 'node') throw new Error(`${program}: only node can be run here.`)
    const { NODE_OPTIONS: _, FORCE_COLOR: __, ...env } = process.env
    const options = { cwd: this.#root, env: { ...env, NO_COLOR: '1' }, timeout: COMMAND_TIMEOUT_MS }
    return new Promise((settle) => {
      execFile(process.execPath, args, options, (error, stdout, stderr) => {
        const code = error === null ? 0 : (error.code ?? error.signal)
        const text = `exit code ${code}\n${stdout}${stderr}`.trimEnd()
        settle({ text: this.#withoutRoot(text), failed: error !== null })
      })
    })
  }

  /** Paths of all files below a folder (or of one file), sorted, as the agent writes them. */
  async #filesIn(path: string): Promise<string[]> {
    const start = this.#inside(path)
    if ((await stat(start)).isFile()) return [path]
    const entries = await readdir(start, { recursive: true, withFileTypes: true })
    return entries
      .filter((entry) => entry.isFile())
      .map((entry) => relative(this.#root, join(entry.parentPath, entry.name)).split(sep).join('/'))
      .sort()
  }

  #inside(path: string): string {
    const full = resolve(this.#root, path)
    if (full !== this.#root && !full.startsWith(this.#root + sep))
      throw new Error(`${path} is outside the project.`)
    return full
  }

  /** Where the copy lies is nobody's business, and another place at each run. */
  #withoutRoot(text: string): string {
    return text.replaceAll(this.#root, '/project')
  }
}

function linesOf(text: string): string[] {
  const lines = text.split('\n')
  return lines.at(-1) === '' ? lines.slice(0, -1) : lines
}

/** As many of the lines as fit, and one at least. */
function firstOf(lines: readonly string[], characters: number): readonly string[] {
  let left = characters
  const end = lines.findIndex((line, at) => {
    left -= line.length + 1
    return left < 0 && at > 0
  })
  return end === -1 ? lines : lines.slice(0, end)
}

function done(text: string): Answer {
  return { text, failed: false }
}

/** An answer in the neutral form of tool results. */
export function outputOf({ text, failed }: Answer): ToolResultOutput {
  return { type: failed ? 'error-text' : 'text', value: text }
}
