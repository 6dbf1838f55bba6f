import { MIGRATIONS as OF_POSTGRES } from '../../src/storage/postgres/migrations.ts'
import { MIGRATIONS as OF_SQLITE } from '../../src/storage/sqlite/migrations.ts'

/*
 * A made-up next version of the schema, for tests of the runner of migrations. It adds a column and an index, fills the column from what
 * is there, and writes a table with guards again. It is the last of the migrations between `beNext` and `beNow`.
 */

type Engine = 'sqlite' | 'postgres'

const MIGRATIONS = { sqlite: OF_SQLITE, postgres: OF_POSTGRES } as const
/** How the names of tables begin, and how a table is named in a statement of drizzle-kit. */
const NAMES = {
  sqlite: { prefix: 'undertext_', quoted: '`undertext_audit`' },
  postgres: { prefix: '{schema}.', quoted: '{schema}."audit"' },
} as const
const COLUMNS = 'no, session, event, compaction, run, at, actor, detail, position'

/** The number of the made-up version. */
export const NEXT = { sqlite: OF_SQLITE.length + 1, postgres: OF_POSTGRES.length + 1 } as const

function statementsOf(engine: Engine): string[] {
  const { prefix, quoted } = NAMES[engine]
  const audit = `${prefix}audit`
  const sessions = `${prefix}sessions`
  const label = engine === 'sqlite' ? 'undertext_sessions_label' : 'sessions_label'
  const family = engine === 'sqlite' ? '' : 'family, '
  const made = MIGRATIONS[engine].flat()
  const [table = ''] = made.filter((text) => text.startsWith(`CREATE TABLE ${quoted}`))
  const others = made.filter(
    (text) =>
      (text.startsWith('CREATE') || text.startsWith('ALTER TABLE')) &&
      !text.startsWith('CREATE TABLE') &&
      (text.includes(` ON ${quoted}`) ||
        new RegExp(`(?:ON|TABLE) ${audit.replace('{', '\\{')}\\b`).test(text)),
  )
  return [
    `ALTER TABLE ${sessions} ADD COLUMN label text`,
    `UPDATE ${sessions} SET label = 'of ' || id`,
    `CREATE INDEX ${label} ON ${sessions} (label) WHERE label is not null`,
    `ALTER TABLE ${audit} RENAME TO ${engine === 'sqlite' ? 'undertext_audit_before' : 'audit_before'}`,
    ...(engine === 'sqlite'
      ? []
      : ['ALTER TABLE {schema}.audit_before RENAME CONSTRAINT audit_pkey TO audit_before_pkey']),
    table.replace(/\(\n/, '(\n\tweight integer DEFAULT 7 NOT NULL,\n'),
    `INSERT INTO ${audit} (${family}${COLUMNS}) SELECT ${family}${COLUMNS} FROM ${audit}_before`,
    `DROP TABLE ${audit}_before`,
    ...others,
  ]
}

const STATEMENTS = { sqlite: statementsOf('sqlite'), postgres: statementsOf('postgres') }

/** Makes the made-up version that of this process. */
export function beNext(engine: Engine): void {
  if (MIGRATIONS[engine].length < NEXT[engine])
    (MIGRATIONS[engine] as (readonly string[])[]).push(STATEMENTS[engine])
}

/** Ends that. */
export function beNow(engine: Engine): void {
  ;(MIGRATIONS[engine] as (readonly string[])[]).length = NEXT[engine] - 1
}

/** The number of statements of the made-up version. */
export function statementCount(engine: Engine): number {
  return STATEMENTS[engine].length
}
