import { array, assert, constantFrom, property, string } from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { translate } from '../../../src/storage/postgres/text.ts'
import { toSqlite } from '../../../src/storage/sqlite/connection.ts'

const pg = (text: string): string => translate(text, 'chats').text

describe('tables', () => {
  it.each([
    [
      'select undertext_messages.key from undertext_messages where kind = 0',
      'select undertext_messages.key from "chats".messages as undertext_messages where kind = 0',
    ],
    ['select m.key from undertext_messages m', 'select m.key from "chats".messages m'],
    ['select m.key from undertext_messages as m', 'select m.key from "chats".messages as m'],
    [
      'select 1 from undertext_messages m join undertext_contents on undertext_contents.key = m.key',
      'select 1 from "chats".messages m join "chats".contents as undertext_contents on undertext_contents.key = m.key',
    ],
    ['select 1 from undertext_a, undertext_b b', 'select 1 from "chats".a as undertext_a, "chats".b b'],
    [
      'update undertext_sessions set title = null where no = 1',
      'update "chats".sessions as undertext_sessions set title = null where no = 1',
    ],
    [
      'insert into undertext_meta (key, value) values (1, 2) on conflict (key) do update set value = undertext_meta.value + 1',
      'insert into "chats".meta as undertext_meta (key, value) values (1, 2) on conflict (key) do update set value = undertext_meta.value + 1',
    ],
    ['delete from undertext_blobs', 'delete from "chats".blobs as undertext_blobs'],
    ['exists (select 1 from undertext_jobs)', 'exists (select 1 from "chats".jobs as undertext_jobs)'],
  ])('of %s', (text, expected) => expect(pg(text)).toBe(expected))

  it('stand in a schema of any name', () => {
    expect(translate('delete from undertext_jobs j', 'a"b').text).toBe('delete from "a""b".jobs j')
  })

  it('are only whole names', () => {
    expect(pg('select my_undertext_jobs, x.undertext_jobs')).toBe(
      'select my_undertext_jobs, x.undertext_jobs',
    )
  })
})

describe('parameters', () => {
  it('are numbered in order', () => {
    expect(translate('select ? where a = ?', 'chats')).toEqual({
      text: 'select $1 where a = $2',
      added: [],
      parameters: 2,
    })
  })

  it('keep the numbers they have', () => {
    expect(translate('select ?2, ?1, ?2', 'chats')).toMatchObject({
      text: 'select $2, $1, $2',
      parameters: 2,
    })
  })

  it('are all plain or all numbered', () => {
    expect(() => pg('select ?, ?1')).toThrow('plain and numbered')
  })
})

describe('fragments', () => {
  it.each([
    ['select 1 where {family} no = ?', 'select 1 where family = $2::bigint and no = $1', 1],
    ['select 1 where {family m} m.no = ?1', 'select 1 where m.family = $2::bigint and m.no = $1', 1],
    ['insert into t ({family,} a) values ({?,} ?)', 'insert into t (family, a) values ($2::bigint, $1)', 1],
  ])('the family of %s is the last parameter', (text, expected, parameters) => {
    expect(translate(text, 'chats')).toEqual({ text: expected, added: ['family'], parameters })
  })

  it('a selected family is a column, and a function is called in the schema', () => {
    expect(translate('insert into t ({family,} a) select {family, s} ? from s', 'chats').text).toBe(
      'insert into t (family, a) select s.family, $1 from s',
    )
    expect(translate('select {schema}.append({?,} ?)', 'a"b').text).toBe(
      'select "a""b".append($2::bigint, $1)',
    )
  })

  it('an index is not named', () => {
    expect(pg('select 1 from undertext_messages {index undertext_visible} where a')).toBe(
      'select 1 from "chats".messages as undertext_messages  where a',
    )
    expect(pg('select 1 from undertext_messages m {index undertext_visible} where a')).toBe(
      'select 1 from "chats".messages m  where a',
    )
  })

  const numbers = (n: number): string =>
    `(select value::bigint as value from json_array_elements_text($${n}::json))`
  const texts = (n: number): string =>
    `(select value::text as value from json_array_elements_text($${n}::json))`
  it.each([
    [
      'a in (select value from {list ?}) and b = ?',
      `a in (select value from ${numbers(1)} as list) and b = $2`,
    ],
    ['from {list ?} where b = ?', `from ${numbers(1)} as list where b = $2`],
    ['from {texts ?2} l join t on ?1', `from ${texts(2)} l join t on $1`],
    ['join {texts ?} as given on b = ?', `join ${texts(1)} as given on b = $2`],
  ])('a list is a table: %s', (text, expected) => expect(pg(text)).toBe(expected))

  it('a row is looked up for each row before it', () => {
    expect(pg('from a {find} undertext_jobs j {where} {family j} j.no = a.no {found j} where b')).toBe(
      'from a cross join lateral (select * from "chats".jobs j where j.family = $1::bigint and j.no = a.no offset 0) j where b',
    )
    expect(toSqlite('from a {find} undertext_jobs j {where} {family j} j.no = a.no {found j} where b')).toBe(
      'from a cross join undertext_jobs j on  j.no = a.no  where b',
    )
  })

  it('the newest replacement of a part is the one that has the maximum', () => {
    expect(pg('select {distinct} r.part, {latest r} from r {last}')).toBe(
      'select distinct on (r.message, r.part) r.part, r.compaction from r order by r.message, r.part, r.compaction desc',
    )
    expect(toSqlite('select {distinct} r.part, {latest r} from r {last}')).toBe(
      'select  r.part, max(r.compaction) from r group by r.message, r.part',
    )
  })

  it('an unknown one is a mistake', () => {
    expect(() => pg('select {other}')).toThrow('{other}')
    expect(() => pg('select {list 1}')).toThrow('{list 1}')
  })
})

describe('whatever the statement', () => {
  const PIECES = ['?', '{family}', '{list ?} l', 'undertext_jobs', ' ', 'where', "''", '--', '/*', '{', '"']
  const noise = array(constantFrom(...PIECES), { maxLength: 8 }).map((pieces) => pieces.join(''))
  const quotes = constantFrom(
    (inner: string) => `'${inner.replaceAll("'", "''")}'`,
    (inner: string) => `"${inner.replaceAll('"', '""')}"`,
    (inner: string) => `--${inner}\n`,
    (inner: string) => `/*${inner.replaceAll('*/', '')}*/`,
  )

  test('texts, quoted names and comments are untouched', () => {
    assert(
      property(noise, quotes, (inner, quote) => {
        const quoted = quote(inner)
        expect(pg(`select ${quoted}, ?`)).toBe(`select ${quoted}, $1`)
      }),
    )
  })

  test('SQL without our marks is untouched', () => {
    assert(
      property(string(), (text) => {
        const plain = text.replaceAll(/[?{}]|undertext_/g, '')
        expect(translate(plain, 'chats')).toEqual({ text: plain, added: [], parameters: 0 })
      }),
    )
  })

  test('every parameter has its number once, and the family the one after them', () => {
    assert(
      property(
        array(constantFrom('?', '{list ?} l', '{texts ?} l', '{family}', "'?'", 'x'), { maxLength: 12 }),
        (pieces) => {
          const { text, added, parameters } = translate(pieces.join(' '), 'chats')
          const count = pieces.filter((piece) => piece.includes('?') && piece !== "'?'").length
          expect(parameters).toBe(count)
          expect(added.includes('family')).toBe(pieces.includes('{family}'))
          const numbers = [...text.matchAll(/\$(\d+)/g)].map(([, number]) => Number(number))
          const own = numbers.filter((number) => number <= count)
          expect(own).toEqual(Array.from({ length: count }, (_, index) => index + 1))
          expect(new Set(numbers.filter((number) => number > count))).toEqual(
            new Set(added.length > 0 ? [count + 1] : []),
          )
        },
      ),
    )
  })
})
