import { type CompactionConfig, isUndertextError, type NewMessage, type Store } from '../../src/index.ts'
import { storageOf } from '../support/apply-stage.ts'
import { call, calls, result, say, units } from '../support/conversation.ts'

/* What a process does until it is killed: verbs with their random choices, the same on every store in the same state. */

export const KILLED_VERBS = [
  'append one',
  'append a batch',
  'append blobs',
  'append by keys',
  'append large outputs',
  'prune',
  'deduplicate',
  'summarize offline',
  'summarize by a slow model',
  'truncate',
  'cut',
  'pipeline',
  'condense a range',
  'apply a preview',
  'undo',
  'redo',
  'undo what fits',
  'pin',
  'unpin',
  'hide by hand',
  'rewind',
  'say a block',
  'record a block',
  'record edits',
  'reestimate',
  'report usage',
  'learn a limit',
  'update',
  'archive',
  'purge',
  'fork',
  'fork the past',
  'bring back',
  'remember',
  'forget',
  'search',
  'record an answer',
] as const
export type KilledVerb = (typeof KILLED_VERBS)[number]

/** One verb; the numbers pick among what is there when it is done. */
export type Operation = {
  readonly number: number
  readonly verb: KilledVerb
  readonly session: string
  readonly picks: readonly [number, number, number]
}

/** What must have been done for a verb to find something to do. */
export const ENABLING: { readonly [V in KilledVerb]?: readonly KilledVerb[] } = {
  undo: ['prune'],
  redo: ['prune', 'undo'],
  'undo what fits': ['prune'],
  unpin: ['pin'],
  'record a block': ['say a block'],
  'append by keys': ['append by keys'],
  'fork the past': ['prune'],
  'bring back': ['fork'],
  forget: ['remember'],
  search: ['append a batch'],
  'record an answer': ['report usage', 'append one'],
}

function turn(name: string, number: number): NewMessage[] {
  const id = `call_${number % 3}`
  return [
    say('user', `${name} request ${number} ${units(20)}`),
    call(id, 'read', { path: `src/${number % 2}.ts` }),
    result(id, `${name} text of the file ${number} ${units(100)}`, 'read'),
    calls([`${id}a`, 'search', { text: number }], [`${id}b`, 'list']),
    result(`${id}b`, `${name} list ${units(20)}`),
    result(`${id}a`, `${name} found ${units(30)}`),
    say('assistant', `${name} answer ${number} ${units(20)}`),
  ]
}

function turns(name: string, count: number): NewMessage[] {
  return Array.from({ length: count }, (_, number) => turn(name, number)).flat()
}

/** What an operation appends: each text names the operation, so that nothing can be taken for something else. */
function messagesOf({ verb, number, picks: [size, byte] }: Operation): NewMessage[] {
  const name = `#${number}`
  if (verb === 'append one') return [say('user', `${name} one`)]
  if (verb === 'append a batch') return turns(name, 3 + (size % 6))
  if (verb === 'append blobs') {
    return [byte, byte + 1, 7].map((fill) => ({
      role: 'user',
      content: [
        { type: 'text', text: name },
        { type: 'image', image: new Uint8Array(5_000 + (size % 60_000)).fill(fill % 256) },
      ],
    }))
  }
  if (verb === 'append large outputs') {
    const id = `large_${number % 3}`
    return [
      calls([id, 'run'], [`${id}b`, 'run']),
      result(id, `${name} ${units(15_000 + (size % 500))}`),
      result(`${id}b`, `${name} ${units(20)}`),
    ]
  }
  // The first half has keys that come again and again, so that a part of the messages is known already.
  return [
    ...turns('keyed', 1).map((message, index) => ({ ...message, idempotencyKey: `key ${index}` })),
    ...turns(name, 2).map((message, index) => ({ ...message, idempotencyKey: `${name} ${index}` })),
  ]
}

const ONLY = {
  enablePrune: false,
  enableDeduplicate: false,
  enableSummarize: false,
  enableTruncate: false,
} as const
const ALL = {
  pruneProtectTokens: 60,
  pruneMinimumSavings: 0,
  deduplicateMinimumSavings: 0,
  keepRecentTokens: 100,
  summaryMaxTokens: 300,
} as const

function configOf({ verb, picks: [target, delay] }: Operation, historyTokens: number): CompactionConfig {
  const targetTokens = Math.floor((historyTokens * (10 + (target % 60))) / 100)
  const base = { ...ALL, waitMs: 0, targetTokens }
  if (verb === 'prune') return { ...base, ...ONLY, enablePrune: true }
  if (verb === 'deduplicate') return { ...base, ...ONLY, enableDeduplicate: true }
  if (verb === 'summarize offline') return { ...base, ...ONLY, enableSummarize: true }
  if (verb === 'summarize by a slow model')
    return { ...base, ...ONLY, enableSummarize: true, summarizer: slowModel(delay % 10) }
  if (verb === 'truncate') return { ...base, ...ONLY, enableTruncate: true, emergencyCut: false }
  if (verb === 'cut')
    return {
      ...base,
      ...ONLY,
      enableTruncate: true,
      targetTokens: 100_000,
      maxOutputTokens: 128_000 - targetTokens,
    }
  return base
}

export function slowModel(delayMs: number): NonNullable<CompactionConfig['summarizer']> {
  return {
    name: 'slow',
    usesModel: true,
    summarize: async () => {
      await new Promise((resolve) => setTimeout(resolve, delayMs))
      return { text: 'What was done so far.', model: 'slow-1', cost: 0.01 }
    },
  }
}

/**
 * Looks up what an operation is about, and answers how to do it; `undefined` when there is nothing to do it to. What
 * is done answers a few figures, the same on every store in the same state.
 */
export async function prepare(
  store: Store,
  operation: Operation,
): Promise<(() => Promise<unknown>) | undefined> {
  const { verb, session, picks } = operation
  if (verb.startsWith('append')) {
    const messages = messagesOf(operation)
    return figures(async () => {
      const { messages: appended, position, preview } = await store.append(session, messages)
      const existing = appended.filter((one) => one.existing).length
      return { position, existing, previewed: preview?.parts ?? 0 }
    })
  }
  // Past the store, which would record it in a second transaction.
  if (verb === 'say a block') {
    return figures(async () => {
      const { messages } = await storageOf(store).append(session, [blockOf(operation)], undefined)
      return messages[0]!.position
    })
  }
  const stats = await store.getContextStats(session)
  if (stats === null) return undefined
  switch (verb) {
    case 'record a block':
      return figures(async () => recordOutline(await store.compactions.recordProvider(session)))
    case 'record edits': {
      const cleared = { type: 'clear_tool_uses_20250919', cleared_tool_uses: 1 + (picks[0] % 40) }
      return figures(async () =>
        recordOutline(await store.compactions.recordProvider(session, { appliedEdits: [cleared] })),
      )
    }
    case 'undo':
    case 'redo':
      return prepareUndo(store, operation, verb)
    case 'pin':
    case 'unpin':
    case 'hide by hand':
      return prepareByHand(store, operation, verb)
    case 'rewind':
      return prepareRewind(store, operation)
    case 'undo what fits':
      // Room for up to four times what is there.
      return figures(async () => {
        const room = Math.ceil((stats.estimatedInputTokens * (170 + (picks[0] % 500))) / 100)
        const maxOutputTokens = Math.max(0, 128_000 - room)
        const { changed, rows, parts } = await store.undoCompaction(session, { ifFits: { maxOutputTokens } })
        return { changed, rows, parts }
      })
    case 'reestimate':
      return figures(async () => (await store.sessions.reestimate(session)).visibleSizes)
    case 'report usage':
      return figures(async () => {
        const inputTokens = Math.floor((stats.estimated * (60 + (picks[0] % 120))) / 100)
        // A history that is too long has no request.
        const system = `system ${picks[1] % 3}`
        const request = await store.prepareRequest(session, { system, auto: false }).catch(() => undefined)
        return (await store.requests.recordUsage(session, { inputTokens, request })).calibration
      })
    case 'learn a limit':
      return figures(() =>
        store.limits.set({ provider: 'openai', model: 'none', tokens: 1_000 + (picks[0] % 50) }),
      )
    case 'update':
      return figures(
        async () => (await store.sessions.update(session, { title: `#${operation.number}` })).title,
      )
    case 'archive':
      return figures(async () => {
        const { archivedAt } = await store.sessions.archive(session, picks[0] % 2 === 0)
        return archivedAt === undefined
      })
    case 'purge':
      // Attempts that a killed process left are among the compactions it counts.
      return figures(async () => {
        const forks = picks[1] % 2 === 0 ? 'keep' : 'purge'
        const { messages, blobs } = await store.sessions.purge(session, { forks })
        return { messages, blobs }
      })
    case 'fork':
    case 'fork the past':
    case 'bring back':
      return prepareFork(store, operation, stats.storedMessages)
    case 'remember':
      return figures(async () => {
        const note = { session, key: `key ${picks[0] % 3}`, metadata: { number: operation.number } }
        return (await store.notes.add(`#${operation.number} to remember`, note)).text
      })
    case 'forget': {
      const notes = await store.notes.list({ session })
      const one = notes[picks[0] % Math.max(1, notes.length)]
      return one && figures(async () => (await store.notes.forget(one.id)).changed)
    }
    case 'search':
      return figures(async () => {
        const { hits } = await store.search('file list', { session, limit: 20 })
        return { positions: hits.map(({ position }) => position) }
      })
    case 'record an answer': {
      const requests = await store.requests.list(session, { limit: 1_000 })
      const one = requests.findLast(({ answerPositions }) => answerPositions === undefined)
      const { messageCount: last } = await store.sessions.get(session)
      return one && figures(() => store.requests.recordAnswer(session, one.id, [last, last]))
    }
    case 'condense a range': {
      const range = await wholeTurns(store, operation)
      return (
        range &&
        figures(async () =>
          outline(await store.compactSession(session, { range, summary: `#${operation.number} in short` })),
        )
      )
    }
    case 'apply a preview': {
      const config = configOf(operation, stats.breakdown.conversationHistory)
      const preview = (await store.previewCompaction(session, config))!
      return figures(async () => outline(await store.compactSession(session, preview)))
    }
    default: {
      const config = configOf(operation, stats.breakdown.conversationHistory)
      return figures(async () => outline(await store.compactSession(session, config)))
    }
  }
}

function blockOf({ number }: Operation): NewMessage {
  const data = { type: 'compaction', content: `#${number} so far ${units(20)}` }
  return {
    role: 'assistant',
    content: [
      { type: 'provider', provider: 'anthropic', data },
      { type: 'text', text: `#${number} goes on` },
    ],
  }
}

function recordOutline(result: Awaited<ReturnType<Store['compactions']['recordProvider']>>): unknown {
  return [result.recorded ? ['provider'] : [], result.block, result.tokensBefore, result.tokensAfter]
}

/** A range of some turns that are visible, from a request to the one behind its end. */
async function wholeTurns(
  store: Store,
  { session, picks: [pick, length] }: Operation,
): Promise<{ from: number; to: number } | undefined> {
  const starts = (await store.getEffectiveHistory(session)).flatMap(({ role, position }) =>
    role === 'user' && position !== undefined ? [position] : [],
  )
  const at = pick % Math.max(1, starts.length - 1)
  const end = starts[Math.min(at + 1 + (length % 3), starts.length - 1)]
  return starts.length < 2 ? undefined : { from: starts[at]!, to: end! - 1 }
}

function outline(result: Awaited<ReturnType<Store['compactSession']>>): unknown {
  return result && [result.stagesUsed, result.tokensBefore, result.tokensAfter, result.reason ?? null]
}

async function prepareUndo(
  store: Store,
  { session, picks: [pick, asRun] }: Operation,
  verb: 'undo' | 'redo',
): Promise<(() => Promise<unknown>) | undefined> {
  const wanted = verb === 'undo' ? 'active' : 'undone'
  const candidates = (await store.listCompactions(session)).filter(({ status }) => status === wanted)
  const one = candidates.at(-1 - (pick % Math.max(1, candidates.length)))
  if (one === undefined) return undefined
  const target = asRun % 2 === 0 ? one.runId : one.id
  return figures(async () => {
    const { changed, rows, parts } = await store[`${verb}Compaction`](session, target, { cascade: true })
    return { changed, rows, parts }
  })
}

/** A fork under an id that comes again, and the conclusion of one. */
async function prepareFork(
  store: Store,
  { verb, session, number, picks }: Operation,
  messages: number,
): Promise<(() => Promise<unknown>) | undefined> {
  if (verb === 'bring back') {
    const forks = await store.sessions.forks(session)
    const one = forks[picks[0] % Math.max(1, forks.length)]
    return (
      one && figures(async () => (await store.sessions.bringBack(one.id, { text: `#${number} so` })).position)
    )
  }
  const at = verb === 'fork' ? {} : { at: { afterMessage: 1 + (picks[0] % messages) } }
  return figures(async () => {
    const fork = await store.sessions.fork(session, { id: `fork ${picks[1] % 4} of ${session}`, ...at })
    return { messages: fork.messageCount, at: fork.forkedFrom?.position }
  })
}

/** From one of the last rows on, with something else said instead; every second time under an id that comes again. */
async function prepareRewind(
  store: Store,
  operation: Operation,
): Promise<(() => Promise<unknown>) | undefined> {
  const { session, number, picks } = operation
  const view = await store.getEffectiveHistory(session)
  const row = view.at(-1 - (picks[0] % 6))
  if (row === undefined) return undefined
  const operationId = picks[1] % 2 === 0 ? { operationId: `op ${number % 3}`, operationBody: number } : {}
  const append = picks[1] % 3 === 0 ? [] : turn(`#${number}`, 1)
  return figures(async () => {
    const done = await store.rewind(session, { from: { beforeMessage: row.id }, append, ...operationId })
    return { rows: done.rowsHidden, positions: done.messages.map(({ position }) => position) }
  })
}

async function prepareByHand(
  store: Store,
  { session, picks }: Operation,
  verb: 'pin' | 'unpin' | 'hide by hand',
): Promise<(() => Promise<unknown>) | undefined> {
  if (verb === 'hide by hand') {
    const visible = (await store.getEffectiveHistory(session)).filter(
      ({ role, kind }) => role === 'user' && kind === 'message',
    )
    const one = visible[picks[0] % Math.max(1, visible.length)]
    return one && figures(async () => (await store.compactions.hide(session, [one.id])).rowsHidden)
  }
  const rows = (await store.getMessages(session)).filter(({ pinned }) => pinned === (verb === 'unpin'))
  if (rows.length === 0) return undefined
  const ids = [...new Set(picks.map((pick) => rows[pick % rows.length]!.id))]
  return figures(() => store.messages[verb](session, ids))
}

/** Whether what was answered says that something was done: no code, and no run without a stage. */
export function isWork(outcome: unknown): boolean {
  if (typeof outcome === 'string') return !/^[A-Z_]+$/.test(outcome)
  return !(Array.isArray(outcome) && (outcome[0] as unknown[]).length === 0)
}

/** What a verb answers, or the code it is refused with. */
function figures(act: () => Promise<unknown>): () => Promise<unknown> {
  return async () => {
    try {
      return await act()
    } catch (error) {
      if (isUndertextError(error)) return error.code
      throw error
    }
  }
}
