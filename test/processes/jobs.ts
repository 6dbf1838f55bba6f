import { appendFileSync } from 'node:fs'
import BetterSqlite3 from 'better-sqlite3'
import {
  type CompactionConfig,
  isUndertextError,
  openStore,
  type Store,
  type Summarizer,
} from '../../src/index.ts'
import { CANARY } from '../support/failures.ts'
import { turnOf } from './turns.ts'
import { type Seen, watchSession } from './watch.ts'

/* What a process of the fleet can be told to do. What goes in and what comes out is plain data. */

/** How often something ended in which way: a word for a success, a code for one of our errors. */
export type Outcomes = Record<string, number>

type In = { readonly file: string; readonly session: string }

/** The arguments of each job. */
export type Jobs = {
  ready: object
  /** Appends turns, one session after the other, and says where each was put. */
  append: {
    readonly file: string
    readonly sessions: readonly string[]
    readonly name: string
    turns: number
    pauseMs: number
  }
  /** Compacts with one config after the other until it is told to stop. */
  compact: In & { readonly name: string; readonly configs: readonly CompactionConfig[] }
  /** Undoes and redoes one compaction after the other until it is told to stop. */
  undo: In & { readonly name: string; readonly seed: number }
  /** Reads the view until it is told to stop, and says everything it saw. */
  watch: In
  /** Opens a file at a given moment, appends one message and closes. */
  open: { readonly file: string; readonly name: string; readonly start: number }
  /** Takes the write lock of a file and keeps it until `release`. */
  hold: { readonly file: string }
  release: object
  /** Compacts once, by a model whose calls are noted in a file. */
  summarize: In & { readonly log: string; readonly config: CompactionConfig }
  /** Makes a preview and keeps it; `apply` applies it. */
  preview: In & { readonly config: CompactionConfig }
  apply: object
  purge: In & { readonly times: number }
}

export type JobName = keyof Jobs

export type Answers = {
  ready: undefined
  append: { readonly sent: readonly Sent[]; readonly outcomes: Outcomes }
  compact: Outcomes
  undo: Outcomes
  watch: Seen
  open: string
  hold: undefined
  release: undefined
  summarize: string
  preview: string
  apply: string
  purge: Outcomes
}

/** One turn that was acknowledged: which, and the position of its first message. */
export type Sent = { readonly session: string; readonly turn: number; readonly position: number }

let stopped = false

/** Ends the jobs that go on until they are told to; `true` lets the next ones go on. */
export function stopJobs(goOn = false): void {
  stopped = !goOn
}

/** Lets messages of the parent come in. */
function breathe(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

/** A long limit: here nobody may be refused for having waited. */
function open(file: string): Promise<Store> {
  return openStore(file, { busyTimeoutMs: 60_000, durability: 'normal' })
}

/** What a verb ended in. What is not an error of ours, or quotes the conversation, is told in full. */
async function outcomeOf<T>(act: () => Promise<T>, word: (answer: T) => string): Promise<string> {
  try {
    return word(await act())
  } catch (error) {
    if (!isUndertextError(error)) return `raw: ${error instanceof Error ? error.stack : String(error)}`
    return JSON.stringify([error.message, error.facts]).includes(CANARY)
      ? `quoting: ${error.message}`
      : error.code
  }
}

async function untilStopped(step: (round: number) => Promise<string>): Promise<Outcomes> {
  const outcomes: Outcomes = {}
  for (let round = 0; !stopped; round++) {
    count(outcomes, await step(round))
    await breathe()
  }
  return outcomes
}

function count(outcomes: Outcomes, word: string): void {
  outcomes[word] = (outcomes[word] ?? 0) + 1
}

/** The connection that holds a lock, between `hold` and `release`. */
let holding: BetterSqlite3.Database | undefined
/** A preview that was made, and how it is applied. */
let applying: (() => Promise<string>) | undefined

export const jobs: { readonly [N in JobName]: (argument: Jobs[N]) => Promise<Answers[N]> } = {
  ready: async () => undefined,

  append: async ({ file, sessions, name, turns, pauseMs }) => {
    const store = await open(file)
    const sent: Sent[] = []
    const outcomes: Outcomes = {}
    for (let turn = 1; turn <= turns; turn++) {
      for (const session of sessions) {
        const outcome = await outcomeOf(
          () => store.append(session, turnOf(name, turn)),
          ({ messages }) => {
            sent.push({ session, turn, position: messages[0]!.position })
            return 'appended'
          },
        )
        count(outcomes, outcome)
        await pause(pauseMs)
      }
    }
    await store.close()
    return { sent, outcomes }
  },

  compact: async ({ file, session, name, configs }) => {
    const store = await open(file)
    const outcomes = await untilStopped((round) =>
      outcomeOf(
        () =>
          store.compactSession(session, { actor: `${name} ${round}`, ...configs[round % configs.length]! }),
        (result) => (result?.compacted ? 'compacted' : (result?.reason ?? 'no session')),
      ),
    )
    await store.close()
    return outcomes
  },

  undo: async ({ file, session, name, seed }) => {
    const store = await open(file)
    const outcomes = await untilStopped(async (round) => {
      const compactions = await store.listCompactions(session)
      if (compactions.length === 0) return 'nothing there'
      // The newest ones most often, whole runs now and then; every call under a name of its own.
      const back = (seed * 31 + round * round * 7) % Math.min(5, compactions.length)
      const { id, runId, status } = compactions.at(-1 - back)!
      const target = round % 4 === 3 ? runId : id
      const options = { cascade: round % 3 !== 2, actor: `${name} ${round}` }
      const verb = status === 'active' ? 'undo' : 'redo'
      return outcomeOf(
        () =>
          verb === 'undo'
            ? store.undoCompaction(session, target, options)
            : store.redoCompaction(session, target, options),
        ({ changed }) => (changed ? verb : 'unchanged'),
      )
    })
    await store.close()
    return outcomes
  },

  watch: async ({ file, session }) => {
    const store = await openStore(file, { readonly: true })
    const seen = await watchSession(store, session, async () => {
      await breathe()
      return !stopped
    })
    await store.close()
    return seen
  },

  open: async ({ file, name, start }) => {
    while (Date.now() < start);
    return outcomeOf(
      async () => {
        const store = await openStore(file)
        const { position } = await store.append('shared', [{ role: 'user', content: name }])
        await store.close()
        return position
      },
      (position) => `appended ${position}`,
    )
  },

  hold: async ({ file }) => {
    holding = new BetterSqlite3(file)
    holding.exec('begin immediate')
    return undefined
  },

  release: async () => {
    holding?.exec('rollback')
    holding?.close()
    holding = undefined
    return undefined
  },

  summarize: async ({ file, session, log, config }) => {
    const store = await open(file)
    const outcome = await outcomeOf(
      () => store.compactSession(session, { ...config, summarizer: payingModel(log) }),
      (result) => (result?.compacted ? 'compacted' : (result?.reason ?? 'no session')),
    )
    await store.close()
    return outcome
  },

  preview: async ({ file, session, config }) => {
    const store = await open(file)
    return outcomeOf(
      async () => {
        const preview = await store.previewCompaction(session, config)
        applying = () =>
          outcomeOf(
            () => store.compactSession(session, preview!).finally(() => store.close()),
            (result) => (result?.compacted ? 'compacted' : (result?.reason ?? 'no session')),
          )
        return preview
      },
      (preview) => (preview?.compacted ? 'previewed' : 'nothing to preview'),
    )
  },

  apply: () => applying!(),

  purge: async ({ file, session, times }) => {
    const store = await open(file)
    const outcomes: Outcomes = {}
    for (let time = 0; time < times; time++) {
      count(
        outcomes,
        await outcomeOf(
          () => store.sessions.purge(session),
          () => 'purged',
        ),
      )
      await pause(10)
    }
    await store.close()
    return outcomes
  },
}

/** A model that takes its time, and leaves a line in a file for every call. */
function payingModel(log: string): Summarizer {
  return {
    name: 'paid',
    usesModel: true,
    summarize: async () => {
      appendFileSync(log, `${process.pid}\n`)
      await pause(300)
      return { text: 'In short: they talked.', cost: 1 }
    },
  }
}
