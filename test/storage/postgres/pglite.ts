import { PGlite } from '@electric-sql/pglite'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openStore } from '../../../src/index.ts'
import { fromPglite } from '../../../src/storage/postgres/drivers.ts'
import type { PostgresDriver } from '../../../src/storage/postgres/port.ts'
import { chat } from '../../support/conversation.ts'
import { describeStore } from '../contract.ts'
import { outsideFamily } from './families.ts'
import { schemasOf } from './schemas.ts'

/** Statements about all families, by what they are for. */
const OF_ALL_FAMILIES = {
  'sessions in a list':
    /^select (?:provider|id)\b.* from "s"\.sessions as undertext_sessions where archived_at is (?:not )?null and staged_by is null and (?:true|\(newest_at, added, family, no\) < \(.*\)) and .* order by newest_at desc, added desc/,
  'costs by day':
    /^select \((?:r\.at|c\.created_at) \+ .* from "s"\.(?:requests r|compactions c) join "s"\.sessions s on s\.family = [rc]\.family .* s\.staged_by is null and [rc]\.\w+ between /,
  'imports in progress': /^select id, staged_by, .* where staged_by is not null$/,
  'an incarnation': /^select 1 from "s"\.sessions as undertext_sessions where incarnation = \$1$/,
  'a job by its id': /^select j\.id, .* where j\.id = \$1$/,
  'a note by its id': /^select s\.id, n\.owner, s\.owner from .* where n\.id = \$1$/,
  // A note that was purged has no row left that would tell its scope.
  'a purged note by its id':
    /^select detail from "s"\.audit as undertext_audit where event = 'forgotten' and strpos\(detail, \$1\) > 0$/,
  'waiting jobs':
    /^select s\.id, s\.owner from "s"\.jobs j join "s"\.sessions s on s\.family = j\.family .* order by j\.no limit \$1$/,
  'sessions that are not in the index':
    /^select (?:s\.id, s\.owner|cast\(sum\(.*\) as bigint\)) from "s"\.sessions s left join "s"\.searched i on i\.family = s\.family and /,
  'whether the index is in use': /^select 1 from "s"\.searched as undertext_searched limit 1$/,
  'whether an import is in progress':
    /^select 1 from "s"\.sessions as undertext_sessions where staged_by is not null limit 1$/,
  'how many rows there are':
    /^select sum\(messages \+ inserted\)::bigint from "s"\.sessions as undertext_sessions$/,
  'rows with words': /^select json_agg\(session\)::text, .* from "s"\.words w /,
  'whether sessions share texts':
    /^select 1 from "s"\.messages as undertext_messages where source is not null limit 1$/,
  'how many rows have a word':
    /^select count\(\*\) from \(select 1 from "s"\.words as undertext_words where words @@ /,
  'rows by their places':
    /^select m\.family, m\.session, .* from json_array_elements\(\$\d::json\) k cross join lateral \(select \* from "s"\.messages m where m\.family = /,
  'owners with notes':
    /^select distinct owner from "s"\.notes as undertext_notes where session = 0 order by owner$/,
  'the cost of summaries':
    /^select .* from "s"\.compactions as undertext_compactions where summarizer is not null and created_at > \$1/,
}

/** A condition of the statements of `store.forOwner`. */
const OF_ONE_OWNER = /\b\w+\.owner (?:is null|= \$\d+::text) and /g

/** Runs the contract on a PGlite, and checks the statements that were sent. */
export function describePglite(): void {
  let pglite: PGlite
  let driver: PostgresDriver
  const sent = new Set<string>()

  beforeAll(async () => {
    pglite = await PGlite.create()
    driver = recording(fromPglite(pglite), sent)
  })
  afterAll(() => pglite.close())
  const newSchema = schemasOf(() => driver)

  describeStore('PGlite', async () => {
    const options = { schema: await newSchema(), estimator: 'neurolink' } as const
    return { store: await openStore(driver, options), reopen: () => openStore(driver, options) }
  })

  describe('PGlite', () => {
    it('compacts in the background', async () => {
      const store = await openStore(driver, { schema: await newSchema(), estimator: 'neurolink' })
      await store.append('s', chat(20))
      const job = await store.jobs.start('s', { targetTokens: 0 })
      await store.jobs.whenIdle('s')
      expect(await store.jobs.get(job.jobId)).toMatchObject({ state: 'done', sessionId: 's', attempts: 1 })
      const other = await store.jobs.start('s', { targetTokens: 0 })
      await store.jobs.cancel({ job: other.jobId })
      expect(await store.jobs.list('s')).toHaveLength(2)
      expect((await store.sessions.verify('s')).findings).toEqual([])
      await store.jobs.whenIdle()
      await store.close()
    })

    it('no statement leaves anything in its connection, which a pooler gives to another client', () => {
      const leaving =
        /^(?:set (?!local )|reset|discard|listen|unlisten|load|prepare|declare|create (?:local |global )?temp)|pg_(?:try_)?advisory_lock|set_config\([^)]*, false\)/i
      expect([...sent].filter((text) => leaving.test(text))).toEqual([])
      expect([...sent].some((text) => text.startsWith('set local lock_timeout'))).toBe(true)
    })

    it('each statement about a session names its family', () => {
      const texts = [...sent].filter((text) => /^(?:select|insert|update|delete|with)\b/.test(text))
      const wrong = texts.flatMap((text) => {
        const tables = outsideFamily(text)
        const ofAll = text.replaceAll(OF_ONE_OWNER, '')
        const isKnown = Object.values(OF_ALL_FAMILIES).some((known) => known.test(ofAll))
        return tables.length === 0 || isKnown ? [] : [{ tables, text }]
      })
      expect(texts.length).toBeGreaterThan(100)
      expect(wrong).toEqual([])
    })
  })
}

/** Notes the statements, with `"s"` for each schema. */
function recording(driver: PostgresDriver, sent: Set<string>): PostgresDriver {
  return {
    end: () => driver.end(),
    acquire: async () => {
      const connection = await driver.acquire()
      return {
        query: (text, values, name) => {
          const plain = text
            .replaceAll(/"s\d+"/g, '"s"')
            .replaceAll(/\s+/g, ' ')
            .trim()
          sent.add(plain)
          return connection.query(text, values, name)
        },
        release: (isBroken) => connection.release(isBroken),
      }
    },
  }
}
