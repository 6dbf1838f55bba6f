import type { Context } from '../command.ts'
import { examine, type Report } from '../doctor/report.ts'
import { EXIT } from '../exit-codes.ts'
import { LOCATED_BY } from '../location.ts'
import { bytes, count, counted } from '../output/figures.ts'
import { clipped, paragraph } from '../output/layout.ts'
import { safeLine } from '../output/safe-text.ts'
import { table } from '../output/table.ts'

type Shown = Pick<Context, 'out' | 'err' | 'style'>

/** The report for people: ✓ for what is well, ✗ for what is not. */
export function reportLines(context: Shown, report: Report): string[] {
  const { style } = context
  const title = (text: string): string => style.bold(text)
  return [
    title('Store'),
    ...storeLines(context, report),
    '',
    title('Versions'),
    ...versionLines(context, report),
    '',
    title('Settings'),
    ...settingLines(context, report),
    '',
    title('Environment'),
    ...report.variables.flatMap(({ name, value }) => plain(context, `${name}=${value}`)),
    ...plain(context, terminalText(context)),
    ...(report.problems.length === 0
      ? ['', style.green('✓ nothing is wrong')]
      : ['', title('Problems'), ...problemLines(context, report)]),
  ]
}

function well({ out, style }: Shown, text: string): string[] {
  return paragraph(safeLine(text), out, '  ').map((line, at) =>
    at === 0 ? style.green('✓') + line.slice(1) : line,
  )
}

function wrong({ out, style }: Shown, text: string): string[] {
  return paragraph(safeLine(text), out, '  ').map((line, at) =>
    style.red(at === 0 ? `✗${line.slice(1)}` : line),
  )
}

function plain({ out }: Shown, text: string): string[] {
  return paragraph(safeLine(text), out, '  ')
}

function storeLines(context: Shown, { location, file, sessions }: Report): string[] {
  const where = plain(context, `${location.path} (${LOCATED_BY[location.from]})`)
  if (!file.exists)
    return [...where, ...plain(context, 'There is no store yet; the first command that writes makes it.')]
  const wal = file.walSize === undefined ? '' : `, write-ahead log ${bytes(file.walSize)}`
  const size = file.size === undefined ? [] : plain(context, `${bytes(file.size)}${wal}`)
  const { database } = file
  if (database === undefined)
    return [...where, ...size, ...wrong(context, `SQLite cannot open it (${file.error}).`)]
  const { schema, pages, pageSize, freePages, journalMode, integrity } = database
  const pageText = `${counted(pages, 'page')} of ${count(pageSize)} bytes, ${count(freePages)} free, journal ${journalMode}`
  const isSound = integrity?.join() === 'ok'
  return [
    ...where,
    ...size,
    ...plain(context, pageText),
    ...(schema === null
      ? wrong(context, 'It holds no tables of undertext.')
      : plain(context, `schema ${schema}`)),
    ...(sessions === null
      ? wrong(context, 'It cannot be opened.')
      : well(context, `opens: ${counted(sessions, 'session')}`)),
    ...(integrity === undefined
      ? []
      : isSound
        ? well(context, 'integrity_check: ok')
        : wrong(context, `integrity_check: ${integrity.join('; ')}`)),
  ]
}

function versionLines(context: Shown, { versions }: Report): string[] {
  const { undertext, node, betterSqlite3, sqlite, driverError, optional } = versions
  const driver =
    driverError === undefined
      ? well(context, `better-sqlite3 ${betterSqlite3}, SQLite ${sqlite}`)
      : wrong(context, `better-sqlite3 ${betterSqlite3 ?? 'is not installed'}: ${driverError}`)
  const packages = Object.entries(optional).map(([name, version]) => `${name} ${version ?? 'not installed'}`)
  return [
    ...well(context, `undertext ${undertext}, Node ${node}`),
    ...driver,
    ...plain(context, `optional: ${packages.join(', ')}`),
  ]
}

/** A value of a setting is shown no wider. */
const WIDEST_VALUE = 50

function settingLines({ out, style }: Shown, { settings }: Report): string[] {
  if (settings.length === 0) return ['  They cannot be read.']
  const rows = settings.map(({ name, value, source }) => {
    const text = safeLine(typeof value === 'string' ? value : (JSON.stringify(value) ?? ''))
    const look = source === 'default' ? style.dim : (one: string) => one
    const shown = out.isTerminal ? clipped(text, WIDEST_VALUE) : text
    return [name, shown, source].map((cell) => ({ text: cell, style: look }))
  })
  return table(
    [{ title: 'SETTING' }, { title: 'VALUE', flexible: 'wrap' }, { title: 'FROM' }],
    rows,
    out,
    style,
  )
}

function terminalText({ out, err }: Shown): string {
  const told = (sink: Shown['out']): string =>
    sink.isTerminal ? `a terminal, ${sink.columns} columns` : 'no terminal'
  return `output: ${told(out)}; errors: ${told(err)}`
}

function problemLines(context: Shown, { problems }: Report): string[] {
  return problems.flatMap(({ message, hint }) => [
    ...wrong(context, message),
    ...(hint === null ? [] : plain(context, hint)),
  ])
}

export type DoctorOptions = { readonly deep?: boolean; readonly upgrade?: boolean }

export async function doctor(
  context: Context,
  { deep = false, upgrade = false }: DoctorOptions,
): Promise<number> {
  if (upgrade) await context.open('change')
  const report = await examine(context, context.version, deep)
  if (context.json) context.printJson(jsonOf(context, report))
  else context.out.write(`${reportLines(context, report).join('\n')}\n`)
  return report.problems.length === 0 ? EXIT.done : EXIT.no
}

function jsonOf(
  { out, err }: Context,
  { location, file, sessions, versions, settings, variables, problems }: Report,
) {
  const { driverError = null, ...running } = versions
  return {
    ok: problems.length === 0,
    store: {
      path: location.path,
      from: location.from,
      exists: file.exists,
      size: file.size ?? null,
      walSize: file.walSize ?? null,
      error: file.error ?? null,
      database:
        file.database === undefined ? null : { ...file.database, integrity: file.database.integrity ?? null },
      sessions,
    },
    versions: { ...running, driverError },
    settings,
    variables,
    terminal: { out: out.isTerminal, err: err.isTerminal, columns: out.columns },
    problems,
  }
}
