import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { isNotFound, UndertextError } from '../../core/errors.ts'

/**
 * The used part of a connection of better-sqlite3. It is declared here so that a project doesn't need the driver's types; a connection
 * typed by `@types/better-sqlite3` is assignable.
 */
export interface Database {
  readonly name: string
  readonly open: boolean
  readonly memory: boolean
  readonly readonly: boolean
  readonly inTransaction: boolean
  prepare(sql: string): Statement
  exec(sql: string): unknown
  pragma(sql: string, options?: { simple?: boolean }): unknown
  close(): unknown
}

/** The used part of a prepared statement. */
export interface Statement {
  run(...parameters: unknown[]): { readonly changes: number; readonly lastInsertRowid: number | bigint }
  get(...parameters: unknown[]): unknown
  all(...parameters: unknown[]): unknown[]
  raw(toggle?: boolean): Statement
  safeIntegers(toggle?: boolean): Statement
}

type DriverOptions = {
  readonly readonly?: boolean
  readonly fileMustExist?: boolean
  readonly timeout?: number
}
type Driver = new (path: string, options?: DriverOptions) => Database

/**
 * Returns the remedy if a driver doesn't support a version of Node; otherwise `undefined`. Driver 13 requires Node 22 and crashes the
 * process on Node 20, so this is checked before the driver runs.
 */
export function driverAdvice(driver: string, node: string): string | undefined {
  const driverMajor = Number.parseInt(driver, 10)
  const nodeMajor = Number.parseInt(node, 10)
  if (driverMajor >= 13 && nodeMajor < 22)
    return 'Use Node 22 or later, or better-sqlite3@^12.11.1. With npm: npm install better-sqlite3@^12.11.1. With pnpm or yarn, add "better-sqlite3": "^12.11.1" to the overrides (pnpm) or resolutions (yarn), allow its install script, and install again (docs/install.md).'
  if (driverMajor < 12) return 'Install better-sqlite3@^12.11.1 on Node 20, or ^13.2.0 on Node 22 and later.'
  return undefined
}

let loaded: Driver | undefined

/**
 * Loads better-sqlite3 and its native part. Throws `DRIVER_UNSUPPORTED` if loading would crash the process, and `DRIVER_UNAVAILABLE` if it
 * fails.
 */
export async function loadDriver(): Promise<Driver> {
  loaded ??= await load()
  return loaded
}

async function load(): Promise<Driver> {
  let driver: Driver
  try {
    driver = (await import('better-sqlite3')).default as Driver
  } catch (error) {
    throw unavailable(isAbsent(error) ? notInstalled() : loadFailure(error), error)
  }
  const file = fileOf(driver)
  rejectUnsupported(file)
  try {
    // The first connection loads the native part.
    new driver(':memory:').close()
  } catch (error) {
    throw unavailable(file === undefined ? BUNDLED : nativeProblem(error, file), error)
  }
  return driver
}

/** Returns the file of the driver; `undefined` if it is part of a bundle. Doesn't use the path of this module, which a bundle changes. */
function fileOf(driver: Driver): string | undefined {
  const modules = Object.values(createRequire(process.execPath).cache)
  return modules.find((module) => module?.exports === driver)?.filename
}

function rejectUnsupported(file: string | undefined): void {
  if (file === undefined) return
  const { version } = createRequire(file)('../package.json') as { version: string }
  const { node } = process.versions
  const advice = driverAdvice(version, node)
  if (advice !== undefined) throw new UndertextError('DRIVER_UNSUPPORTED', { driver: version, node, advice })
}

function unavailable(detail: string, cause: unknown): UndertextError {
  return new UndertextError('DRIVER_UNAVAILABLE', { detail }, { cause })
}

const BUNDLED =
  'it was bundled, but a bundle cannot contain its native part. Exclude it: serverExternalPackages: ["better-sqlite3"] in next.config, --external:better-sqlite3 with esbuild.'

function notInstalled(): string {
  const version = Number.parseInt(process.versions.node, 10) < 22 ? '@12' : ''
  return `it is not installed where this program runs. Install it there: npm install better-sqlite3${version}`
}

/** How to allow and run the install script of the driver, by package manager. */
const INSTALLERS = {
  // Up to version 11, npm runs unapproved scripts; its older releases have no command to approve them.
  npm: {
    allow: 'Run them: npm rebuild better-sqlite3 --ignore-scripts=false',
    rebuild: 'npm rebuild better-sqlite3',
    first: ' (npm 12 and later: first npm install-scripts approve better-sqlite3)',
  },
  pnpm: {
    allow: 'Allow them: pnpm approve-builds, and choose better-sqlite3',
    rebuild: 'pnpm rebuild better-sqlite3',
    first: '',
  },
  yarn: {
    allow:
      'Allow them: "dependenciesMeta": { "better-sqlite3": { "built": true } } in package.json, then yarn install',
    rebuild: 'yarn rebuild better-sqlite3',
    first: '',
  },
} as const

/** Returns the package manager that installed the file of the driver. Yarn 1 has no rebuild command, but npm's works in its folder. */
function installerOf(file: string): keyof typeof INSTALLERS {
  if (/[\\/]\.pnpm[\\/]/.test(file)) return 'pnpm'
  const folder = /^.*[\\/]node_modules[\\/]/.exec(file)?.[0] ?? ''
  const isYarn = process.versions.pnp !== undefined || existsSync(`${folder}.yarn-state.yml`)
  return isYarn ? 'yarn' : 'npm'
}

/** Returns why the native part of the driver in `file` can't be loaded, and the remedy. */
function nativeProblem(error: unknown, file: string): string {
  const message = error instanceof Error ? error.message : ''
  const { allow, rebuild, first } = INSTALLERS[installerOf(file)]
  const other = /NODE_MODULE_VERSION (\d+)/.exec(message)?.[1]
  if (other !== undefined || message.includes('did not self-register'))
    return `it was compiled for another version of Node${other === undefined ? '' : ` (module version ${other}; Node ${process.versions.node} has ${process.versions.modules})`}. Compile it for this one: ${rebuild}${first}`
  if (message.includes('bindings file') || (isNotFound(error) && message.includes('.node')))
    return `its native part was not built, because install scripts did not run or failed. ${allow}${first}`
  if (/\bGLIBC(?:XX)?_[\d.]+\W{1,3}not found/.test(message))
    return `its native part needs a newer C library than this system has. Compile it here: npm_config_build_from_source=true ${rebuild}${first}`
  return loadFailure(error)
}

function loadFailure(error: unknown): string {
  const { code } = error as { code?: unknown }
  const why =
    code === 'ERR_DLOPEN_FAILED'
      ? `its native part is damaged or was built for a system other than ${process.platform} ${process.arch}`
      : 'it is damaged or incomplete'
  return `${why}. Remove node_modules and install the packages again on this system.`
}

/** Returns whether the package itself wasn't found. If one of its files is missing, the message contains a path. */
function isAbsent(error: unknown): boolean {
  return isNotFound(error) && (error as Error).message.includes("'better-sqlite3'")
}
