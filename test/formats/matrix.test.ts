import { describe, expect, it } from 'vitest'
import { type ConversionNote, type Message, openStore, renderView } from '../../src/index.ts'
import { CONVERSATIONS } from '../support/conversations.ts'
import { FORMATS, nativeCorpora, ofOneForm, problemsIn, SENT, sentAndRead } from '../support/formats.ts'
import { lostUnsaid } from '../support/kept-facts.ts'
import { expectSessionAccepted } from '../support/requests.ts'

/*
 * Every form with every conversation: read and written in its own form, told in another's, and sent to every provider
 * that speaks it. The corpus is sampled, and whole in the long run.
 */

const corpora = nativeCorpora(
  process.env.LONG === '1'
    ? { messagesEach: 400, conversationsEach: 100 }
    : { messagesEach: 60, conversationsEach: 6 },
)
const conversations: readonly (readonly [string, readonly Message[]])[] = [
  ...Object.entries(CONVERSATIONS),
  ...corpora.map(({ name, format, wire }) => [name, format.from(wire as never)] as const),
]

describe.skipIf(corpora.length === 0)('of the corpus', () => {
  it.each(corpora)('$name comes out as it went in', ({ format, wire }) => {
    const notes: ConversionNote[] = []
    const onNote = (note: ConversionNote): void => void notes.push(note)
    expect(format.to(format.from(wire as never, { onNote }), { onNote })).toStrictEqual(wire)
    expect(notes.filter(({ kind }) => kind !== 'kept')).toEqual([])
  })
})

describe.each(FORMATS)('in the form $name', (format) => {
  it.each(conversations)('%s comes out as it went in, once it is in that form', (_, messages) => {
    const wire = format.to(messages)
    const notes: ConversionNote[] = []
    expect(format.to(format.from(wire as never), { onNote: (note) => notes.push(note) })).toStrictEqual(wire)
    expect(notes).toEqual([])
  })

  it.each(conversations)('%s loses nothing without reporting it', (_, messages) => {
    const before = structuredClone(messages)
    const notes: ConversionNote[] = []
    const after = sentAndRead(format, messages, { onNote: (note) => notes.push(note) })
    expect(messages).toEqual(before)
    expect(lostUnsaid(messages, after, notes)).toEqual([])
  })
})

/** Parts that no API has, kept for the API that may have them once. */
const UNKNOWN = 'parts of several providers'

describe.each(conversations)('%s', (name, messages) => {
  it('is valid as it is sent, whole and compacted', async () => {
    await using store = await openStore(':memory:')
    await store.append('s', messages)
    const stats = await store.getContextStats('s')
    for (const share of [1, 0.5, 0.25, 0.1]) {
      const targetTokens = Math.floor(stats!.breakdown.conversationHistory * share)
      if (share < 1) await store.compactSession('s', { targetTokens, pruneMinimumSavings: 10 })
      if (name !== UNKNOWN) await expectSessionAccepted(store, 's', `at ${share}`)
      for (const [provider, form, format] of SENT) {
        const view = ofOneForm(await store.getEffectiveHistory('s'), provider, format)
        const read = sentAndRead(format, renderView(view, { provider }).messages)
        expect(problemsIn(read, provider, format), `${provider} in ${form} at ${share}`).toEqual([])
      }
    }
  })
})
