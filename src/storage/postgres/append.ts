import type { Seen } from '../owners.ts'
import { SIZE_COLUMNS, SIZES, sizeColumns } from '../sql/columns.ts'
import type { AppendCall } from '../sql/sql.ts'

/*
 * Appends plain messages with one statement, in one round trip. If the session has another estimator or position, or one of the keys,
 * nothing is written.
 */

/** A statement that stores a token in `last_write` of its session, and returns `messages` and `incarnation`. */
export type OnceStatement = {
  readonly text: string
  readonly values: (session: number, token: string, lockTimeoutMs: number) => unknown[]
  /** Whether it reads rows other than the session's own. */
  readonly readsRows: boolean
}

/** The number of keys, and of row numbers, that each session of a family owns; the first session owns those from 0. */
export const KEYS_OF_SESSION = 2 ** 34

/** The columns of a message in `AppendCall.texts`. */
const TEXT_COLUMNS = ['tools', 'json', 'meta', 'own_key'] as const

export function appendStatement(batch: AppendCall, seen: Seen): OnceStatement {
  const { id, estimator, expectedPosition, now, keys, sizes, visible, numbers, texts } = batch
  const columns = TEXT_COLUMNS.length
  const isUsed = TEXT_COLUMNS.map((_, column) =>
    texts.some((text, at) => at % columns === column && text !== null),
  )
  return {
    text: textFor(texts.length / columns, expectedPosition !== undefined, isUsed, seen !== undefined),
    readsRows: keys.length > 0,
    values: (session, token, lockTimeoutMs) => {
      const facts = [session, (session - 1) * KEYS_OF_SESSION, now, expectedPosition ?? 0, visible]
      return [
        String(lockTimeoutMs),
        `{${[...facts, ...sizeColumns(sizes), ...numbers].join()}}`,
        ...[token, id, estimator],
        ...texts.filter((_, at) => isUsed[at % columns]),
        ...(seen === undefined ? [] : [seen]),
      ]
    },
  }
}

/** The texts by their parameters. They are kept because they are long. */
const keptTexts = new Map<string, string>()

function textFor(...shape: Parameters<typeof writeText>): string {
  const name = shape.join()
  const kept = keptTexts.get(name) ?? writeText(...shape)
  keptTexts.set(name, kept)
  return kept
}

/**
 * Returns the statement. Its numbers are passed as one list, because each parameter costs the driver more than an element costs the server.
 */
function writeText(count: number, isExpected: boolean, isUsed: readonly boolean[], isOwned: boolean): string {
  const number = (at: number): string => `(cast(?2 as bigint[]))[${at}]`
  const ofSession = 5 + SIZES.length
  const given = ['role', 'flags', ...SIZES, 'at']
  let parameters = 5
  const rows = Array.from({ length: count }, (_, row) => {
    const texts = isUsed.map((one) => (one ? `cast(?${++parameters} as text)` : 'null'))
    const numbers = given.map((_, at) => number(ofSession + given.length * row + at + 1))
    return { texts, values: [row + 1, ...numbers, ...texts].join(', ') }
  })
  const isNew = `and not exists (select 1 from undertext_messages
        where {family} session = ${number(1)} and idempotency_key in (${rows.map(({ texts }) => texts.at(-1)).join(', ')}))`
  return `with head as (
      update undertext_sessions set messages = messages + ${count}, visible = visible + ${number(5)},
        ${SIZE_COLUMNS.map((name, at) => `${name} = ${name} + ${number(6 + at)}`).join(', ')}, updated_at = ${number(3)},
        newest_at = least(${number(ofSession + given.length * count)}, ${number(3)}), version = version + 1, last_write = ?3
      where {family} no = ${number(1)} and id = ?4 and estimator = ?5 and set_config('lock_timeout', ?1, true) <> ''
        ${isOwned ? `and owner is not distinct from cast(?${parameters + 1} as text)` : ''}
        ${isExpected ? `and messages = ${number(4)}` : ''} ${isUsed.at(-1) ? isNew : ''}
      returning messages as last, messages - ${count} as before, incarnation),
    given (i, ${given.join(', ')}, ${TEXT_COLUMNS.join(', ')}) as (values ${rows.map(({ values }) => `(${values})`).join(', ')}),
    own as (insert into undertext_messages ({family,} key, session, anchor, position, role, flags, ${SIZE_COLUMNS.join(', ')},
        created_at, tools, idempotency_key)
      select {?,} ${number(2)} + 2 * (before + i), ${number(1)}, before + i, before + i, ${given.join(', ')}, tools, own_key
      from head, given),
    shared as (insert into undertext_contents ({family,} key, content, metadata)
      select {?,} ${number(2)} + 2 * (before + i), json, meta from head, given)
    select last, incarnation from head`
}
