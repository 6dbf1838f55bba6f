import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Message, partsOf } from '../../src/core/messages/message.ts'
import { renderView } from '../../src/core/rendering/render.ts'
import { providerProfile } from '../../src/core/tokens/providers.ts'
import { randomView } from '../core/random-views.ts'
import { ofOneForm, problemsIn, SENT, sentAndRead } from '../support/formats.ts'
import { expectViewAccepted } from '../support/requests.ts'

/*
 * What a rendering promises of roles and parts must hold of what is sent, too: a form that leaves something out must not
 * leave a message empty, and one that parts or joins messages must not break their order.
 */

const RUNS = process.env.LONG === '1' ? 10_000 : 400

describe.each(SENT)('a rendering for %s in the form %s', (provider, _name, format) => {
  it('is valid when it is read again, with all calls and their results', () => {
    fc.assert(
      fc.property(randomView, (view) => {
        expectViewAccepted(view, [provider])
        const { messages } = renderView(ofOneForm(view, provider, format), { provider })
        // Gemini's answers and items are told apart by ids alone.
        if ((format.name === 'gemini' || format.isItemwise) && messages.some(repeatsIds)) return
        const read = sentAndRead(format, messages)
        expect(problemsIn(read, provider, format)).toEqual([])
        for (const message of read) {
          if (!format.isItemwise) expect(message.content).not.toHaveLength(0)
          if (!providerProfile(provider).emptyText)
            expect(partsOf(message).some((part) => part.type !== 'text' || part.text.trim() !== '')).toBe(
              true,
            )
        }
        for (const type of ['tool-call', 'tool-result'] as const)
          expect(idsOf(read, type).sort()).toEqual(idsOf(messages, type).sort())
      }),
      { numRuns: RUNS },
    )
  })
})

function repeatsIds(message: Message): boolean {
  const ids = partsOf(message).flatMap((part) => (part.type === 'tool-call' ? [part.toolCallId] : []))
  return new Set(ids).size < ids.length
}

function idsOf(
  messages: readonly { content: Parameters<typeof partsOf>[0]['content'] }[],
  type: string,
): string[] {
  return (
    messages
      .flatMap(partsOf)
      .flatMap((part) => (part.type === type && 'toolCallId' in part ? [part.toolCallId] : []))
      // A form may leave out an empty id, and make one up when it is read.
      .filter((id) => id !== '' && !id.startsWith('gemini_call_'))
  )
}
