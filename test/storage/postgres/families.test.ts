import { expect, it } from 'vitest'
import { outsideFamily } from './families.ts'

/* How the contract on PGlite (pglite.slow.ts) finds statements that read all families. */

it.each([
  ['select 1 from "s".messages as m where family = $1::bigint and key = $2', []],
  ['select 1 from "s".messages as m where key = $2', ['m']],
  ['select 1 from "s".messages m join "s".contents c on c.key = m.key where m.family = $1::bigint', ['c']],
  [
    'select 1 from "s".messages m join "s".contents c on c.family = m.family and c.key = m.key where m.family = $1',
    [],
  ],
  [
    'delete from "s".jobs as j where family = $1::bigint and no in (select no from "s".jobs as j where no < $2)',
    ['j'],
  ],
  ['select 1 from "s".usage as u where (family = $1::bigint and (model = $2))', []],
  ['select 1 from "s".usage as u where family = $1 union select 1 from "s".usage as v', ['v']],
  ['insert into "s".usage as u (model, family) values ($1, $2::bigint)', []],
  ['insert into "s".usage as u (model, family) values ($1, $2)', ['u']],
  ['insert into "s".usage as u (family, no) select v.family, $1 from "s".usage v where v.family = $2', []],
  [
    'insert into "s".usage as u (family, no) select v.family, $1 from "s".usage v where v.no = $2',
    ['u', 'v'],
  ],
  ['select 1 from "s".usage as u where model = \'family = $1\'', ['u']],
  ['select 1 from "s".limits as l, "s".names as n', []],
])('%s: tables without a family are %j', (statement, tables) => {
  expect(outsideFamily(statement)).toEqual(tables)
})
