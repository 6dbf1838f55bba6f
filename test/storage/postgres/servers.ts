import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PGlite } from '@electric-sql/pglite'
import pg from 'pg'
import type { PostgresConnection, PostgresDriver } from '../../../src/storage/postgres/port.ts'

/*
 * The servers of these tests: PGlite always, and PostgreSQL where its programs are found. The drivers are as small as can be.
 */

export type Server = {
  readonly driver: PostgresDriver
  /** The folder of its socket; a PGlite has none. */
  readonly host?: string
  /** Runs one statement on any connection. */
  sql(text: string, ...values: unknown[]): Promise<unknown[][]>
  stop(): Promise<void>
}

const BIN = programs()
if (BIN === undefined)
  console.log('No PostgreSQL was found (apt install postgresql): its tests run with PGlite only.')

/** Starts PostgreSQL; `undefined` where it is not found. */
export const startPostgres = BIN === undefined ? undefined : () => start(BIN)

/** How to start each server, by name. */
export const SERVERS: readonly (readonly [name: string, start: () => Promise<Server>])[] = [
  ['PGlite', startPglite],
  ...(startPostgres === undefined ? [] : ([['PostgreSQL', startPostgres]] as const)),
]

function programs(): string | undefined {
  const root = '/usr/lib/postgresql'
  const versions = existsSync(root) ? readdirSync(root).sort((a, b) => Number(b) - Number(a)) : []
  const folders = [...(process.env.PATH ?? '').split(':'), ...versions.map((one) => join(root, one, 'bin'))]
  return folders.find((folder) => existsSync(join(folder, 'initdb')) && existsSync(join(folder, 'postgres')))
}

export async function startPglite(): Promise<Server> {
  const instance = await PGlite.create()
  const query: PostgresConnection['query'] = async (text, values) => {
    const { rows, affectedRows } = await instance.query(text, [...values], { rowMode: 'array' })
    return { rows: rows as unknown[][], count: affectedRows || rows.length }
  }
  return serverOf(
    { acquire: async () => ({ query, release: () => {} }), end: () => instance.close() },
    undefined,
  )
}

async function start(bin: string): Promise<Server> {
  const folder = mkdtempSync(join(tmpdir(), 'ut-pg-'))
  // The server refuses to run as root.
  const user = process.getuid?.() === 0 ? idsOf('postgres') : undefined
  if (user !== undefined) chownSync(folder, user.uid, user.gid)
  const data = join(folder, 'data')
  const options = { ...user, cwd: folder, stdio: 'ignore' } as const
  execFileSync(
    join(bin, 'initdb'),
    ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-sync'],
    options,
  )
  const settings = [
    'listen_addresses=',
    `unix_socket_directories=${folder}`,
    'fsync=off',
    'max_connections=30',
  ]
  const server = spawn(
    join(bin, 'postgres'),
    ['-D', data, ...settings.flatMap((one) => ['-c', one])],
    options,
  )
  process.once('exit', () => server.kill('SIGQUIT'))
  const driver = poolDriver(folder)
  await ready(driver)
  return serverOf(
    {
      ...driver,
      end: async () => {
        await driver.end()
        await ended(server)
        rmSync(folder, { recursive: true, force: true })
      },
    },
    folder,
  )
}

function idsOf(name: string): { readonly uid: number; readonly gid: number } {
  const id = (flag: string): number => Number(execFileSync('id', [flag, name], { encoding: 'utf8' }))
  return { uid: id('-u'), gid: id('-g') }
}

async function ready(driver: PostgresDriver): Promise<void> {
  for (let tries = 0; ; tries++) {
    try {
      return (await driver.acquire()).release(false)
    } catch (error) {
      if (tries === 200) throw error
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
}

function ended(server: ChildProcess): Promise<unknown> {
  const end = new Promise((resolve) => server.once('exit', resolve))
  // The fast shutdown.
  server.kill('SIGINT')
  return end
}

/** A driver of `pg` for the server at a socket. */
export function poolDriver(host: string, user = 'postgres'): PostgresDriver {
  const pool = new pg.Pool({ host, user, database: 'postgres', max: 5 })
  pool.on('error', () => {})
  return {
    acquire: async () => {
      const client = await pool.connect()
      // A pool does not listen to a client in use; its query fails too.
      client.on('error', ignore)
      return {
        query: async (text, values) => {
          const { rows, rowCount } = await client.query({
            text,
            values: [...values],
            rowMode: 'array',
            types: TYPES,
          })
          return { rows, count: rowCount ?? 0 }
        },
        release: (isBroken) => {
          client.removeListener('error', ignore)
          client.release(isBroken)
        },
      }
    },
    end: () => pool.end(),
  }
}

const ignore = (): void => {}

const TYPES = {
  getTypeParser: ((oid: number, format?: 'text') =>
    oid === 20 ? Number : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
}

function serverOf(driver: PostgresDriver, host: string | undefined): Server {
  return {
    driver,
    ...(host === undefined ? {} : { host }),
    sql: async (text, ...values) => {
      const connection = await driver.acquire()
      try {
        return [...(await connection.query(text, values)).rows] as unknown[][]
      } finally {
        connection.release(false)
      }
    },
    stop: () => driver.end(),
  }
}

let schemas = 0

/** The name of a schema that no other test of the file has. */
export function newSchema(): string {
  return `schema_${++schemas}`
}
