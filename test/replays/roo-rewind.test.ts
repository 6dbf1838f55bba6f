import { expect, it } from 'vitest'
import { isUndertextError } from '../../src/index.ts'
import { type RooMessage, rooCases } from './roo-data.ts'
import { isHidden } from './roo-owners.ts'
import { type Imported, NotImportable, RooStore } from './roo-store.ts'
import { Tallies } from './tallies.ts'

/*
 * Roo Code rewinds by deleting from two logs, that of the screen and that of the model, and by clearing the tags
 * of the summaries and markers that went. Ours undoes the compactions whose event was cut from the screen's log,
 * newest first, and hides by hand the messages from the target on. The log of the screen is the application's.
 */

/** An entry of the screen's log: what was said, or the event of a compaction. */
type ScreenEntry = {
  readonly ts: number
  readonly contextCondense?: { readonly condenseId: string }
  readonly contextTruncation?: { readonly truncationId: string }
}
type Input = {
  readonly before: {
    readonly clineMessages: readonly ScreenEntry[]
    readonly apiConversationHistory: readonly RooMessage[]
  }
  readonly args: readonly [target: number, options?: { readonly includeTargetMessage?: boolean } | undefined]
}
type Expected = { readonly apiConversationHistory: readonly RooMessage[] | null }

const FUNCTIONS = ['rewindToTimestamp', 'rewindToIndex']

/** What is different on purpose, by the end of the case's name: the messages our view shows. */
const DIFFERENT: { readonly [name: string]: readonly number[] } = {
  // A result is not hidden without its call; Roo Code leaves the call without an answer.
  'should preserve assistant message when clineMessage timestamp is earlier due to async execution': [0],
}

const cases = rooCases<Input, Expected>('roo-rewind')
const tallies = new Tallies('roo-rewind')

/**
 * What the application knows: from which message of the model's log on to cut. The clock of the screen may be
 * ahead, so where no message has the very time it is the first of the user's from then on.
 */
function firstCut(ts: number, messages: readonly RooMessage[]): number {
  const timeOf = ({ ts: time }: RooMessage): number => (typeof time === 'number' ? time : -1)
  if (messages.some((message) => timeOf(message) === ts)) return ts
  const next = messages.find((message) => timeOf(message) >= ts && message.role === 'user')
  return next === undefined ? ts : timeOf(next)
}

async function rewind(
  roo: RooStore,
  session: Imported,
  { before, args: [ts, options] }: Input,
): Promise<void> {
  const { clineMessages, apiConversationHistory: messages } = before
  const isCut = (entry: ScreenEntry): boolean =>
    options?.includeTargetMessage === true ? entry.ts > ts : entry.ts >= ts
  const owners = clineMessages
    .filter(isCut)
    .flatMap(({ contextCondense, contextTruncation }) => [
      contextCondense?.condenseId,
      contextTruncation?.truncationId,
    ])
  for (const [owner, id] of [...session.compactions].reverse())
    if (owners.includes(owner)) await roo.store.undoCompaction(session.sessionId, id)
  const from = firstCut(ts, messages)
  const view = await session.shown()
  const gone = view.filter((index) => Number(messages[index]!.ts ?? -1) >= from)
  if (gone.length === 0) return
  const ids = gone.map((index) => session.rowIds[index]!)
  try {
    await roo.store.compactions.hide(session.sessionId, ids)
  } catch (error) {
    if (!isUndertextError(error, 'ILLEGAL_BOUNDARY')) throw error
    // A call whose result goes: it goes as well.
    await roo.store.compactions.hide(session.sessionId, [...ids, ...error.facts.messageIds])
  }
}

it.skipIf(cases.length === 0)('the view after is what Roo Code has left, and nothing is lost', async () => {
  const roo = await RooStore.open()
  for (const { fn, name, input, expected, throws } of cases) {
    const [target] = input.args
    const messages = input.before.apiConversationHistory
    let session: Imported
    try {
      session = await roo.import(messages)
    } catch (error) {
      if (!(error instanceof NotImportable)) throw error
      tallies.count(fn, 'notApplicable')
      continue
    }
    if (throws !== undefined) {
      // Whoever asks for a message that is not there is refused, and nothing changes.
      const before = await session.shown()
      const refused = await roo.store.compactions
        .hide(session.sessionId, [String(target)])
        .catch((error) => error)
      expect(isUndertextError(refused, 'MESSAGE_NOT_FOUND'), name).toBe(true)
      expect(await session.shown(), name).toEqual(before)
      tallies.count(fn, 'equal')
      continue
    }
    const ts = fn === 'rewindToIndex' ? input.before.clineMessages[target]?.ts : target
    if (ts !== undefined) await rewind(roo, session, { before: input.before, args: [ts, input.args[1]] })

    const left = expected.apiConversationHistory ?? messages
    const shown = await session.shown()
    const different = Object.entries(DIFFERENT).find(([end]) => name.endsWith(end))?.[1]
    if (different === undefined) {
      const visible = left.filter((message) => !isHidden(message, left))
      expect(
        shown.map((index) => bare(messages[index]!)),
        name,
      ).toEqual(visible.map(bare))
      await expectSameTags(session, messages, left, name)
    } else {
      expect(shown, name).toEqual(different)
    }
    expect(await roo.store.getMessages(session.sessionId), `${name}: nothing is lost`).toHaveLength(
      messages.length,
    )
    tallies.count(fn, different === undefined ? 'equal' : 'different')
  }
  await roo.close()
})

function bare({ condenseParent: _, truncationParent: __, ...rest }: RooMessage): object {
  return rest
}

/** Of the messages Roo Code kept, ours carry the same tags. */
async function expectSameTags(
  session: Imported,
  messages: readonly RooMessage[],
  left: readonly RooMessage[],
  name: string,
): Promise<void> {
  const tags = await session.tags()
  for (const kept of left) {
    const index = messages.findIndex((message) => message.ts === kept.ts && message.role === kept.role)
    expect({ ...bare(kept), ...tags[index] }, `${name}: message ${index}`).toEqual(kept)
  }
}

it.skipIf(cases.length === 0)('is published as counted', () => {
  tallies.expectPublished(...FUNCTIONS)
})
