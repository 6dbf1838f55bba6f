import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { fromAnthropic } from '../../src/adapters/anthropic/index.ts'
import {
  type CompactionPreview,
  isUndertextError,
  type Message,
  openStore,
  type Store,
} from '../../src/index.ts'
import { failureOf } from '../support/failures.ts'
import { expectSessionAccepted } from '../support/requests.ts'
import { newFolder } from '../support/temporary.ts'
import { Replay } from './counting.ts'
import { PADDING } from './messages.ts'

/*
 * Cline keeps a compacted prefix in a file of its own, and uses it while a hash over the messages it was made of
 * still matches. Our counterpart is a preview: it is applied while the rows it covers are as they were. Older
 * versions of Cline keep one deleted range, behind the first pair.
 */

const replay = new Replay('cline-sidecar-and-ranges')
const SESSION = 's'

type Block = { readonly type: string; readonly text?: string }
type ClineMessage = {
  readonly role: string
  readonly content: string | readonly Block[]
  readonly id?: string
  readonly ts?: number
}
type State = {
  readonly source_message_count: number
  readonly source_prefix_hash?: string
  readonly messages: readonly ClineMessage[]
}
type Creation = {
  readonly input: {
    readonly sourceMessages: readonly ClineMessage[]
    readonly compactedMessages: readonly ClineMessage[]
  }
}

/** Their messages are Anthropic's; ids and times are theirs alone and leave the content as it is. */
function fromCline({ id: _, ts: __, ...message }: ClineMessage): Message {
  return fromAnthropic([message]).map(({ content, ...rest }): Message => {
    const padded = typeof content === 'string' ? content + PADDING : content
    return { ...rest, content: padded }
  })[0]!
}

/** A store with the messages of a case, each under a key of its own, and the preview of a summary of them all. */
async function preview(
  location: string,
  { input }: Creation,
): Promise<{ store: Store; preview: CompactionPreview }> {
  const store = await openStore(location)
  const messages = input.sourceMessages.map((message, at) => ({
    ...fromCline(message),
    idempotencyKey: `message ${at}`,
  }))
  await store.append(SESSION, messages)
  const range = { from: 1, to: messages.length }
  const summary = input.compactedMessages[0]!.content as string
  return { store, preview: (await store.previewCompaction(SESSION, { range, summary }))! }
}

async function shown(store: Store): Promise<(string | Message['content'])[]> {
  await expectSessionAccepted(store, SESSION)
  return (await store.getEffectiveHistory(SESSION)).map(({ content }) => content)
}

describe('cline-sidecar-and-ranges, prefixes', () => {
  it.skipIf(replay.isAbsent)('covers as many messages, with the same summary', async () => {
    for (const one of replay.casesOf<Creation, State>('createSessionCompactionState')) {
      if (one.throws !== undefined) {
        const failure = await failureOf(async () => {
          await using store = await openStore(':memory:')
          await store.append(SESSION, one.input.input.sourceMessages as readonly Message[])
        })
        expect(isUndertextError(failure, 'INVALID_INPUT'), one.name).toBe(true)
      } else {
        const made = await preview(':memory:', one.input)
        const { compactions, messages } = made.preview
        const stored = await made.store.getMessages(SESSION)
        expect(compactions, one.name).toMatchObject([{ hides: stored.map(({ id }) => id) }])
        expect(stored, one.name).toHaveLength(one.expected.source_message_count)
        const texts = messages.map(({ kind, content }) => ({ kind, content }))
        const theirs = one.expected.messages.map(({ content }) => ({ kind: 'summary', content }))
        expect(texts, one.name).toEqual(theirs)
        await made.store.close()
      }
      replay.settle(one, 'equal')
    }
  })

  it.skipIf(replay.isAbsent)('is applied while what it covers is as it was, and refused after', async () => {
    const folder = newFolder()
    type Input = { readonly state: State; readonly sourceMessages: readonly ClineMessage[] }
    const creations = replay.casesOf<Creation, State>('createSessionCompactionState')
    for (const [at, one] of replay
      .casesOf<Input, ClineMessage[] | null>('projectSessionCompactionState')
      .entries()) {
      const { state, sourceMessages } = one.input
      const hash = state.source_prefix_hash
      const made = creations.find(
        ({ expected }) => hash !== undefined && expected?.source_prefix_hash === hash,
      )
      if (made === undefined) {
        replay.settle(one, 'notApplicable')
        continue
      }
      const location = join(folder, `${at}.db`)
      const { store: first, preview: planned } = await preview(location, made.input)
      await first.close()
      await using store = await openStore(location)
      const changed = await sendAgain(store, sourceMessages, state.source_message_count)

      const apply = (): unknown => store.compactSession(SESSION, planned)
      if (changed.length > 0 && !isDisplayed(made.input.input.sourceMessages)) {
        for (const { messageId, message } of changed) {
          await store.compactions.hide(SESSION, [messageId])
          await store.append(SESSION, [message])
        }
        const before = await shown(store)
        expect(await failureOf(apply), one.name).toMatchObject({ code: 'STALE_PLAN' })
        expect(one.expected, one.name).toBeNull()
        expect(await shown(store), one.name).toEqual(before)
        replay.settle(one, 'equal')
      } else {
        expect(await apply(), one.name).toMatchObject({ compacted: true })
        const [summary, ...tail] = one.expected!
        const theirs = [summary!.content, ...tail.map((message) => fromCline(message).content)]
        expect(await shown(store), one.name).toEqual(theirs)
        replay.settle(one, changed.length > 0 ? 'different' : 'equal')
      }
    }
  })

  it.skipIf(replay.isAbsent)('reads no files of theirs', () => {
    for (const one of replay.casesOf('parseSessionCompactionState')) replay.settle(one, 'notApplicable')
  })
})

/**
 * The host sends its messages again, as after a restart: the same body under the same key is not written again.
 * What has another body is refused, and answered; what lies behind the prefix is appended.
 */
async function sendAgain(
  store: Store,
  messages: readonly ClineMessage[],
  prefix: number,
): Promise<{ messageId: string; message: Message }[]> {
  const changed: { messageId: string; message: Message }[] = []
  for (const [at, sent] of messages.entries()) {
    const message = fromCline(sent)
    const idempotencyKey = at < prefix ? `message ${at}` : `tail ${at}`
    try {
      const { messages: appended } = await store.append(SESSION, [{ ...message, idempotencyKey }])
      expect(appended.map(({ existing }) => existing)).toEqual([at < prefix])
    } catch (error) {
      if (!isUndertextError(error, 'IDEMPOTENCY_CONFLICT')) throw error
      changed.push({ messageId: error.facts.messageId, message })
    }
  }
  return changed
}

/** Messages in the tags Cline puts around what a person typed, and takes off to display them. */
function isDisplayed(messages: readonly ClineMessage[]): boolean {
  return JSON.stringify(messages).includes('<user_input')
}

describe('cline-sidecar-and-ranges, ranges', () => {
  const conversation = (count: number): Message[] =>
    Array.from({ length: count }, (_, at) => ({
      role: at % 2 === 0 ? 'user' : 'assistant',
      content: `${at}${PADDING}`,
    }))
  const fractions: { readonly [keep: string]: number } = { half: 0.5, quarter: 0.75 }

  it.skipIf(replay.isAbsent)('truncates the same messages', async () => {
    type Input = {
      readonly messageCount: number
      readonly previousRange: readonly [number, number] | null
      readonly keep: string
    }
    for (const one of replay.casesOf<Input, readonly [number, number]>('getNextTruncationRange')) {
      const { messageCount, previousRange, keep } = one.input
      await using store = await openStore(':memory:')
      await store.append(SESSION, conversation(messageCount))
      if (previousRange !== null) {
        const [from, to] = previousRange
        const stored = await store.getMessages(SESSION)
        const hidden = stored.slice(from, to + 1).map(({ id }) => id)
        await store.compactions.hide(SESSION, hidden)
      }
      await store.compactSession(SESSION, {
        targetTokens: 0,
        truncationFraction: fractions[keep]!,
        truncationMarker: false,
        enablePrune: false,
        enableDeduplicate: false,
        enableSummarize: false,
        emergencyCut: false,
      })
      const [from, to] = one.expected
      const stored = await store.getMessages(SESSION)
      const hidden = stored.flatMap((message, at) => (message.hidden ? [at] : []))
      await expectSessionAccepted(store, SESSION, `${messageCount} ${keep}`)
      expect(hidden, `${messageCount} ${keep}`).toEqual(between(from, to))
      replay.settle(one, 'equal')
    }
  })

  it.skipIf(replay.isAbsent)('shows what a deleted range leaves', async () => {
    type Input = { readonly messageCount: number; readonly range: readonly [number, number] | null }
    for (const one of replay.casesOf<Input, { keptIndices: number[] }>('getTruncatedMessages')) {
      const { messageCount, range } = one.input
      await using store = await openStore(':memory:')
      const { messages } = await store.append(SESSION, conversation(messageCount))
      // The first pair stays, wherever a range begins.
      const gone = range === null ? [] : between(2, range[1])
      if (gone.length > 0)
        await store.compactions.hide(
          SESSION,
          gone.map((at) => messages[at]!.id),
        )
      const kept = (await store.getEffectiveHistory(SESSION)).map(({ position }) => position! - 1)
      expect(kept).toEqual(one.expected.keptIndices)
      await expectSessionAccepted(store, SESSION)
      replay.settle(one, 'equal')
    }
  })
})

function between(from: number, to: number): number[] {
  return Array.from({ length: Math.max(0, to - from + 1) }, (_, at) => from + at)
}

replay.holdToPage()
