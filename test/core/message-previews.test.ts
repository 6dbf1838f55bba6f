import { describe, expect, it } from 'vitest'
import { truncateToolOutput } from '../../src/compat/truncate-tool-output.ts'
import { previewsOf } from '../../src/core/files/tool-output/message-previews.ts'
import type { Message, Part, ToolResultOutput } from '../../src/core/messages/message.ts'
import { indexMessage } from '../../src/core/model/message-parts.ts'
import { neurolinkEstimator } from '../../src/core/tokens/measure.ts'

/** A hundred lines of 9 characters: 999 bytes. */
const LOG = Array.from({ length: 100 }, (_, at) => `line ${String(at + 1).padStart(3, '0')}.`).join('\n')
/** Of eight lines two are from the beginning (19 bytes) and six from the end (59): 78 stay, 921 go. */
const LOG_IN_EIGHT = [
  'line 001.\nline 002.',
  '[... 921 of 999 bytes omitted (92 of 100 lines). Stored in full: getToolOutput of call c1 ...]',
  'line 095.\nline 096.\nline 097.\nline 098.\nline 099.\nline 100.',
].join('\n')
const EIGHT = { maxBytes: 51_200, maxLines: 8 }

function previews(
  output: ToolResultOutput,
  limits = EIGHT,
  { role = 'tool', id = 'c1' }: { role?: Message['role']; id?: string } = {},
): ReturnType<typeof previewsOf> {
  const content: Part[] = [{ type: 'tool-result', toolCallId: id, output }]
  const { results } = indexMessage({ content }, neurolinkEstimator)
  return previewsOf({ role, content }, results, limits, neurolinkEstimator)
}
const text = (value: string): ToolResultOutput => ({ type: 'text', value })

describe('a large tool output is shown as', () => {
  it('its beginning and its end, and a note of the whole', () => {
    const [preview, ...more] = previews(text(LOG))
    expect(more).toEqual([])
    expect(preview!.text).toBe(LOG_IN_EIGHT)
    // 999 characters are 250 units; 19 + 1 + 94 + 1 + 59 = 174 are 44.
    expect(preview).toMatchObject({ part: 0, saved: { toolResults: 250 - 44, text: 0, media: 0 } })
  })

  it('the same when it is an error, several texts, or JSON', () => {
    expect(previews({ type: 'error-text', value: LOG })[0]!.text).toBe(LOG_IN_EIGHT)
    const value = [LOG.slice(0, 400), LOG.slice(400)].map((part) => ({ type: 'text' as const, text: part }))
    expect(previews({ type: 'content', value })[0]!.text).toBe(LOG_IN_EIGHT)
    const json = previews({ type: 'json', value: { log: 'x'.repeat(1_000) } }, { maxBytes: 400, maxLines: 8 })
    // {"log":"xxx…"} has 1,010 bytes: 100 of the beginning, 300 of the end.
    expect(json[0]!.text).toBe(
      `{"log":"${'x'.repeat(92)}\n[... 610 of 1010 bytes omitted (1 of 1 lines). Stored in full: getToolOutput of call c1 ...]\n${'x'.repeat(298)}"}`,
    )
  })

  it('what is within both limits, or hardly over one, stays', () => {
    const bytes = (maxBytes: number): number =>
      previews(text('é'.repeat(1_000)), { maxBytes, maxLines: 9 }).length
    // 2,000 bytes in 1,000 characters. Just above the limit the note would take as much as it spares.
    expect([bytes(2_000), bytes(1_999), bytes(1_500)]).toEqual([0, 0, 1])
    const lines = (maxLines: number): number => previews(text(LOG), { maxBytes: 51_200, maxLines }).length
    expect([lines(100), lines(99), lines(60)]).toEqual([0, 0, 1])
  })

  it('nothing else when that would not be smaller, by the bytes or by the estimator', () => {
    expect(previews(text('x'.repeat(200)), { maxBytes: 0, maxLines: 0 })).toEqual([])
    // By an estimator to which every text is as long as any other.
    const content: Part[] = [{ type: 'tool-result', toolCallId: 'c1', output: text(LOG) }]
    const flat = { ...neurolinkEstimator, measureText: () => 1 }
    expect(previewsOf({ role: 'tool', content }, [{ part: 0 }], EIGHT, flat)).toEqual([])
  })

  it.each<[string, ToolResultOutput, Message['role']]>([
    [
      'with an image',
      {
        type: 'content',
        value: [
          { type: 'text', text: LOG },
          { type: 'image', image: 'aGk=' },
        ],
      },
      'tool',
    ],
    ['of a tool the provider ran itself', text(LOG), 'assistant'],
    ['of a system message', text(LOG), 'system'],
  ])('nothing else, when it is one %s', (_, output, role) => {
    expect(previews(output, EIGHT, { role })).toEqual([])
  })

  it('names a call only by an id that cannot be a sentence', () => {
    for (const id of ['a b', 'x'.repeat(101), 'a\n]', '', 'ignore, and say']) {
      expect(previews(text(LOG), EIGHT, { id })[0]!.text).toContain('Stored in full: getToolOutput ...]')
    }
  })

  it('the output itself, if its tool cut it to the same limits and reports that', () => {
    for (const direction of ['head', 'tail'] as const) {
      const { content, truncated } = truncateToolOutput('line of a log\n'.repeat(9_000), { direction })
      expect([truncated, Buffer.byteLength(content) > 0]).toEqual([true, true])
      expect(previews(text(content), { maxBytes: 51_200, maxLines: 2_000 })).toEqual([])
      const { content: bytes } = truncateToolOutput('x'.repeat(90_000), { direction })
      expect(Buffer.byteLength(bytes)).toBeGreaterThan(51_200)
      expect(previews(text(bytes), { maxBytes: 51_200, maxLines: 2_000 })).toEqual([])
    }
    // 57,000 less 51,200 and a note are a tenth, 56,900 are not: 14,250 and 14,225 units, 12,824 shown.
    const whole = (length: number): number =>
      previews(text('x'.repeat(length)), { maxBytes: 51_200, maxLines: 2_000 }).length
    expect([whole(56_900), whole(57_100)]).toEqual([0, 1])
  })

  it('no character is cut in two', () => {
    for (let maxBytes = 200; maxBytes < 230; maxBytes++) {
      const [preview] = previews(text('👩‍👩‍👧é'.repeat(200)), { maxBytes, maxLines: 9 })
      expect(preview!.text.isWellFormed()).toBe(true)
      expect(preview!.text.replace(/\[\.\.\..*\.\.\.\]/, '').replaceAll(/👩‍👩‍👧|é|\n/gu, '')).toBe('')
    }
  })
})
