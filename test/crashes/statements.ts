import type { Database } from '../../src/storage/sqlite/driver.ts'

/** Called in place of every statement; `execute` does what was asked for. */
export type Interceptor = (sql: string, execute: () => unknown, database: Database) => unknown

/**
 * Lets every statement of a connection go through a function: preparing one, running one, scripts and pragmas.
 * Given the driver's prototype, those of every connection of the process. Answers how to take it off again.
 *
 * SQLite itself stays as it is; only the moments before and after each call are ours.
 */
export function interceptStatements(target: Database, intercept: Interceptor): () => void {
  const { prepare, exec, pragma } = target
  const isPrototype = Object.hasOwn(target, 'prepare')
  target.prepare = function (this: Database, sql: string) {
    const statement = intercept(`prepare: ${sql}`, () => prepare.call(this, sql), this) as Executable
    for (const way of ['run', 'get', 'all'] as const) {
      const execute = statement[way]
      statement[way] = (...parameters) => intercept(sql, () => execute.apply(statement, parameters), this)
    }
    return statement
  } as unknown as Database['prepare']
  target.exec = function (this: Database, sql: string) {
    return intercept(sql, () => exec.call(this, sql), this) as Database
  }
  target.pragma = function (this: Database, sql: string, options) {
    return intercept(`pragma ${sql}`, () => pragma.call(this, sql, options), this)
  }
  return () => {
    if (isPrototype) Object.assign(target, { prepare, exec, pragma })
    else for (const name of ['prepare', 'exec', 'pragma']) Reflect.deleteProperty(target, name)
  }
}

type Executable = Record<'run' | 'get' | 'all', (...parameters: unknown[]) => unknown>
