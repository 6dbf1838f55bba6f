import { fromAnthropic } from '../../src/adapters/anthropic/index.ts'
import { everyNTurns, PersistentContext, SystemInjector } from '../../src/compat/index.ts'
import { isUndertextError, openStore, type Store } from '../../src/index.ts'
import { MODEL, type Path, type TurnExtras } from './prefix-paths.ts'
import { type PrefixServer, startPrefixServer, type WireMessage } from './prefix-server.ts'
import { randomFrom } from './random.ts'
import { newFile } from './temporary.ts'

/*
 * Random sessions with a server that checks prefixes: turns with tools, and between them everything that changes a view.
 */

/** The context window: a turn with tools takes a tenth to a third of it. */
const WINDOW = 3_600

export type SessionOptions = {
  readonly seed: number
  readonly turns: number
  /** Stores on one file, as processes have them. Default 1. */
  readonly stores?: number
  /** Whether only automatic compaction changes the view. */
  readonly calm?: boolean
  /** Whether two users sometimes speak at once. The store must know what each request contained. */
  readonly crowded?: boolean
  /** Whether reasoning is sometimes dropped by a stage. It is then missing on purpose. */
  readonly drops?: boolean
  /** Whether the session begins with an imported conversation, which had another system prompt. */
  readonly imported?: boolean
  /** Whether requests have injected texts, a persistent context that changes, notes and files, and some answers come without a usage. */
  readonly rich?: boolean
  /** After how many turns the system prompt is another one. Default: never. */
  readonly systemTurns?: number
  /** Whether turns with OpenAI and with an earlier Claude are between the others. */
  readonly switching?: boolean
  /** The model, and its host. */
  readonly model?: string
  readonly provider?: string
}

/** Verbs may refuse what chance asks of them. */
const LEGITIMATE = [
  'HAS_ACTIVE_DEPENDENTS',
  'INPUT_NOT_VISIBLE',
  'BRANCH_MOVED',
  'PENDING_TOOL_CALLS',
  'ILLEGAL_BOUNDARY',
  'STALE_PLAN',
] as const

/** What a server saw: what it refused, and the requests that sent less reasoning than they could. */
export type Outcome = {
  readonly refusals: readonly string[]
  readonly short: readonly string[]
  readonly requests: number
  readonly kept: number
}

/** Runs sessions on a path, with servers that count what they refuse. */
export async function runSessions(path: Path, sessions: readonly SessionOptions[]): Promise<Outcome> {
  const refusals: string[] = []
  const short: string[] = []
  let requests = 0
  let kept = 0
  for (const options of sessions) {
    const server = await startPrefixServer({ seed: options.seed, lenient: true, calls: 2 })
    try {
      await runSession(path, server, options)
    } finally {
      await server.close()
    }
    for (const [at, seen] of server.rule.requests.entries()) {
      const where = `${JSON.stringify(options)} request ${at + 1}`
      if (seen.refusal !== undefined) refusals.push(`${where}: ${seen.refusal.slice(0, 90)}`)
      else if (options.drops !== true && seen.kept < seen.most)
        short.push(`${where}: ${seen.kept} of ${seen.most}`)
    }
    requests += server.rule.requests.length
    kept += server.rule.kept
  }
  return { refusals, short, requests, kept }
}

/** Runs a session on a path. */
export async function runSession(
  path: Path,
  server: PrefixServer,
  {
    seed,
    turns,
    stores: count = 1,
    calm = false,
    crowded = false,
    imported = false,
    drops = false,
    rich = false,
    systemTurns,
    switching = false,
    model = MODEL,
    provider = 'anthropic',
  }: SessionOptions,
): Promise<void> {
  const random = randomFrom(seed)
  const kinds = [...CHANGES.keys(), 'compact', 'undo', 'fork', 'copy', ...(drops ? ['drop', 'drop'] : [])]
  const pick = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)]!
  const file = newFile()
  const stores: Store[] = []
  for (let at = 0; at < count; at++)
    stores.push(await openStore(file, { env: false, contextWindows: { [provider]: WINDOW } }))
  try {
    let id = 's'
    if (imported) await importElsewhere(stores[0]!, server, id)
    else await stores[0]!.sessions.create({ id, provider, model })
    for (let turn = 1; turn <= turns; turn++) {
      if (switching && pick([true, false, false])) await otherTurn(pick(stores), id, turn)
      server.rule.isUnbilled = rich && pick([true, false])
      if (rich && pick([true, false, false]))
        await pick(stores).notes.add(`Shelf ${turn} is new.`, { session: id })
      const extras = {
        ...{ provider, model: switching && pick([true, false, false]) ? EARLIER_MODEL : model },
        ...(systemTurns !== undefined && {
          system: `You are the clerk of library ${Math.floor(turn / systemTurns)}.`,
        }),
        ...(rich && { adds: additions(turn, pick) }),
      }
      const say = (who: string): Promise<void> =>
        path(
          ...([pick(stores), server, id] as const),
          `${who} ${turn} in ${id}: ${'and so on '.repeat(pick([1, 5, 40]))}`,
          extras,
        )
      try {
        await (crowded && pick([true, false, false]) ? Promise.all([say('Ann'), say('Ben')]) : say('Ann'))
      } catch (error) {
        // Pinned messages and an open tool loop stay, and may fill the window: such a session ends.
        if (calm || !isUndertextError(error, 'CONTEXT_BUDGET_EXCEEDED')) throw error
        return
      }
      if (calm) continue
      for (let changes = pick([0, 0, 1, 1, 2]); changes > 0; changes--)
        id = await change(pick(kinds), pick(stores), id, pick, `f${turn}-${changes}`)
    }
    const { findings } = await stores[0]!.sessions.verify(id)
    if (findings.length > 0) throw new Error(`the session is damaged: ${JSON.stringify(findings)}`)
  } finally {
    for (const store of stores) await store.close()
  }
}

/** A Claude that does not check prefixes. */
const EARLIER_MODEL = 'claude-opus-4-8'

/** What a turn adds to its requests: the date of the day, a mode, a reminder every other turn, notes and files. */
function additions(turn: number, pick: Pick): NonNullable<TurnExtras['adds']> {
  const context = new PersistentContext().addSection({
    label: 'Now',
    content: `Day ${Math.floor(turn / 3)}, ${pick(['reading', 'reading', 'writing'])} room.`,
    priority: 1,
  })
  const injector = new SystemInjector().addRule(everyNTurns(2), 'Be brief.')
  return {
    ...{ persistentContext: context, injector, turnNumber: turn },
    ...(pick([true, false]) && { notes: { tokens: 100 } }),
    ...(pick([true, false, false, false]) && {
      files: [{ path: `list-${turn}.txt`, content: 'folio, quarto' }],
    }),
  }
}

/** A turn with another provider, which binds nothing. */
async function otherTurn(store: Store, id: string, turn: number): Promise<void> {
  const prompt = `Carl ${turn} in ${id}: and so on`
  const request = await store.prepareRequest(id, { provider: 'openai', model: 'gpt-5', prompt })
  const messages = [{ role: 'assistant' as const, content: `Reply of turn ${turn}.` }]
  await store.recordResponse(id, { request, messages, stopReason: 'stop' })
}

/** A conversation of another program, with reasoning that is bound to that program's system prompt. */
async function importElsewhere(store: Store, server: PrefixServer, id: string): Promise<void> {
  const messages: WireMessage[] = []
  for (const text of ['What is a folio?', 'And a quarto?']) {
    messages.push({ role: 'user', content: text })
    const { content } = server.rule.answer({ model: MODEL, system: 'You are another clerk.', messages })
    messages.push({ role: 'assistant', content })
  }
  const events = fromAnthropic(messages).map((message, at) => {
    return { type: 'message', message: { ...message, idempotencyKey: `import-${at}` } } as const
  })
  await store.sessions.import(events, { id, source: 'another-program' })
  await store.sessions.update(id, { provider: 'anthropic', model: MODEL })
}

type Pick = <T>(all: readonly T[]) => T

/** Changes the view, and returns the session to go on with. */
async function change(kind: string, store: Store, id: string, pick: Pick, other: string): Promise<string> {
  try {
    if (kind === 'fork') {
      await store.sessions.fork(id, { id: other })
      return pick([id, other])
    }
    if (kind === 'copy') {
      await store.sessions.import(store.sessions.export(id), { id: other })
      return other
    }
    if (kind === 'drop') {
      const stages = [{ stage: 'drop_reasoning', keepTurns: 1 }]
      await store.compactSession(id, { target: 0.2, stages })
    } else await CHANGES.get(kind)!(store, id, pick)
  } catch (error) {
    if (!LEGITIMATE.some((code) => isUndertextError(error, code))) throw error
  }
  return id
}

type Change = (store: Store, id: string, pick: Pick) => Promise<void>

const CHANGES: ReadonlyMap<string, Change> = new Map<string, Change>(
  Object.entries({
    compact: async (store, id, pick) => {
      const stages = pick([undefined, ['prune'], ['deduplicate'], ['summarize'], ['truncate']] as const)
      await store.compactSession(id, {
        target: pick([0.2, 0.4]),
        ...(stages !== undefined && { stages: [...stages] as never }),
      })
    },
    undo: async (store, id, pick) => {
      const active = (await store.listCompactions(id)).filter(({ status }) => status === 'active')
      if (active.length > 0) await store.undoCompaction(id, pick(active).id, { cascade: true, both: true })
    },
    redo: async (store, id, pick) => {
      const undone = (await store.listCompactions(id)).filter(({ status }) => status === 'undone')
      if (undone.length > 0) await store.redoCompaction(id, pick(undone).id, { cascade: true })
    },
    rewind: async (store, id, pick) => {
      const asked = (await store.getMessages(id)).filter(({ role, hidden }) => role === 'user' && !hidden)
      if (asked.length > 1)
        await store.rewind(id, {
          from: { beforeMessage: pick(asked.slice(1)).id },
          keepCompactions: pick([true, false]),
        })
    },
    pin: async (store, id, pick) => {
      const rows = (await store.getMessages(id)).filter(({ kind, hidden }) => kind === 'message' && !hidden)
      await store.messages[pick(['pin', 'unpin'] as const)](id, [pick(rows).id])
    },
    hide: async (store, id, pick) => {
      const shown = (await store.getMessages(id)).filter(
        ({ role, kind, hidden }) => kind === 'message' && role === 'user' && !hidden,
      )
      if (shown.length > 1) await store.compactions.hide(id, [pick(shown.slice(0, -1)).id])
    },
  }),
)
