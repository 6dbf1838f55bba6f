import BetterSqlite3 from 'better-sqlite3'
import { openStore } from 'undertext'
import { makeRandom } from './conversation.ts'
import type { Folder } from './folder.ts'
import { median, timed } from './rounds.ts'

/* The search of 10,000 messages of 300 characters, beside a bare table of FTS5 that has the same texts. */

const [MESSAGES, CHARACTERS, QUERIES] = [10_000, 300, 200]
/** Different words, as many as long conversations have. */
const VOCABULARY = 20_000
const SYLLABLES = 'ba ke di no lu sta mer fin gor tas vel pri chan dol wex bri kum zan hof tri'.split(' ')

type Figures = {
  readonly index: { readonly ours: number; readonly bare: number }
  readonly search: { readonly ours: number; readonly bare: number }
  /** Bytes of the index over the bytes of the texts. */
  readonly size: number
}

/** Words of natural frequencies: the share of a word falls with its rank. */
function wordOf(random: () => number): string {
  const rank = Math.floor(VOCABULARY ** (random() / 2 ** 32))
  let word = ''
  for (let left = rank; left > 0; left = Math.floor(left / SYLLABLES.length))
    word += SYLLABLES[left % SYLLABLES.length]
  return word
}

function wordsOf(random: () => number, characters: number): string {
  let text = ''
  while (text.length < characters) text += `${wordOf(random)} `
  return text.slice(0, characters)
}

export async function searchAgainstBare(folder: Folder): Promise<Figures> {
  const random = makeRandom(5)
  const texts = Array.from({ length: MESSAGES }, () => wordsOf(random, CHARACTERS))
  const queries = Array.from({ length: QUERIES }, () => Array.from({ length: 6 }, () => wordOf(random)))
  await using store = await openStore(folder.file('search.db'), { durability: 'normal' })
  for (let at = 0; at < texts.length; at += 500)
    await store.append(
      `s${at}`,
      texts.slice(at, at + 500).map((content) => ({ role: 'user' as const, content })),
    )
  const bare = new BetterSqlite3(folder.file('bare-search.db'))
  bare.pragma('journal_mode = wal')
  bare.exec("create virtual table texts using fts5(text, tokenize='porter')")
  const insert = bare.prepare('insert into texts (text) values (?)')
  const select = bare.prepare(
    "select rowid, snippet(texts, 0, '', '', '', 32) from texts where texts match ? order by rank limit 10",
  )
  try {
    const index = {
      ours: await timed(() => store.search('nothing')),
      bare: await timed(
        bare.transaction(() => {
          for (const text of texts) insert.run(text)
        }),
      ),
    }
    const times: { ours: number[]; bare: number[] } = { ours: [], bare: [] }
    for (const words of queries) {
      times.ours.push(await timed(() => store.search(words.join(' '))))
      times.bare.push(await timed(() => select.all(words.join(' OR '))))
    }
    return {
      index,
      search: { ours: median(times.ours), bare: median(times.bare) },
      size: bytesOfIndex(folder.file('search.db')) / (MESSAGES * CHARACTERS),
    }
  } finally {
    bare.close()
  }
}

function bytesOfIndex(file: string): number {
  const database = new BetterSqlite3(file, { readonly: true })
  try {
    return database
      .prepare("select sum(pgsize) from dbstat where name like 'undertext\\_words%' escape '\\'")
      .pluck()
      .get() as number
  } finally {
    database.close()
  }
}
