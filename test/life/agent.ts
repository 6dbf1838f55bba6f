import { statSync } from 'node:fs'
import Database from 'better-sqlite3'
import { type NewMessage, openStore, type Store } from '../../src/index.ts'

/*
 * A process of its own that lives as agents do, at full speed: turns with tools, stats before each, compaction
 * when it is due, an undo and a redo now and then, sessions that end and new ones that begin; while readers come,
 * look for a while and go. Of its sessions that ended an agent keeps two and purges those before. It tells about itself once in a while, one line of JSON each time.
 */

export type Sample = {
  /** Milliseconds since the start. */
  readonly at: number
  readonly turns: number
  readonly compactions: number
  readonly undos: number
  /** Bytes of the contents that are in the store, as compact JSON. */
  readonly contentBytes: number
  readonly fileBytes: number
  /** Bytes of pages that a purge left free. */
  readonly freeBytes: number
  readonly walBytes: number
  /** Bytes in use after a collection, and of the whole process. */
  readonly heapBytes: number
  readonly residentBytes: number
}

/** What is in the file at the end, bytes of pages: the contents, and everything else. */
export type Contents = {
  readonly messages: number
  readonly contentPages: number
  readonly otherPages: number
  /** Bytes of what compactions added: replacements, coverage, settings, the audit. */
  readonly compactionBytes: number
}

const SESSIONS = 6
const KEPT_SESSIONS = 2
const [file = '', seconds = '10', every = '1', turnsASession = '400', mostTurns = 'Infinity'] =
  process.argv.slice(2)
const collect = (globalThis as { gc?: () => void }).gc!

const store = await openStore(file, { durability: 'normal' })
const start = Date.now()
const end = start + Number(seconds) * 1_000
const goesOn = (): boolean => Date.now() < end && done.turns < Number(mostTurns)
const done = { turns: 0, compactions: 0, undos: 0, contentBytes: 0, messages: 0 }

/** One agent: goes from turn to turn, and from session to session. */
class Agent {
  readonly #name: string
  #session = 0
  #turn = 0
  #calls = 0
  /** Bytes and messages of the sessions that are kept, oldest first, the running one last. */
  readonly #kept = [{ contentBytes: 0, messages: 0 }]

  constructor(name: string) {
    this.#name = name
  }

  async live(): Promise<void> {
    if (this.#turn === Number(turnsASession)) await this.#beginAnew()
    this.#turn += 1
    await this.#append([{ role: 'user', content: `Please do number ${this.#turn}. ${words(40)}` }])
    for (let call = 0; call < 3; call++) await this.#callTool()
    await this.#append([{ role: 'assistant', content: words(60) }])
    done.turns += 1
    if (store.needsCompaction(this.#id, 'openai', 'gpt-4')) await this.#compact()
  }

  async #beginAnew(): Promise<void> {
    await store.sessions.archive(this.#id)
    this.#session += 1
    this.#turn = 0
    this.#kept.push({ contentBytes: 0, messages: 0 })
    if (this.#kept.length <= KEPT_SESSIONS + 1) return
    const purged = await store.sessions.purge(`${this.#name}-${this.#session - KEPT_SESSIONS - 1}`, {
      // Agents purge often: the files are cleared once, when the store is closed.
      clearFiles: false,
    })
    const { contentBytes, messages } = this.#kept.shift()!
    if (purged.messages !== messages) throw new Error(`${purged.messages} of ${messages} were purged`)
    done.contentBytes -= contentBytes
    done.messages -= messages
  }

  get #id(): string {
    return `${this.#name}-${this.#session}`
  }

  async #callTool(): Promise<void> {
    this.#calls += 1
    const toolCallId = `call_${this.#calls}`
    const path = `src/part-${this.#calls % 20}.ts`
    await this.#append([
      {
        role: 'assistant',
        content: [{ type: 'tool-call', toolCallId, toolName: 'read_file', input: { path } }],
      },
      {
        role: 'tool',
        content: [
          {
            type: 'tool-result',
            toolCallId,
            toolName: 'read_file',
            output: { type: 'text', value: words(150 + ((this.#calls * 37) % 300)) },
          },
        ],
      },
    ])
  }

  async #compact(): Promise<void> {
    const result = await store.compactSession(this.#id, {
      provider: 'openai',
      model: 'gpt-4',
      trigger: 'auto',
    })
    done.compactions += result!.compactions.length
    // Every third one is taken back and put back.
    if (result!.compacted && done.compactions % 3 === 0) {
      await store.undoCompaction(this.#id, result!.runId)
      await store.getEffectiveHistory(this.#id)
      await store.redoCompaction(this.#id, result!.runId)
      done.undos += 1
    }
    await store.renderHistory(this.#id)
  }

  async #append(messages: NewMessage[]): Promise<void> {
    const bytes = messages.reduce((sum, one) => sum + Buffer.byteLength(JSON.stringify(one.content)), 0)
    await store.append(this.#id, messages)
    const kept = this.#kept.at(-1)!
    kept.contentBytes += bytes
    kept.messages += messages.length
    done.contentBytes += bytes
    done.messages += messages.length
  }
}

let word = 0
function words(count: number): string {
  const text: string[] = []
  for (let i = 0; i < count; i++) {
    word = (Math.imul(word, 1_664_525) + 1_013_904_223) >>> 0
    text.push(`word${word % 5_000}`)
  }
  return text.join(' ')
}

/** A reader of its own connection: comes, looks at everything for a while within one transaction, and goes. */
async function readers(): Promise<void> {
  while (goesOn()) {
    const connection = new Database(file, { readonly: true })
    const reading: Store = await openStore(connection, { readonly: true })
    for (const { id } of await reading.sessions.list({ limit: SESSIONS }))
      await reading.getEffectiveHistory(id)
    connection.exec('begin')
    connection.prepare('select count(*) from undertext_sessions').get()
    await pause(200)
    connection.exec('commit')
    await reading.close()
    connection.close()
    await pause(300)
  }
}

function sample(): void {
  collect()
  const probe = new Database(file, { readonly: true })
  const pragma = (name: string): number => probe.pragma(name, { simple: true }) as number
  const memory = process.memoryUsage()
  const told: Sample = {
    at: Date.now() - start,
    turns: done.turns,
    compactions: done.compactions,
    undos: done.undos,
    contentBytes: done.contentBytes,
    fileBytes: statSync(file).size,
    freeBytes: pragma('freelist_count') * pragma('page_size'),
    walBytes: statSync(`${file}-wal`).size,
    heapBytes: memory.heapUsed,
    residentBytes: memory.rss,
  }
  probe.close()
  process.stdout.write(`${JSON.stringify(told)}\n`)
}

/** Looks through the whole file, once, at the end. */
function contents(): Contents {
  const probe = new Database(file, { readonly: true })
  const number = (sql: string): number => probe.prepare(sql).pluck().get() as number
  const pages = 'select total(pgsize) from dbstat where name'
  const found: Contents = {
    messages: done.messages,
    contentPages: number(`${pages} = 'undertext_contents'`),
    otherPages: number(`${pages} <> 'undertext_contents'`),
    compactionBytes: number(
      `select (select total(length(text) + 40) from undertext_replacements)
         + (select total(length(coverage) + length(ifnull(params, '')) + 250) from undertext_compactions)
         + (select total(length(ifnull(detail, '')) + 60) from undertext_audit)`,
    ),
  }
  probe.close()
  return found
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds))
}

async function agents(): Promise<void> {
  const living = Array.from({ length: SESSIONS }, (_, nth) => new Agent(`agent${nth}`))
  let next = start
  while (goesOn()) {
    for (const agent of living) await agent.live()
    if (Date.now() >= next) {
      sample()
      next += Number(every) * 1_000
    }
    // Verbs over SQLite never wait, so timers get their turn only here.
    await new Promise((resolve) => setImmediate(resolve))
  }
}

await Promise.all([agents(), readers()])
sample()
process.stdout.write(`${JSON.stringify(contents())}\n`)
const sessions = await store.sessions.list({ limit: SESSIONS })
for (const { id } of sessions) {
  const { findings } = await store.sessions.verify(id)
  if (findings.length > 0) throw new Error(`${id}: ${findings.map(({ code }) => code).join(', ')}`)
}
await store.close()
