import { randomBytes } from 'node:crypto'
import type { Stats } from 'node:fs'
import { type FileHandle, link, open, realpath, rename, stat, unlink } from 'node:fs/promises'
import { resolve } from 'node:path'
import { isUndertextError } from '../../errors.ts'
import type { SqliteStore } from '../../store/open.ts'
import { exportHtml } from '../../transfer/export-html.ts'
import { exportMarkdown } from '../../transfer/export-markdown.ts'
import { type ExportViewOptions, exportView } from '../../transfer/export-view.ts'
import { historyLines } from '../../transfer/history-lines.ts'
import { CliError } from '../cli-error.ts'
import type { Context } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import { bytes, counted } from '../output/figures.ts'
import { allSessions } from '../references.ts'
import { type ExportCommandOptions, type ExportFormat, formatOf, toOutput } from './export-format.ts'

/** Where an export goes. A file appears under its name when all of it is there, and only then. */
export type Target = {
  /** Bytes written so far. */
  readonly bytes: number
  write(text: string): Promise<void>
  finish(): Promise<void>
  discard(): Promise<void>
}

export async function openTarget(
  context: Context,
  { output, force }: Pick<ExportCommandOptions, 'output' | 'force'>,
): Promise<Target> {
  if (output === undefined) return new OutputTarget(context)
  if (output === '') throw new CliError('WRONG_USE', '-o needs the name of a file.')
  const given = resolve(context.cwd, output)
  const there = await statOf(given)
  if (there?.isDirectory() === true)
    throw new CliError('WRONG_USE', `${output} is a folder.`, { hint: 'Name a file within it.' })
  // A device or a pipe takes what it is given; to put a file in its place would take it from everybody.
  if (there?.isFile() === false) return new DeviceTarget(await open(given, 'w'))
  if (there !== undefined && force !== true) throw isThere(output)
  // What a link points at is replaced, not the link.
  const path = there === undefined ? given : await realpath(given)
  await refuseStore(context, path, output)
  // Nobody else reads what people said: as the store's own folder.
  const partial = `${path}.${randomBytes(4).toString('hex')}.partial`
  return new FileTarget(output, path, partial, await opened(partial, output), force === true)
}

async function statOf(path: string): Promise<Stats | undefined> {
  try {
    return await stat(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** An export in the place of the store it is of would be the end of both. */
async function refuseStore({ location }: Context, path: string, output: string): Promise<void> {
  const store = await realpath(location.path)
  if ([store, `${store}-wal`, `${store}-shm`].includes(path))
    throw new CliError('WRONG_USE', `${output} is the store itself.`, { hint: 'Name another file.' })
}

/** Opens a file anew; what is said of a failure names the file that was asked for. */
async function opened(partial: string, output: string): Promise<FileHandle> {
  try {
    return await open(partial, 'wx', 0o600)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT')
      throw new CliError('NOT_THERE', `The folder of ${output} is not there.`)
    throw Object.assign(error as Error, { path: output })
  }
}

function isThere(output: string): CliError {
  return new CliError('WRONG_USE', `There is a file ${output} already.`, {
    hint: 'Give --force to replace it.',
  })
}

/** Characters gathered before they are written. */
const CHUNK = 64 * 1024

class OutputTarget implements Target {
  readonly #context: Context
  bytes = 0

  constructor(context: Context) {
    this.#context = context
  }

  async write(text: string): Promise<void> {
    this.bytes += Buffer.byteLength(text)
    await this.#context.pour(text)
  }

  async finish(): Promise<void> {}

  async discard(): Promise<void> {}
}

/** A device or a named pipe. What it was given cannot be taken back. */
class DeviceTarget implements Target {
  readonly #file: FileHandle
  bytes = 0

  constructor(file: FileHandle) {
    this.#file = file
  }

  async write(text: string): Promise<void> {
    const data = Buffer.from(text)
    this.bytes += data.length
    await this.#file.writeFile(data)
  }

  finish(): Promise<void> {
    return this.#file.close()
  }

  async discard(): Promise<void> {
    await this.#file.close().catch(() => undefined)
  }
}

class FileTarget implements Target {
  readonly #name: string
  readonly #path: string
  readonly #partial: string
  readonly #file: FileHandle
  readonly #replaces: boolean
  #waiting = ''
  bytes = 0

  constructor(name: string, path: string, partial: string, file: FileHandle, replaces: boolean) {
    this.#name = name
    this.#path = path
    this.#partial = partial
    this.#file = file
    this.#replaces = replaces
  }

  async write(text: string): Promise<void> {
    this.#waiting += text
    if (this.#waiting.length >= CHUNK) await this.#flush()
  }

  async #flush(): Promise<void> {
    const data = Buffer.from(this.#waiting)
    this.#waiting = ''
    this.bytes += data.length
    await this.#file.writeFile(data)
  }

  async finish(): Promise<void> {
    await this.#flush()
    await this.#file.sync()
    await this.#file.close()
    if (this.#replaces) return rename(this.#partial, this.#path)
    try {
      // A link refuses what a rename would replace: somebody may have made the file meanwhile.
      await link(this.#partial, this.#path)
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code === 'EEXIST') throw isThere(this.#name)
      // File systems without links.
      return rename(this.#partial, this.#path)
    }
    await unlink(this.#partial)
  }

  async discard(): Promise<void> {
    await this.#file.close().catch(() => undefined)
    await unlink(this.#partial).catch(() => undefined)
  }
}

/** Writes sessions to a file or to the standard output. */
export async function exportSessions(
  context: Context,
  given: readonly string[],
  asked: ExportCommandOptions,
): Promise<number> {
  const options = toOutput(asked)
  const format = formatOf(options)
  refuseContradictions(context, given, options, format)
  const store = await context.open('read')
  const sessions = await chosen(context, store, given, options)
  const remarks = new Map<string, number>()
  const remark = (why: string): void => void remarks.set(why, (remarks.get(why) ?? 0) + 1)
  const target = await openTarget(context, options)
  const written: string[] = []
  try {
    for (const session of sessions) {
      const isThere = await pour(context, target, pieces(store, session, format, options, remark), {
        mayBeGone: options.all === true,
      })
      if (isThere) written.push(session)
    }
    await target.finish()
  } catch (error) {
    await target.discard()
    throw error
  }
  tell(context, { sessions: written, format, file: options.output ?? null, bytes: target.bytes, remarks })
  return EXIT.done
}

/** Writes a session; answers false for one that was purged before anything of it was written, where that may be. */
async function pour(
  { signal }: Context,
  target: Target,
  session: AsyncIterable<string>,
  { mayBeGone }: { readonly mayBeGone: boolean },
): Promise<boolean> {
  let isBegun = false
  try {
    for await (const piece of session) {
      isBegun = true
      if (signal.aborted) throw new CliError('INTERRUPTED', 'Interrupted; no file was written.')
      await target.write(piece)
    }
    return true
  } catch (error) {
    if (mayBeGone && !isBegun && isUndertextError(error, 'SESSION_NOT_FOUND')) return false
    throw error
  }
}

function refuseContradictions(
  context: Context,
  given: readonly string[],
  { all, output, lines, rendered, full, hidden, images, cutOutputs }: ExportCommandOptions,
  format: ExportFormat,
): void {
  const wrong = (sentence: string, hint?: string): never => {
    throw new CliError('WRONG_USE', sentence, hint === undefined ? {} : { hint })
  }
  if (all === true && given.length > 0) wrong('--all means every session, so none is named beside it.')
  if (all !== true && given.length === 0) wrong('There is no session to export.', missing(rendered))
  const isOne = all !== true && given.length === 1
  if (!isOne && format !== 'history')
    wrong(`Several sessions can be exported as history only, not as ${format}.`, 'Export them one by one.')
  if (output === undefined && context.out.isTerminal && (format === 'history' || format === 'html'))
    wrong(
      `As ${format} a session is written for a file or a program, not for a screen.`,
      'Give -o FILE, or send it on with |.',
    )
  if (context.json && output === undefined)
    wrong('With --json it is told what was written, so what is written needs a file.', 'Give -o FILE.')
  const ofView = Object.entries({ lines, rendered, full }).find(([, value]) => value !== undefined)
  if (ofView !== undefined && ['history', 'markdown', 'html'].includes(format))
    wrong(`--${ofView[0]} is of the formats of the view, and this is ${format}.`)
  const ofDocument = Object.entries({ hidden, images, 'cut-outputs': cutOutputs }).find(
    ([, value]) => value !== undefined,
  )
  if (ofDocument !== undefined && !['markdown', 'html'].includes(format))
    wrong(`--${ofDocument[0]} is of documents (markdown, html), and this is ${format}.`)
}

/** `--rendered` takes the word behind it, so that may have been meant for the session. */
function missing(rendered: ExportCommandOptions['rendered']): string {
  if (typeof rendered !== 'string') return 'Name one, or @ for the newest, or give --all.'
  return `--rendered took ${JSON.stringify(rendered)} for a provider; name the session before it.`
}

async function chosen(
  context: Context,
  store: SqliteStore,
  given: readonly string[],
  { all }: ExportCommandOptions,
): Promise<string[]> {
  if (all !== true) {
    const ids = new Set<string>()
    for (const one of given) ids.add(await context.session(store, one))
    return [...ids]
  }
  const ids: string[] = []
  for (const archived of [false, true])
    for await (const { id } of allSessions(store, { archived })) ids.push(id)
  // The oldest first: sessions are listed as they came in, and a copy of the store should list them as this one does.
  ids.reverse()
  return ids
}

function pieces(
  store: SqliteStore,
  session: string,
  format: ExportFormat,
  options: ExportCommandOptions,
  remark: (why: string) => void,
): AsyncIterable<string> {
  const { hidden, images, cutOutputs, lines, rendered, full } = options
  if (format === 'history') return historyLines(store.exportSession(session))
  const document = {
    ...(hidden !== undefined && { hidden }),
    ...(images !== undefined && { images }),
    ...(cutOutputs !== undefined && { cutOutputs }),
  }
  if (format === 'markdown') return exportMarkdown(store, session, document)
  if (format === 'html') return exportHtml(store, session, document)
  const view: ExportViewOptions = {
    format,
    ...(lines !== undefined && { lines }),
    ...(rendered !== undefined && { rendered }),
    ...(full !== undefined && { full }),
    onNote: ({ kind, why }) => remark(`${kind}: ${why}`),
    onMend: ({ kind }) => remark(`mended for the provider: ${kind}`),
  }
  return exportView(store, session, view)
}

type Written = {
  readonly sessions: readonly string[]
  readonly format: ExportFormat
  readonly file: string | null
  readonly bytes: number
  readonly remarks: ReadonlyMap<string, number>
}

/** What was written goes to `err`, so that it is not among it. */
function tell({ err, json, printJson, style }: Context, { remarks, ...written }: Written): void {
  if (json) {
    printJson({ ...written, notes: [...remarks].map(([why, times]) => ({ why, times })) })
    return
  }
  for (const [why, times] of remarks) err.write(`${style.dim(`${times} × ${why}`)}\n`)
  if (written.file === null) return
  const what = counted(written.sessions.length, 'session')
  err.write(
    `${style.green('✓')} ${what} written to ${written.file} (${written.format}, ${bytes(written.bytes)})\n`,
  )
}
