import { randomBytes } from 'node:crypto'
import type { Stats } from 'node:fs'
import { type FileHandle, open, realpath, stat, unlink } from 'node:fs/promises'
import { extname, resolve } from 'node:path'
import { isUndertextError } from '../../core/errors.ts'
import type { Moment } from '../../core/model/moment.ts'
import { publishFile } from '../../storage/backup.ts'
import type { Store } from '../../store/store.ts'
import { exportHtml } from '../../transfer/document/html.ts'
import { exportMarkdown } from '../../transfer/document/markdown.ts'
import { exportView } from '../../transfer/export-view.ts'
import { historyLines } from '../../transfer/history-lines.ts'
import type { Context } from '../command.ts'
import { chunked } from '../context.ts'
import type { Given } from '../declarations.ts'
import { CliError, EXIT } from '../errors.ts'
import type { EXPORT_FORMATS } from '../options.ts'
import { bytes, counted } from '../output/figures.ts'
import { allSessions, findSession, momentOf, storeOf } from '../references.ts'

type ExportFormat = (typeof EXPORT_FORMATS)[number]

type ExportOptions = Given<'export'>

/** Writes sessions to a file or to the standard output. */
export async function exportSessions(
  context: Context,
  given: readonly string[],
  options: ExportOptions,
): Promise<number> {
  const output = options.output === '-' ? undefined : options.output
  const format = options.format ?? formatOfFile(output)
  checkOptions(context, given, options, output, format)
  const store = await context.open('read')
  const named = await sessionsNamed(store, given, options.all === true)
  const remarks = new Map<string, number>()
  const remark = (why: string): void => void remarks.set(why, (remarks.get(why) ?? 0) + 1)
  const target = await openTarget(context, output, options.force === true)
  const sessions: string[] = []
  let size = 0
  try {
    for (const { id, own } of named) {
      const at = options.at === undefined ? undefined : await momentOf(own, id, options.at)
      const pieces = exportOf(own, id, format, { ...options, at }, remark)
      const written = await writeSession(context, target, pieces, {
        mayBePurged: options.all === true,
      })
      if (written === undefined) continue
      sessions.push(id)
      size += written
    }
    await target.finish()
  } catch (error) {
    await target.discard()
    throw error
  }
  report(context, { sessions, format, file: output ?? null, bytes: size }, remarks)
  return EXIT.done
}

function formatOfFile(output = ''): ExportFormat {
  const end = extname(output).toLowerCase()
  if (end === '.md' || end === '.markdown') return 'markdown'
  return end === '.html' || end === '.htm' ? 'html' : 'history'
}

/** Writes a session and returns its bytes; `undefined` if `mayBePurged` and it was purged before anything was written. */
async function writeSession(
  { signal }: Context,
  target: Target,
  pieces: AsyncIterable<string>,
  { mayBePurged }: { readonly mayBePurged: boolean },
): Promise<number | undefined> {
  let size = 0
  try {
    for await (const piece of chunked(pieces)) {
      if (signal.aborted) throw new CliError('INTERRUPTED', 'Interrupted; no file was written.')
      size += Buffer.byteLength(piece)
      await target.write(piece)
    }
    return size
  } catch (error) {
    if (mayBePurged && size === 0 && isUndertextError(error, 'SESSION_NOT_FOUND')) return undefined
    throw error
  }
}

/** Throws `WRONG_USE` for options that exclude each other. */
function checkOptions(
  context: Context,
  given: readonly string[],
  { all = false, lines, rendered, full, at, hidden, images, cutOutputs }: ExportOptions,
  output: string | undefined,
  format: ExportFormat,
): void {
  const wrong = (sentence: string, hint?: string): never => {
    throw new CliError('WRONG_USE', sentence, hint === undefined ? {} : { hint })
  }
  if (all && given.length > 0) wrong('--all exports every session; omit the ids.')
  if (!all && given.length === 0)
    wrong(
      'No session was named.',
      // `--rendered` takes the next word, which may have been intended as the session.
      typeof rendered === 'string'
        ? `--rendered read ${JSON.stringify(rendered)} as its provider; put the session before the option.`
        : 'Name one, or @ for the newest, or pass --all.',
    )
  if ((all || given.length > 1) && format !== 'history')
    wrong(`Several sessions can be exported only as history, not as ${format}.`, 'Export them one by one.')
  if (output === undefined && context.out.isTerminal && (format === 'history' || format === 'html'))
    wrong(
      `The format ${format} is for a file or a program, not for a screen.`,
      'Pass -o FILE, or use a pipe.',
    )
  if (context.json && output === undefined)
    wrong('With --json, the output is a report, so the export itself needs a file.', 'Pass -o FILE.')
  const isDocument = format === 'markdown' || format === 'html'
  const ofView = nameOfFirst({ lines, rendered, full, at })
  if (ofView !== undefined && (isDocument || format === 'history'))
    wrong(`--${ofView} applies only to the formats of the view, not to ${format}.`)
  const ofDocument = nameOfFirst({ hidden, images, 'cut-outputs': cutOutputs })
  if (ofDocument !== undefined && !isDocument)
    wrong(`--${ofDocument} applies only to documents (markdown, html), not to ${format}.`)
}

/** The name of the first option that was given. */
function nameOfFirst(options: { readonly [name: string]: unknown }): string | undefined {
  return Object.keys(options).find((name) => options[name] !== undefined)
}

/** Returns ids, each with the store in which it names the session. */
async function sessionsNamed(
  store: Store,
  given: readonly string[],
  all: boolean,
): Promise<{ readonly id: string; readonly own: Store }[]> {
  const ids = new Set<string>()
  for (const one of given) ids.add(await findSession(store, one))
  const named = [...ids].map((id) => ({ id, own: store }))
  if (all)
    for await (const session of allSessions(store))
      named.push({ id: session.id, own: storeOf(store, session) })
  // Oldest first: sessions are listed in the order of their import, and a copy of the store should list them as this one does.
  return all ? named.reverse() : named
}

function exportOf(
  store: Store,
  session: string,
  format: ExportFormat,
  options: Omit<ExportOptions, 'at'> & { readonly at: Moment | undefined },
  remark: (why: string) => void,
): AsyncIterable<string> {
  const { hidden, images, cutOutputs, lines, rendered, full, at } = options
  switch (format) {
    case 'history':
      return historyLines(store.sessions.export(session))
    case 'markdown':
      return exportMarkdown(store, session, { hidden, images, cutOutputs })
    case 'html':
      return exportHtml(store, session, { hidden, images, cutOutputs })
    default:
      return exportView(store, session, {
        format,
        lines,
        rendered,
        full,
        at,
        onNote: ({ kind, why }) => remark(`${kind}: ${why}`),
        onMend: ({ kind }) => remark(`repaired for the provider: ${kind}`),
      })
  }
}

/** Reports on `err`, so that the output holds nothing but the export. */
function report(
  { err, json, printJson, style }: Context,
  written: {
    readonly sessions: readonly string[]
    readonly format: ExportFormat
    readonly file: string | null
    readonly bytes: number
  },
  remarks: ReadonlyMap<string, number>,
): void {
  if (json) {
    printJson({ ...written, notes: [...remarks].map(([why, times]) => ({ why, times })) })
    return
  }
  for (const [why, times] of remarks) err.write(`${style.dim(`${times} × ${why}`)}\n`)
  const { sessions, format, file } = written
  if (file === null) return
  const what = counted(sessions.length, 'session')
  err.write(`${style.green('✓')} ${what} written to ${file} (${format}, ${bytes(written.bytes)})\n`)
}

/** Where an export is written. A file appears under its name only when it is complete. */
export type Target = {
  write(text: string): Promise<void>
  finish(): Promise<void>
  discard(): Promise<void>
}

/** Opens a file, a device or, without a name, the standard output. */
async function openTarget(context: Context, output: string | undefined, force: boolean): Promise<Target> {
  if (output === undefined)
    return { write: (text) => context.pour(text), finish: async () => {}, discard: async () => {} }
  if (output === '') throw new CliError('WRONG_USE', '-o needs the name of a file.')
  const given = resolve(context.cwd, output)
  const found = await statOf(given)
  if (found?.isDirectory() === true)
    throw new CliError('WRONG_USE', `${output} is a folder.`, { hint: 'Name a file in it.' })
  // A device or a named pipe must not be replaced by a file.
  if (found?.isFile() === false) return deviceTarget(await open(given, 'w'))
  if (found !== undefined && !force) throw existsAlready(output)
  // The target of a link is replaced, not the link.
  const path = found === undefined ? given : await realpath(given)
  const store = context.location.url === undefined ? await realpath(context.location.path) : undefined
  if (store !== undefined && [store, `${store}-wal`, `${store}-shm`].includes(path))
    throw new CliError('WRONG_USE', `${output} is the store itself.`, { hint: 'Name another file.' })
  const partial = `${path}.${randomBytes(4).toString('hex')}.partial`
  return fileTarget(output, path, partial, await createFile(partial, output), force)
}

async function statOf(path: string): Promise<Stats | undefined> {
  try {
    return await stat(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** Creates a file that only its owner may read, as the store's folder is. An error names the requested file. */
async function createFile(partial: string, output: string): Promise<FileHandle> {
  try {
    return await open(partial, 'wx', 0o600)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT')
      throw new CliError('NOT_THERE', `The folder of ${output} doesn't exist.`)
    throw Object.assign(error as Error, { path: output })
  }
}

function existsAlready(output: string): CliError {
  return new CliError('WRONG_USE', `${output} already exists.`, {
    hint: 'Pass --force to replace it.',
  })
}

function deviceTarget(file: FileHandle): Target {
  return {
    write: (text) => file.writeFile(text),
    finish: () => file.close(),
    // What a device received cannot be undone.
    discard: () => file.close().catch(() => undefined),
  }
}

function fileTarget(output: string, path: string, partial: string, file: FileHandle, force: boolean): Target {
  return {
    write: (text) => file.writeFile(text),
    async finish() {
      await file.sync()
      await file.close()
      try {
        await publishFile(partial, path, force)
      } catch (error) {
        throw (error as NodeJS.ErrnoException).code === 'EEXIST' ? existsAlready(output) : error
      }
    },
    async discard() {
      await file.close().catch(() => undefined)
      await unlink(partial).catch(() => undefined)
    },
  }
}
