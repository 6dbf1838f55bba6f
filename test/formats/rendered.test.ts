import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Part, partsOf, type Role, type ViewMessage } from '../../src/core/message.ts'
import { providerProfile, readsPartsOf } from '../../src/core/providers.ts'
import { renderView } from '../../src/core/render.ts'
import { validateHistory } from '../../src/core/validate.ts'
import { randomView } from '../core/random-views.ts'
import { type Format, SENT, sentAndRead } from '../support/formats.ts'

/*
 * What a rendering promises of roles and parts must hold of what is sent, too: a form that leaves something out must not
 * leave a message empty, and one that parts or joins messages must not break their order.
 */

const RUNS = process.env.LONG === '1' ? 10_000 : 400

describe.each(SENT)('a rendering for %s in the form %s', (provider, _name, format) => {
  it('is valid when it is read again, with all calls and their results', () => {
    fc.assert(
      fc.property(randomView, (view) => {
        const { messages } = renderView(ofOneForm(view, provider, format), { provider })
        const read = sentAndRead(format, messages)
        expect(validateHistory(read, provider)).toEqual([])
        for (const message of read) {
          expect(message.content).not.toHaveLength(0)
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

/** Vertex speaks two forms, and is rendered for both: without what only the other of them has a place for. */
function ofOneForm(view: readonly ViewMessage[], provider: string, { owner }: Format): ViewMessage[] {
  if (provider !== 'vertex') return [...view]
  const isOthers = (part: Part, role: Role): boolean =>
    part.type === 'provider'
      ? part.provider !== owner && readsPartsOf(provider, part.provider)
      : part.type === 'image' && role === 'assistant' && !providerProfile(owner).assistantMedia
  return view.map((row) =>
    typeof row.content === 'string'
      ? row
      : { ...row, content: row.content.filter((part) => !isOthers(part, row.role)) },
  )
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
