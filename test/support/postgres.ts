import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, chownSync, closeSync, existsSync, openSync, readdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { PGlite } from '@electric-sql/pglite'
import pg from 'pg'
import { afterAll } from 'vitest'
import { fromPglite, fromUrl } from '../../src/storage/postgres/drivers.ts'
import type { PostgresDriver } from '../../src/storage/postgres/port.ts'
import { joinNodes, nodesOf } from './citus.ts'
import { newFolder } from './temporary.ts'

/** A PostgreSQL server for the tests of one file. */
export type Server = {
  /** The address of an empty database of its own. */
  newDatabase(): Promise<string>
  /** Ends the server and all its processes at once, as a power cut does; `undefined` for a server that is not ours to end. */
  readonly killHard: (() => Promise<void>) | undefined
  /** Starts it again; on the same port. */
  readonly start: () => Promise<void>
}

const USER = 'undertext'
const given = process.env.UNDERTEXT_CITUS ?? process.env.UNDERTEXT_PG

/**
 * A server: the cluster or the server at the address in `UNDERTEXT_CITUS` or `UNDERTEXT_PG`, or one that is started from the installed PostgreSQL. Without either it is
 * `undefined` and a line says so; with `UNDERTEXT_PG=required` that is an error. Each file has its own: it may kill it, it starts in two
 * seconds, and nothing outlives the file.
 */
export async function postgresServer(): Promise<Server | undefined> {
  if (given !== undefined && given !== 'required') return sharedServer(given)
  const programs = programsFolder()
  if (programs !== undefined) return startServer(programs)
  const advice =
    'PostgreSQL is not installed, so its tests run on PGlite only. Install it, or set UNDERTEXT_PG to the URL of a server.'
  if (given === 'required') throw new Error(advice)
  console.log(advice)
  return undefined
}

/** An empty database of one of the engines, and connections to it. */
export type Database = {
  /** Its address; a PGlite has none. */
  readonly url?: string
  readonly driver: PostgresDriver
  /** Runs one statement on any connection. */
  sql(text: string, ...values: unknown[]): Promise<unknown[][]>
  /** Closes the connections. */
  stop(): Promise<void>
}

/** How to make a database on each engine, by name: PGlite, and a server where there is one. */
export function enginesOf(
  server: Server | undefined,
): readonly (readonly [name: string, start: () => Promise<Database>])[] {
  const pglite = ['PGlite', startPglite] as const
  return server === undefined ? [pglite] : [pglite, ['PostgreSQL', () => databaseOn(server)]]
}

export async function startPglite(): Promise<Database> {
  const instance = await PGlite.create()
  return databaseOver({ ...fromPglite(instance), end: () => instance.close() })
}

export async function databaseOn(server: Server): Promise<Database> {
  const url = await server.newDatabase()
  return { url, ...databaseOver(await fromUrl(url)) }
}

function databaseOver(driver: PostgresDriver): Database {
  const sql = async (text: string, ...values: unknown[]): Promise<unknown[][]> => {
    const connection = await driver.acquire()
    try {
      return [...(await connection.query(text, values)).rows] as unknown[][]
    } finally {
      connection.release(false)
    }
  }
  return { driver, sql, stop: () => driver.end() }
}

let schemas = 0

/** The name of a schema that no other test of the file has. */
export function newSchema(): string {
  return `schema_${++schemas}`
}

/** The folder of initdb and postgres: on the path, of pg_config, or the newest of Debian's. */
export function programsFolder(): string | undefined {
  const debian = '/usr/lib/postgresql'
  const versions = existsSync(debian) ? readdirSync(debian).sort((a, b) => Number(b) - Number(a)) : []
  const folders = [
    ...(process.env.PATH ?? '').split(delimiter),
    ...configuredFolder(),
    ...versions.map((version) => join(debian, version, 'bin')),
  ]
  return folders.find((folder) => existsSync(join(folder, 'initdb')) && existsSync(join(folder, 'postgres')))
}

function configuredFolder(): string[] {
  try {
    return [execFileSync('pg_config', ['--bindir'], { encoding: 'utf8', stdio: 'pipe' }).trim()]
  } catch {
    return []
  }
}

/** PostgreSQL and PgBouncer do not run as root. */
export function unprivileged(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined
  const idOf = (option: string, user: string): number =>
    Number(execFileSync('id', [option, user], { encoding: 'utf8', stdio: 'pipe' }))
  for (const user of ['postgres', 'nobody'])
    try {
      return { uid: idOf('-u', user), gid: idOf('-g', user) }
    } catch {}
  return undefined
}

async function startServer(programs: string): Promise<Server> {
  const folder = newFolder()
  const user = unprivileged()
  if (user !== undefined) chownSync(folder, user.uid, user.gid)
  chmodSync(folder, 0o755)
  const data = join(folder, 'data')
  const password = randomBytes(12).toString('hex')
  const passwordFile = join(folder, 'password')
  writeFileSync(passwordFile, password)
  const initdb = ['-D', data, '-U', USER, `--pwfile=${passwordFile}`, '--auth=scram-sha-256', '-E', 'UTF8']
  execFileSync(join(programs, 'initdb'), [...initdb, '--locale=C', '--no-sync'], {
    ...user,
    cwd: folder,
    stdio: 'pipe',
  })

  const port = await freePort()
  // What a killed server has written the system keeps; no test cuts the power.
  const settings = { port, listen_addresses: '127.0.0.1', unix_socket_directories: '', fsync: 'off' }
  const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const url = `postgres://${USER}:${password}@127.0.0.1:${port}/postgres`
  let child: ChildProcess

  const start = async (): Promise<void> => {
    const log = openSync(join(folder, 'log'), 'a')
    child = spawn(join(programs, 'postgres'), ['-D', data, ...options], {
      ...user,
      cwd: folder,
      stdio: ['ignore', log, log],
    })
    closeSync(log)
    await untilReady(url, child)
  }
  const stop = async (signal: NodeJS.Signals): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const exit = once(child, 'exit')
    child.kill(signal)
    await exit
  }
  const killHard = async (): Promise<void> => {
    const children = childrenOf(child.pid!)
    await stop('SIGKILL')
    for (const pid of children)
      try {
        process.kill(pid, 'SIGKILL')
      } catch {}
    while (children.some(isAlive)) await sleep(10)
  }

  await start()
  const endNow = (): void => void child.kill('SIGQUIT')
  process.once('exit', endNow)
  afterAll(async () => {
    await untilAlone(url)
    await stop('SIGINT')
    process.off('exit', endNow)
  })
  return { newDatabase: () => newDatabase(url), killHard, start }
}

function sharedServer(url: string): Server {
  const names: string[] = []
  afterAll(async () => {
    const drops = names.map((name) => `drop database if exists ${name} with (force)`)
    for (const node of await nodesOf(url)) await query(node, ...drops)
  })
  const create = async (): Promise<string> => {
    const database = await newDatabase(url)
    names.push(new URL(database).pathname.slice(1))
    return database
  }
  return { newDatabase: create, killHard: undefined, start: async () => {} }
}

/** Waits for the clients of pools that were just ended: the end of a server is an error that none of them hears any more. */
async function untilAlone(url: string): Promise<void> {
  const others = `select count(*) from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()`
  for (let attempt = 0; attempt < 100; attempt++) {
    const [row] = await query(url, others).catch(() => [])
    if (row === undefined || Number(row[0]) === 0) return
    await sleep(20)
  }
}

async function newDatabase(url: string): Promise<string> {
  const name = `undertext_test_${randomBytes(6).toString('hex')}`
  const databases = (await nodesOf(url)).map((node) => {
    const database = new URL(node)
    database.pathname = `/${name}`
    return { node, address: database.href }
  })
  for (const { node } of databases) await query(node, `create database ${name}`)
  const addresses = databases.map(({ address }) => address)
  if (addresses.length > 1) await joinNodes(addresses)
  return addresses[0]!
}

/** Runs statements on a connection of their own, and returns the rows of the last. */
export async function query(url: string, ...statements: string[]): Promise<unknown[][]> {
  const client = new pg.Client({ connectionString: url })
  // The tests end servers; a query on a lost connection fails by itself.
  client.on('error', () => {})
  await client.connect()
  try {
    let rows: unknown[][] = []
    for (const text of statements) ({ rows } = await client.query({ text, rowMode: 'array' }))
    return rows
  } finally {
    await client.end()
  }
}

async function untilReady(url: string, child: ChildProcess): Promise<void> {
  for (const end = performance.now() + 60_000; performance.now() < end; await sleep(30)) {
    if (child.exitCode !== null) throw new Error(`postgres ended with ${child.exitCode}.`)
    try {
      await query(url, 'select 1')
      return
    } catch {}
  }
  throw new Error('postgres did not start in a minute.')
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}

function childrenOf(parent: number): number[] {
  const lines = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' }).trim().split('\n')
  return lines
    .map((line) => line.trim().split(/\s+/).map(Number))
    .filter(([, ppid]) => ppid === parent)
    .map(([pid = 0]) => pid)
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
