import type { Context } from '../command.ts'
import { examine, type Report } from '../doctor/report.ts'
import { reportLines } from '../doctor/report-lines.ts'
import { EXIT } from '../exit-codes.ts'

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
