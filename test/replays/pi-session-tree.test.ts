import { describe, expect, it } from 'vitest'
import { partsOf } from '../../src/core/messages/message.ts'
import { findCut } from '../../src/core/stages/cut-points.ts'
import {
  type Estimator,
  type Message,
  type NewMessage,
  openStore,
  type Part,
  type Store,
  type Summarizer,
  type ViewMessage,
} from '../../src/index.ts'
import { failureOf } from '../support/failures.ts'
import { expectSessionAccepted } from '../support/requests.ts'
import { type GoldenCase, Replay } from './counting.ts'
import { PADDING, planningView } from './messages.ts'

/*
 * pi keeps a tree of entries: a compaction is an entry that names the first entry it keeps. A path through the
 * tree is a session of ours, and a compaction a range from the first message to the one before the kept one.
 */

const replay = new Replay('pi-session-tree')
const SESSION = 's'

type PiMessage = { readonly role: 'user' | 'assistant'; readonly content: string | readonly Part[] }
type Entry = {
  readonly type: string
  readonly id: string
  readonly parentId: string | null
  readonly message?: PiMessage
  readonly summary?: string
  readonly firstKeptEntryId?: string
}
type Context = { readonly messages: readonly (PiMessage | Summary)[] }
type Summary = { readonly role: 'compactionSummary' | 'branchSummary'; readonly summary: string }

/** A message of pi's: its other fields (usage, model, times …) go to the metadata, and padding makes it long. */
function fromPi({ id, message }: Entry): NewMessage & { id: string } {
  const { role, content, ...fields } = message!
  const padding: Part = { type: 'text', text: PADDING }
  const metadata = { pi: fields, wasText: typeof content === 'string' }
  return { id, role, content: [...partsOf({ content }), padding], metadata }
}

/** What the view shows, as pi has it. Of a summary only the text: times and figures are of their making. */
function toPi(view: readonly ViewMessage[]): (PiMessage | Summary)[] {
  return view.map(({ kind, role, content, metadata }) => {
    if (kind === 'summary') return { role: 'compactionSummary', summary: content as string }
    const parts = partsOf({ content }).slice(0, -1)
    const text = metadata!.wasText === true ? (parts[0] as { text: string }).text : parts
    return { role, content: text, ...(metadata!.pi as object) } as PiMessage
  })
}

function recorded({ messages }: Context): (PiMessage | Summary)[] {
  return messages.map((message) =>
    'summary' in message ? { role: message.role, summary: message.summary } : message,
  )
}

/** Appends a path of entries and carries its compactions out. Answers how many kept everything from the first on. */
async function replayPath(store: Store, entries: readonly Entry[]): Promise<number> {
  const positions = new Map<string, number>()
  let nothingToCover = 0
  await store.sessions.create({ id: SESSION })
  for (const entry of entries) {
    if (entry.type === 'message') {
      positions.set(entry.id, (await store.append(SESSION, [fromPi(entry)])).position)
    } else if (entry.type === 'compaction') {
      const range = { from: 1, to: positions.get(entry.firstKeptEntryId!)! - 1 }
      const compact = (): unknown => store.compactSession(SESSION, { range, summary: entry.summary! })
      if (range.to > 0) expect(await compact()).toMatchObject({ compacted: true })
      else {
        expect(await failureOf(compact)).toMatchObject({ code: 'INVALID_INPUT' })
        nothingToCover += 1
      }
    }
  }
  return nothingToCover
}

/** Cases about branches and about fields of the session: what they record is no part of a history. */
function isOfTheTree({ name, input }: GoldenCase<{ entries: readonly Entry[] }, Context>): boolean {
  const isLine = input.entries.every(({ parentId }, at) => parentId === (input.entries[at - 1]?.id ?? null))
  return !isLine || name.includes('leafId') || /tracks? (?:model|thinking)/.test(name)
}

describe('pi-session-tree', () => {
  it.skipIf(replay.isAbsent)('gives the same contexts, repeated compactions included', async () => {
    for (const one of replay.casesOf<{ entries: readonly Entry[] }, Context>('buildSessionContext')) {
      if (isOfTheTree(one)) {
        replay.settle(one, 'notApplicable')
        continue
      }
      await using store = await openStore(':memory:', { estimator: 'neurolink' })
      const { entries } = one.input
      const nothingToCover = await replayPath(store, entries)
      const view = toPi(await store.getEffectiveHistory(SESSION))
      await expectSessionAccepted(store, SESSION, one.name)
      const compactions = entries.filter(({ type }) => type === 'compaction').length
      if (nothingToCover > 0 && nothingToCover === compactions) {
        // They show a summary beside everything it was made of.
        expect(one.expected.messages[0], one.name).toMatchObject({ role: 'compactionSummary' })
        expect(view, one.name).toEqual(recorded(one.expected).slice(1))
        replay.settle(one, 'different')
      } else {
        expect(view, one.name).toEqual(recorded(one.expected))
        replay.settle(one, 'equal')
      }
      for (const { id } of (await store.listCompactions(SESSION)).reverse())
        await store.undoCompaction(SESSION, id)
      const all = entries.filter(({ type }) => type === 'message').map(({ message }) => message)
      expect(toPi(await store.getEffectiveHistory(SESSION)), `${one.name}, undone`).toEqual(all)
      await expectSessionAccepted(store, SESSION, `${one.name}, undone`)
    }
  })

  it.skipIf(replay.isAbsent)('keeps from the same entry', async () => {
    type Input = { entries: readonly Entry[]; keepRecentTokens: number }
    type Cut = { firstKeptEntryIndex: number; isSplitTurn: boolean }
    for (const one of replay.casesOf<Input, Cut>('findCutPoint')) {
      const { entries, keepRecentTokens } = one.input
      const messages = entries.map(({ id, message }) => ({ id, kind: 'message' as const, ...message! }))
      const view = planningView(messages)
      const cut = findCut(view, keepRecentTokens, view.tokens)
      const isSplitTurn = cut > 0 && !view.turns.isTurnStart(cut)
      expect({ cut, isSplitTurn }, one.name).toEqual({
        cut: one.expected.firstKeptEntryIndex,
        isSplitTurn: one.expected.isSplitTurn,
      })
      replay.settle(one, 'equal')
    }
  })

  it.skipIf(replay.isAbsent)('is due at the same fill, when asked with the same reserve', async () => {
    /** One unit a token and nothing for framing, so that a history has exactly the tokens recorded. */
    const exact: Estimator = {
      name: 'exact',
      measureText: (text) => text.length,
      mediaTokens: 0,
      toTokens: (units) => units,
      tokensPerMessage: 0,
      tokensPerConversation: 0,
    }
    type Input = {
      contextTokens: number
      contextWindow: number
      settings: { enabled: boolean; reserveTokens: number }
    }
    for (const one of replay.casesOf<Input, boolean>('shouldCompact')) {
      const { contextTokens, contextWindow, settings } = one.input
      if (!settings.enabled) {
        replay.settle(one, 'notApplicable')
        continue
      }
      await using store = await openStore(':memory:', { estimator: exact })
      await store.append(SESSION, [{ role: 'user', content: 'x'.repeat(contextTokens) }])
      // The window of an unknown provider is larger than theirs, and so the reserve is by as much.
      const reserve = 128_000 - (contextWindow - settings.reserveTokens)
      const stats = await store.getContextStats(SESSION, 'unknown', undefined, {
        threshold: 1,
        maxOutputTokens: reserve,
      })
      expect(stats!.estimatedInputTokens, one.name).toBe(contextTokens)
      expect(stats!.shouldCompact, one.name).toBe(one.expected)
      replay.settle(one, 'equal')
    }
  })

  it.skipIf(replay.isAbsent)('leaves what a provider reported to who reads it', () => {
    for (const fn of ['calculateContextTokens', 'getLastAssistantUsage'])
      for (const one of replay.casesOf(fn)) replay.settle(one, 'notApplicable')
  })

  it.skipIf(replay.isAbsent)('does not lose the kept tail in the second compaction (#2608)', async () => {
    type Trap = { summarizerInputMustInclude: string[]; viewAfter: string[] }
    const [trap] = replay.casesOf<{ entries: string[] }, Trap>('TRAP second compaction loses kept tail')
    const asked: Message[] = []
    const earlier: (string | undefined)[] = []
    const summarizer: Summarizer = {
      name: 'S2',
      usesModel: true,
      summarize: async ({ messages, previousSummary }) => {
        asked.push(...messages)
        earlier.push(previousSummary)
        return { text: 'S2' }
      },
    }
    await using store = await openStore(':memory:', { estimator: 'neurolink' })
    const said = (id: string): NewMessage => ({
      id,
      role: id.startsWith('u') ? 'user' : 'assistant',
      content: `${id}${PADDING}`,
    })
    const [before, after] = [trap!.input.entries.slice(0, 6), trap!.input.entries.slice(7)]
    await store.append(SESSION, before.map(said))
    await store.compactSession(SESSION, { range: { from: 1, to: 2 }, summary: 'S1' })
    await store.append(SESSION, after.map(said))

    // 400 characters are 100 units and about 120 tokens: 300 tokens hold two messages and not three.
    const settings = { targetTokens: 400, keepRecentTokens: 300, enableTruncate: false, summarizer }
    expect(await store.compactSession(SESSION, settings)).toMatchObject({ compacted: true })
    const view = await store.getEffectiveHistory(SESSION)
    await expectSessionAccepted(store, SESSION)
    const shown = view.map(({ kind, id, content }) => (kind === 'summary' ? content : id))
    expect(shown).toEqual(trap!.expected.viewAfter)
    const words = asked.map((message) => partsOf(message))
    const included = trap!.expected.summarizerInputMustInclude.map((id) => `${id}${PADDING}`)
    expect(words).toEqual(included.map((text) => [{ type: 'text', text }]))
    expect(earlier).toEqual(['S1'])
    replay.settle(trap!, 'equal')
  })
})

replay.holdToPage()
