import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { errorName } from '../../core/errors.ts'
import type { GuardReport } from '../../storage/postgres/guards.ts'
import { loadDriver } from '../../storage/sqlite/driver.ts'
import { knownVariables, unknownVariables, VARIABLES } from '../../store/config/environment.ts'
import { SETTING_NAMES } from '../../store/config/settings.ts'
import { openStore } from '../../store/open.ts'
import type { Context } from '../command.ts'
import type { Given } from '../declarations.ts'
import { CliError, EXIT, failureOf } from '../errors.ts'
import { LOCATED_BY, shownName } from '../location.ts'
import { bytes, count, counted } from '../output/figures.ts'
import { clipped, report, sentence } from '../output/layout.ts'
import { safeLine } from '../output/safe-text.ts'
import { table } from '../output/table.ts'
import {
  type Distribution,
  type FileFacts,
  fileFacts,
  type ServerFacts,
  serverFacts,
  storedIn,
  storedOn,
} from '../store-facts.ts'

/** Packages that add a feature if they are installed. */
const OPTIONAL = [
  'ai',
  'gpt-tokenizer',
  'pg',
  '@langchain/core',
  '@openai/agents',
  '@anthropic-ai/claude-agent-sdk',
] as const

/** The variable that names the store, perhaps with a password. */
const STORE_VARIABLE = 'UNDERTEXT_DB'

/** Variables that the program reads besides those of the settings. Only the store's may contain a secret. */
const OTHER_VARIABLES = [
  'UNDERTEXT_CONFIG',
  STORE_VARIABLE,
  'UNDERTEXT_DEBUG',
  'NO_COLOR',
  'FORCE_COLOR',
  'TERM',
  'PAGER',
  'XDG_DATA_HOME',
]

type Report = Awaited<ReturnType<typeof examine>>

type StoreReport = {
  /** `null` if the server does not say. */
  readonly exists: boolean | null
  /** The code of the error that prevents an inspection. */
  readonly error?: string | undefined
  /** Facts about a file. */
  readonly file?: FileFacts
  /** Facts about a server that responds. */
  readonly server?: Omit<ServerFacts, 'exists'> & {
    readonly guards: Guards | null
    readonly distribution: Distribution | null
  }
  /** All sessions, archived ones included; `null` if the store cannot be opened. */
  readonly sessions: number | null
}

/** What keeps the history: triggers, the privileges of the role, or nothing. */
type Guards = GuardReport['problems'] & Pick<GuardReport, 'kind'>

type Problem = { readonly code: string; readonly message: string; readonly hint: string | null }

export async function doctor(
  context: Context,
  { deep = false, upgrade = false }: Given<'doctor'>,
): Promise<number> {
  if (deep && context.location.url !== undefined)
    throw new CliError('WRONG_USE', '--deep reads a file; a server checks its own files.', {
      hint: '`undertext verify` checks the sessions.',
    })
  if (upgrade) await context.open('change')
  const found = await examine(context, deep)
  report(context, reportJson(context, found), () => reportLines(context, found))
  return found.problems.length === 0 ? EXIT.done : EXIT.no
}

/** Examines the store and its environment. Errors become problems of the report and are not thrown. */
async function examine(context: Context, deep: boolean) {
  const { location, env, version } = context
  const problems: Problem[] = []
  const add = (code: string, message: string, hint: string | null = null): void => {
    // Unreadable settings are found twice, because they also prevent opening the store.
    if (!problems.some((one) => one.message === message)) problems.push({ code, message, hint })
  }
  const addError = (error: unknown): undefined => {
    const { code, message, hint } = failureOf(error, false)
    // That hint recommends this command.
    add(code, message, code === 'STORE_UNAVAILABLE' ? null : hint)
  }
  const opens = async (): Promise<boolean> => (await context.open('read').catch(addError)) !== undefined
  const store =
    location.url === undefined
      ? await examineFile(location.path, deep, opens, add, problems)
      : await examineServer(location.url, opens, addError)
  const settings = await settingsIn(env).catch(addError)
  for (const name of unknownVariables(env)) add('UNKNOWN_VARIABLE', `Nothing reads the variable ${name}.`)
  const names = new Set([...VARIABLES.map(({ variable }) => variable), ...OTHER_VARIABLES])
  return {
    store,
    versions: await versions(version),
    settings: settings ?? [],
    variables: [...names].flatMap((name) => {
      const value = env[name]
      if (!value) return []
      return [{ name, value: name === STORE_VARIABLE ? shownName(value) : value }]
    }),
    problems,
  }
}

type Add = (code: string, message: string, hint?: string) => void

async function examineFile(
  path: string,
  deep: boolean,
  opens: () => Promise<boolean>,
  add: Add,
  problems: readonly Problem[],
): Promise<StoreReport> {
  const file = await fileFacts(path, deep)
  const stored = file.exists && (await opens()) ? await storedIn(path) : undefined
  if (file.error !== undefined && problems.length === 0)
    add(
      'STORE_UNAVAILABLE',
      `The file could not be inspected (${file.error}).`,
      'Try again: another program may have locked it for a moment.',
    )
  if (stored?.filesCleared === false)
    add(
      'FILES_NOT_CLEARED',
      'Rows that were removed may still be readable in the files.',
      'They are cleared when the store is opened for writing and no other program prevents it: undertext doctor --upgrade',
    )
  const integrity = file.database?.integrity ?? ['ok']
  if (integrity.join() !== 'ok') add('STORE_CORRUPT', `The file is damaged: ${integrity.join('; ')}`)
  return { exists: file.exists, error: file.error, file, sessions: stored?.sessions ?? null }
}

async function examineServer(
  url: string,
  opens: () => Promise<boolean>,
  addError: (error: unknown) => undefined,
): Promise<StoreReport> {
  try {
    const { exists, ...facts } = await serverFacts(url)
    const isOpen = exists && (await opens())
    // Whatever prevents opening the store also prevents reading it, except missing guards.
    const ignored = (): undefined => undefined
    const stored =
      facts.schemaVersion === null ? undefined : await storedOn(url).catch(isOpen ? addError : ignored)
    const guards = stored === undefined ? null : { kind: stored.guards.kind, ...stored.guards.problems }
    const sessions = isOpen ? (stored?.sessions ?? null) : null
    const distribution = stored?.distribution ?? null
    return { exists, server: { ...facts, guards, distribution }, sessions }
  } catch (error) {
    addError(error)
    return { exists: null, error: failureOf(error, false).code, sessions: null }
  }
}

/** Versions; `null` for a package that isn't installed. `driverError`: why the driver can't be loaded. */
async function versions(undertext: string) {
  const base = {
    undertext,
    node: process.versions.node,
    betterSqlite3: versionOf('better-sqlite3'),
    optional: Object.fromEntries(OPTIONAL.map((name) => [name, versionOf(name)])),
  }
  try {
    const Driver = await loadDriver()
    const database = new Driver(':memory:')
    const row = database.prepare('select sqlite_version() as sqlite').get() as { readonly sqlite: string }
    database.close()
    return { ...base, ...row, driverError: null }
  } catch (error) {
    return { ...base, sqlite: null, driverError: error instanceof Error ? error.message : errorName(error) }
  }
}

/** The version of an installed package. Some packages do not export their package.json, so the file is searched for. */
function versionOf(name: string): string | null {
  const folders = createRequire(import.meta.url).resolve.paths(name) ?? []
  const file = folders.map((folder) => join(folder, name, 'package.json')).find((path) => existsSync(path))
  if (file === undefined) return null
  const { version } = JSON.parse(readFileSync(file, 'utf8')) as { readonly version?: unknown }
  return typeof version === 'string' ? version : null
}

/** The settings for all sessions. A store in memory reads them as any other does. */
async function settingsIn(
  env: Context['env'],
): Promise<readonly { readonly name: string; readonly value: unknown; readonly source: string }[]> {
  const store = await openStore(':memory:', { env: knownVariables(env) })
  const { settings, sources } = await store.sessions.config()
  await store.close()
  return SETTING_NAMES.flatMap((name) => {
    const value = settings[name]
    return value === undefined ? [] : [{ name, value, source: sources[name] ?? 'default' }]
  })
}

function reportJson({ out, err, location }: Context, { store, ...report }: Report) {
  const { exists, error = null, file, server = null, sessions } = store
  const { size = null, walSize = null, database } = file ?? {}
  return {
    ok: report.problems.length === 0,
    store: {
      path: location.path,
      from: location.from,
      exists,
      size,
      walSize,
      error,
      database: database === undefined ? null : { ...database, integrity: database.integrity ?? null },
      server,
      sessions,
    },
    versions: report.versions,
    settings: report.settings,
    variables: report.variables,
    terminal: { out: out.isTerminal, err: err.isTerminal, columns: out.columns },
    problems: report.problems,
  }
}

/** The report for people: ✓ before everything in order, ✗ before problems. */
function reportLines(context: Context, report: Report): string[] {
  const { style, out, err } = context
  const { variables, problems } = report
  const terminal = (sink: Context['out']): string =>
    sink.isTerminal ? `a terminal, ${sink.columns} columns` : 'not a terminal'
  return [
    style.bold('Store'),
    ...storeLines(context, report),
    '',
    style.bold('Versions'),
    ...versionLines(context, report.versions),
    '',
    style.bold('Settings'),
    ...settingLines(context, report),
    '',
    style.bold('Environment'),
    ...variables.flatMap(({ name, value }) => plain(context, `${name}=${value}`)),
    ...plain(context, `output: ${terminal(out)}; errors: ${terminal(err)}`),
    '',
    ...(problems.length === 0 ? [style.green('✓ no problems found')] : [style.bold('Problems')]),
    ...problems.flatMap(({ message, hint }) => [
      ...wrong(context, message),
      ...(hint === null ? [] : plain(context, hint)),
    ]),
  ]
}

function well({ out, style }: Context, text: string): string[] {
  return sentence(text, out, undefined, '  ').map((line, at) =>
    at === 0 ? style.green('✓') + line.slice(1) : line,
  )
}

function wrong({ out, style }: Context, text: string): string[] {
  return sentence(text, out, undefined, '  ').map((line, at) =>
    style.red(at === 0 ? `✗${line.slice(1)}` : line),
  )
}

function plain({ out }: Context, text: string): string[] {
  return sentence(text, out, undefined, '  ')
}

function storeLines(context: Context, { store }: Report): string[] {
  const { location } = context
  const { exists, file, server, sessions } = store
  const where = plain(context, `${location.path} (${LOCATED_BY[location.from]})`)
  const about = server === undefined ? [] : serverLines(context, server)
  if (exists === null) return [...where, ...wrong(context, "It can't be inspected.")]
  if (!exists)
    return [
      ...where,
      ...about,
      ...plain(context, 'There is no store yet; the first command that writes creates it.'),
    ]
  const opening =
    sessions === null
      ? wrong(context, "It can't be opened.")
      : well(context, `opens: ${counted(sessions, 'session')}`)
  if (file !== undefined) return [...where, ...fileLines(context, file, opening)]
  const isForeign = server?.schemaVersion === null
  const foreign = isForeign ? wrong(context, 'It has no undertext tables.') : []
  return [...where, ...about, ...foreign, ...opening]
}

function serverLines(
  context: Context,
  { version, schema, schemaVersion, prepared, guards, distribution }: NonNullable<StoreReport['server']>,
): string[] {
  return [
    ...plain(context, `PostgreSQL ${version}, statements are ${prepared ? '' : 'not '}prepared`),
    ...plain(
      context,
      `tables in ${JSON.stringify(schema)}${schemaVersion === null ? '' : `, schema ${schemaVersion}`}`,
    ),
    ...(distribution === null ? [] : plain(context, DISTRIBUTED[distribution])),
    ...(guards === null ? [] : guardLines(context, guards)),
  ]
}

const DISTRIBUTED: { readonly [where in Distribution]: string } = {
  workers: 'distributed by Citus across its workers',
  coordinator: 'Citus is installed, but all tables are on the coordinator',
}

const GUARDED_BY: { readonly [kind in Guards['kind']]: string } = {
  triggers: 'triggers guard the history',
  privileges: 'the privileges of the role guard the history',
  none: 'Nothing guards the history',
}

function guardLines(context: Context, { kind, ...problems }: Guards): string[] {
  const mark = kind === 'none' ? wrong : well
  const found = Object.entries(problems)
    .filter(([what, names]) => names.length > 0 && !(kind === 'privileges' && what === 'missing'))
    .map(([what, names]) => `${what} triggers: ${names.join(', ')}`)
  return [...mark(context, GUARDED_BY[kind]), ...found.flatMap((line) => wrong(context, safeLine(line)))]
}

function fileLines(
  context: Context,
  { size, walSize, database, error }: FileFacts,
  opening: readonly string[],
): string[] {
  const wal = walSize === undefined ? '' : `, write-ahead log ${bytes(walSize)}`
  const head = size === undefined ? [] : plain(context, `${bytes(size)}${wal}`)
  if (database === undefined) return [...head, ...wrong(context, `SQLite can't open it (${error}).`)]
  const { schema, pages, pageSize, freePages, journalMode, integrity } = database
  const pagesText = `${counted(pages, 'page')} of ${count(pageSize)} bytes, ${count(freePages)} free, journal ${journalMode}`
  const mark = integrity?.join() === 'ok' ? well : wrong
  return [
    ...head,
    ...plain(context, pagesText),
    ...(schema === null ? wrong(context, 'It has no undertext tables.') : plain(context, `schema ${schema}`)),
    ...opening,
    ...(integrity === undefined ? [] : mark(context, `integrity_check: ${integrity.join('; ')}`)),
  ]
}

function versionLines(context: Context, versions: Report['versions']): string[] {
  const { undertext, node, betterSqlite3, sqlite, driverError, optional } = versions
  const packages = Object.entries(optional).map(([name, version]) => `${name} ${version ?? 'not installed'}`)
  return [
    ...well(context, `undertext ${undertext}, Node ${node}`),
    ...(driverError === null
      ? well(context, `better-sqlite3 ${betterSqlite3}, SQLite ${sqlite}`)
      : wrong(context, `better-sqlite3 ${betterSqlite3 ?? "isn't installed"}: ${driverError}`)),
    ...plain(context, `optional: ${packages.join(', ')}`),
  ]
}

/** Columns of the value of a setting on a terminal. */
const MAX_VALUE_WIDTH = 50

function settingLines({ out, style }: Context, { settings }: Report): string[] {
  if (settings.length === 0) return ["  They can't be read."]
  const rows = settings.map(({ name, value, source }) => {
    const text = safeLine(typeof value === 'string' ? value : (JSON.stringify(value) ?? ''))
    const look = source === 'default' ? style.dim : (one: string) => one
    const shown = out.isTerminal ? clipped(text, MAX_VALUE_WIDTH) : text
    return [name, shown, source].map((cell) => ({ text: cell, style: look }))
  })
  const columns = [{ title: 'SETTING' }, { title: 'VALUE', flexible: 'wrap' }, { title: 'FROM' }] as const
  return table(columns, rows, out, style)
}
