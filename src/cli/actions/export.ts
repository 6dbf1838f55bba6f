import type { SqliteStore } from '../../open.ts'
import { exportHtml } from '../../transfer/export-html.ts'
import { exportMarkdown } from '../../transfer/export-markdown.ts'
import { type ExportViewOptions, exportView } from '../../transfer/export-view.ts'
import { historyLines } from '../../transfer/history-lines.ts'
import { CliError } from '../cli-error.ts'
import type { Context } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import { bytes, counted } from '../output/figures.ts'
import { allSessions } from '../references.ts'
import { type ExportCommandOptions, type ExportFormat, formatOf } from './export-format.ts'
import { openTarget } from './export-target.ts'

/** Writes sessions to a file or to the standard output. */
export async function exportSessions(
  context: Context,
  given: readonly string[],
  options: ExportCommandOptions,
): Promise<number> {
  const format = formatOf(options)
  refuseContradictions(context, given, options, format)
  const store = await context.open('read')
  const sessions = await chosen(context, store, given, options)
  const remarks = new Map<string, number>()
  const remark = (why: string): void => void remarks.set(why, (remarks.get(why) ?? 0) + 1)
  const target = await openTarget(context, options)
  try {
    for (const session of sessions)
      for await (const piece of pieces(store, session, format, options, remark)) {
        if (context.signal.aborted) throw new CliError('INTERRUPTED', 'Interrupted; no file was written.')
        await target.write(piece)
      }
    await target.finish()
  } catch (error) {
    await target.discard()
    throw error
  }
  tell(context, { sessions, format, file: options.output ?? null, bytes: target.bytes, remarks })
  return EXIT.done
}

function refuseContradictions(
  context: Context,
  given: readonly string[],
  { all, output, lines, rendered, full }: ExportCommandOptions,
  format: ExportFormat,
): void {
  const wrong = (sentence: string, hint?: string): never => {
    throw new CliError('WRONG_USE', sentence, hint === undefined ? {} : { hint })
  }
  if (all === true && given.length > 0) wrong('--all means every session, so none is named beside it.')
  if (all !== true && given.length === 0)
    wrong('There is no session to export.', 'Name one, or @ for the newest, or give --all.')
  const isOne = all !== true && given.length === 1
  if (!isOne && format !== 'history')
    wrong(`Several sessions can be exported as history only, not as ${format}.`, 'Export them one by one.')
  if (context.json && output === undefined)
    wrong('With --json it is told what was written, so what is written needs a file.', 'Give -o FILE.')
  const ofView = Object.entries({ lines, rendered, full }).find(([, value]) => value !== undefined)
  if (ofView !== undefined && ['history', 'markdown', 'html'].includes(format))
    wrong(`--${ofView[0]} is of the formats of the view, and this is ${format}.`)
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
