import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { pairToolUse, toolUseOf } from '../../src/core/messages/call-results.ts'
import { blockOfSummary, lastBlockOf } from '../../src/core/messages/compaction-block.ts'
import {
  type Message,
  outputText,
  type Part,
  partsOf,
  type ViewMessage,
} from '../../src/core/messages/message.ts'
import { type RenderOptions, renderView } from '../../src/core/rendering/render.ts'
import { validateHistory } from '../../src/core/rendering/validate.ts'
import { providerProfile, readsPartsOf } from '../../src/core/tokens/providers.ts'
import { expectViewAccepted } from '../support/requests.ts'
import { randomView } from './random-views.ts'

const PROVIDERS = [
  'anthropic',
  'bedrock',
  'google-ai',
  'vertex',
  'mistral',
  'openai',
  'huggingface',
  'nobody',
] as const
const RUNS = process.env.LONG === '1' ? 20_000 : 1_000

/** A provider, and the ways of showing summaries and markers. */
const randomOptions: fc.Arbitrary<RenderOptions> = fc.record(
  {
    provider: fc.constantFrom(...PROVIDERS),
    summaryRole: fc.constantFrom('system', 'user', 'assistant'),
    markerRole: fc.constantFrom('system', 'user', 'assistant'),
    summaryPlace: fc.constantFrom('inline', 'after-system', 'first', 'in-system'),
    preset: fc.constantFrom('neurolink', 'neuron', 'nca', 'promptfleet', 'tags'),
  },
  { requiredKeys: ['provider'] },
)

function holds(law: (view: ViewMessage[], options: RenderOptions, more: ViewMessage[]) => void): void {
  fc.assert(
    fc.property(randomView, randomOptions, randomView, (view, options, more) => {
      law(
        view,
        options,
        // A row with a block comes of a compaction; it is not appended.
        more.filter((row) => blockOfSummary(row) === undefined).map((row) => ({ ...row, id: `n${row.id}` })),
      )
    }),
    { numRuns: RUNS },
  )
}

function asView(messages: readonly Message[]): ViewMessage[] {
  return messages.map((message, index) => ({ ...message, id: `r${index}`, kind: 'message', createdAt: 0 }))
}

describe('a rendering', () => {
  it('is valid for its provider', () => {
    holds((view, options) => {
      expect(validateHistory(renderView(view, options).messages, options.provider)).toEqual([])
    })
  })

  it('is accepted by its provider, by rules that share no code with it', () => {
    fc.assert(
      fc.property(randomView, (view) => expectViewAccepted(view)),
      { numRuns: RUNS / 4 },
    )
  })

  it('of a rendering is that rendering, with nothing left to mend', () => {
    holds((view, options) => {
      const { messages } = renderView(view, options)
      expect(renderView(asView(messages), options)).toEqual({ messages, mends: [] })
    })
  })

  it('of a valid list of messages is that list', () => {
    let valid = 0
    holds((view, options) => {
      const messages = view.map(({ id, kind, createdAt, ...message }): Message => message)
      if (validateHistory(messages, options.provider).length > 0) return
      // A block behind messages it could stand for is left out.
      if (messages.some(({ content }) => lastBlockOf(content) !== undefined)) return
      // So are the parts of other providers.
      if (messages.some((message) => holdsForeign(message, options.provider))) return
      if (messages.length > 2) valid++
      expect(renderView(asView(messages), options)).toEqual({ messages, mends: [] })
    })
    expect(valid).toBeGreaterThan(RUNS / 50)
  })

  it('reports that it changed something', () => {
    holds((view, options) => {
      const messages = view.filter((row) => row.kind === 'message')
      const rendering = renderView(messages, options)
      if (rendering.mends.length > 0) return
      expect(rendering.messages).toEqual(messages.map(({ id, kind, createdAt, ...message }) => message))
    })
  })

  it('is the beginning of the rendering of a longer view', () => {
    holds((view, options, others) => {
      // Applications append messages. A summary that comes later, from a compaction, may be shown at the head.
      const more = others.filter(({ kind }) => kind !== 'summary')
      const shorter = renderView(view, options).messages
      const longer = renderView([...view, ...more], options).messages
      const kept = shorter.slice(0, stableLength(view, more, shorter, options))
      expect(longer.slice(0, kept.length)).toEqual(kept)
      expect(JSON.stringify(longer.slice(0, kept.length))).toBe(JSON.stringify(kept))
    })
  })

  it('loses no text but that of second results and of reasoning', () => {
    holds((view, options) => {
      const shown = JSON.stringify(renderView(view, options).messages)
      for (const text of textsOf(view)) expect(shown).toContain(text)
    })
  })

  it('keeps every call and every picture', () => {
    holds((view, options) => {
      const rendered = renderView(view, options).messages
      const shownCalls = rendered.flatMap(partsOf).filter((part) => part.type === 'tool-call').length
      const calls = view
        .filter(({ kind, role }) => kind === 'message' && role === 'assistant')
        .flatMap(partsOf)
      expect(shownCalls).toBe(calls.filter((part) => part.type === 'tool-call').length)
      expect(picturesIn(rendered)).toBe(picturesIn(withoutRefused(withoutDuplicates(view), options)))
    })
  })

  it('changes nothing it was given, and is the same each time', () => {
    holds((view, options) => {
      const before = structuredClone(view)
      const first = renderView(deepFreeze(view), options)
      expect(view).toEqual(before)
      expect(JSON.stringify(renderView(before, options))).toBe(JSON.stringify(first))
    })
  })

  it('holds role, content and metadata only, and its mends no text', () => {
    holds((view, options) => {
      const { messages, mends } = renderView(view, options)
      for (const message of messages) {
        const { role, content, metadata, ...others } = message
        expect(others).toEqual({})
      }
      const ids = new Set(view.map(({ id }) => id))
      for (const mend of mends) expect(ids).toContain(mend.messageId)
      expect(JSON.stringify(mends)).not.toMatch(/t\d+\.\d+\./)
    })
  })

  it('that keeps pending calls is valid but for those', () => {
    holds((view, options) => {
      const { messages } = renderView(view, { ...options, pendingCalls: 'keep' })
      const problems = validateHistory(messages, options.provider)
      const lastSpeaker = messages.findLastIndex(({ role }) => role === 'assistant')
      expect(problems.map(({ code, index }) => ({ code, index }))).toEqual(
        problems.map(() => ({ code: 'UNANSWERED_CALL', index: lastSpeaker })),
      )
    })
  })

  it('takes time in proportion to the view', () => {
    const turns = (count: number): ViewMessage[] =>
      asView(
        Array.from({ length: count }, (): Message[] => [
          { role: 'user', content: 'go' },
          {
            role: 'assistant',
            content: [{ type: 'tool-call', toolCallId: 'call_0', toolName: 'run', input: null }],
          },
          { role: 'assistant', content: [{ type: 'reasoning', text: 'hm' }] },
        ]).flat(),
      )
    const timeOf = (view: ViewMessage[]): number => {
      const times = Array.from({ length: 5 }, () => {
        const start = performance.now()
        renderView(view, { provider: 'mistral' })
        return performance.now() - start
      })
      return Math.min(...times)
    }
    const small = turns(1_000)
    const large = turns(10_000)
    timeOf(small)
    expect(timeOf(large) / timeOf(small)).toBeLessThan(40)
  })
})

/**
 * How much of a rendering must stay when rows are appended: all but the last message; or, when one of them answers
 * a call, what stands before the message of the first call so answered.
 */
function stableLength(
  view: readonly ViewMessage[],
  more: readonly ViewMessage[],
  shorter: readonly Message[],
  options: RenderOptions,
): number {
  const { pairs } = pairToolUse([...view, ...more].map(callsAndResults))
  const late = pairs.filter(({ call, result }) => call.row < view.length && result.row >= view.length)
  const first = Math.min(...late.map(({ call }) => call.row))
  const merges = !['openai', 'huggingface', 'nobody'].includes(options.provider)
  if (first === Number.POSITIVE_INFINITY) return merges ? shorter.length - 1 : shorter.length
  const before = renderView(view.slice(0, first), options).messages.length
  return Math.max(0, before - 1)
}

/** Inserted rows hold no tool use, and calls outside assistant messages are no calls. */
function callsAndResults(row: ViewMessage): ReturnType<typeof toolUseOf> {
  if (row.kind !== 'message') return undefined
  const use = toolUseOf(partsOf(row))
  return use === undefined || row.role === 'assistant' ? use : { ...use, calls: [] }
}

/** Behind what stands for hidden messages, a second result counts only when it says the same: else it may be a hidden call's. */
function withoutDuplicates(view: readonly ViewMessage[]): ViewMessage[] {
  const { pairs, orphans } = pairToolUse(view.map(callsAndResults))
  const hiding = view.findIndex(({ kind }) => kind !== 'message')
  const firsts = new Map(pairs.map(({ call, result }) => [`${call.row}:${call.part}`, result] as const))
  const said = ({ row, part }: { row: number; part: number }): string => {
    const { output } = partsOf(view[row]!)[part] as Extract<Part, { type: 'tool-result' }>
    // Empty texts and parts of other providers are left out before results are compared.
    const value =
      output.type === 'content'
        ? output.value.filter(
            (item) => item.type !== 'provider' && (item.type !== 'text' || item.text.trim() !== ''),
          )
        : output.value
    return JSON.stringify([output.type, value])
  }
  const doubled = new Set(
    orphans.flatMap(({ result, duplicateOf }) => {
      const first = duplicateOf && firsts.get(`${duplicateOf.row}:${duplicateOf.part}`)
      const mayBeAnothers = hiding !== -1 && hiding < result.row
      const isSecond = first !== undefined && (!mayBeAnothers || said(first) === said(result))
      return isSecond ? [`${result.row}:${result.part}`] : []
    }),
  )
  return view.map((row, index) => ({
    ...row,
    content: partsOf(row).filter((_, part) => !doubled.has(`${index}:${part}`)),
  }))
}

/** Pictures of an assistant's become words where the provider takes none from it. */
function withoutRefused(view: readonly ViewMessage[], { provider }: RenderOptions): ViewMessage[] {
  return view.map((row) =>
    row.role === 'assistant' && !providerProfile(provider).assistantMedia
      ? { ...row, content: partsOf(row).filter(({ type }) => type !== 'image') }
      : row,
  )
}

function holdsForeign(message: Message, provider: string): boolean {
  const items = partsOf(message).flatMap((part): readonly Part[] =>
    part.type === 'tool-result' && part.output.type === 'content' ? part.output.value : [part],
  )
  return items.some((part) => part.type === 'provider' && !readsPartsOf(provider, part.provider))
}

function textsOf(view: readonly ViewMessage[]): string[] {
  const texts = withoutDuplicates(view)
    .flatMap(partsOf)
    .flatMap((part): string[] => {
      if (part.type === 'text') return [part.text]
      return part.type === 'tool-result' ? outputText(part.output).split(/(?<=t\d+\.\d+\.)/) : []
    })
  return texts.filter((text) => text.trim() !== '').map((text) => text.trim())
}

function picturesIn(messages: readonly Message[]): number {
  const inResult = (part: Part): readonly { readonly type: string }[] =>
    part.type === 'tool-result' && part.output.type === 'content' ? part.output.value : [part]
  return messages
    .flatMap(partsOf)
    .flatMap(inResult)
    .filter(({ type }) => type === 'image').length
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    Object.values(value).forEach(deepFreeze)
  }
  return value
}
