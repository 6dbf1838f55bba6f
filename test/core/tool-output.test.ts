import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DEFAULT_MAX_PREVIEW_BYTES } from '../../src/compat/index.ts'
import { truncateToolOutput } from '../../src/compat/truncate-tool-output.ts'
import {
  headWithin,
  MAX_TOOL_OUTPUT_BYTES,
  MAX_TOOL_OUTPUT_LINES,
  tailWithin,
} from '../../src/core/files/tool-output/cut-output.ts'
import { generateToolOutputPreview } from '../../src/core/files/tool-output/preview.ts'
import { truncateToTokenBudget } from '../../src/core/tokens/index.ts'
import { refuses } from '../support/failures.ts'
import { characterEnds, hardText } from './texts.ts'

const bytesOf = (text: string): number => Buffer.byteLength(text)
it('has the limits of the seeds', () => {
  expect([MAX_TOOL_OUTPUT_BYTES, MAX_TOOL_OUTPUT_LINES, DEFAULT_MAX_PREVIEW_BYTES]).toEqual([
    51_200, 2_000, 51_200,
  ])
})

describe('truncateToolOutput', () => {
  it('keeps the end by default, after the notice; the beginning on request, before the notice', () => {
    const output = 'one\ntwo\nthree\nfour'
    expect(truncateToolOutput(output, { maxLines: 2 })).toEqual({
      content: '\n\n[Output truncated from 18 bytes to 10 bytes]\nthree\nfour',
      truncated: true,
      originalSize: 18,
    })
    expect(truncateToolOutput(output, { maxLines: 2, direction: 'head' })).toEqual({
      content: 'one\ntwo\n\n[Output truncated from 18 bytes to 7 bytes]',
      truncated: true,
      originalSize: 18,
    })
  })

  it.each([
    // A limit of 1,000 bytes: 500 of two bytes, 333 of three, 250 of four, and 40 families of 25 bytes.
    ['é', 500],
    ['你', 333],
    ['🙂', 250],
    ['👩‍👩‍👧‍👦', 40],
  ])('keeps as many whole %s as fit', (character, count) => {
    const output = character.repeat(2_000)
    const size = count * bytesOf(character)
    const notice = `[Output truncated from ${bytesOf(output)} bytes to ${size} bytes]`
    const kept = character.repeat(count)
    expect(truncateToolOutput(output, { maxBytes: 1_000 }).content).toBe(`\n\n${notice}\n${kept}`)
    expect(truncateToolOutput(output, { maxBytes: 1_000, direction: 'head' }).content).toBe(
      `${kept}\n\n${notice}`,
    )
  })

  it('returns a text within both limits unchanged, and only the notice where nothing may be kept', () => {
    const output = `${'line\n'.repeat(1_999)}end`
    expect(truncateToolOutput(output)).toEqual({ content: output, truncated: false, originalSize: 9_998 })
    expect(truncateToolOutput('')).toEqual({ content: '', truncated: false, originalSize: 0 })
    expect(truncateToolOutput('small', { maxBytes: 0 }).content).toBe(
      '\n\n[Output truncated from 5 bytes to 0 bytes]\n',
    )
    expect(truncateToolOutput('small', { maxLines: 0, direction: 'head' }).content).toBe(
      '\n\n[Output truncated from 5 bytes to 0 bytes]',
    )
  })

  it('refuses what it does not know', () => {
    expect(refuses(() => truncateToolOutput(5 as unknown as string))).toBe(true)
    for (const options of [
      { maxByte: 1 },
      { maxBytes: -1 },
      { maxBytes: 1.5 },
      { direction: 'middle' },
      { saveDir: '' },
    ])
      expect(
        refuses(() => truncateToolOutput('a', options as object)),
        JSON.stringify(options),
      ).toBe(true)
  })

  it('keeps one end within both limits, between two characters, and reports it correctly', () => {
    const anyCase = fc.record({
      output: hardText,
      maxBytes: fc.nat(300),
      maxLines: fc.nat(10),
      direction: fc.constantFrom('head', 'tail'),
    })
    fc.assert(
      fc.property(anyCase, ({ output, ...limits }) => {
        const { content, truncated, originalSize } = truncateToolOutput(output, limits)
        expect(originalSize).toBe(bytesOf(output))
        const lines = output.split('\n').length
        expect(truncated).toBe(output !== '' && (originalSize > limits.maxBytes || lines > limits.maxLines))
        if (!truncated) {
          expect(content).toBe(output)
          return
        }
        const isHead = limits.direction === 'head'
        const size = /truncated from (\d+) bytes to (\d+) bytes\]/.exec(content)!
        const around = `\n\n[Output truncated from ${originalSize} bytes to ${size[2]} bytes]${isHead ? '' : '\n'}`
        const kept = isHead ? content.slice(0, -around.length) : content.slice(around.length)
        expect(isHead ? `${kept}${around}` : `${around}${kept}`).toBe(content)
        expect(bytesOf(kept)).toBe(Number(size[2]))
        expect(bytesOf(kept)).toBeLessThanOrEqual(limits.maxBytes)
        if (kept !== '') expect(kept.split('\n').length).toBeLessThanOrEqual(limits.maxLines)
        expect(isHead ? output.startsWith(kept) : output.endsWith(kept)).toBe(true)
        const cut = isHead ? kept.length : output.length - kept.length
        // A line break ends a line, also where it is the second half of "\r\n".
        expect(characterEnds(output).has(cut) || output.slice(cut - 1, cut + 1) === '\r\n').toBe(true)
      }),
      { numRuns: 2_000 },
    )
  })
})

describe('generateToolOutputPreview', () => {
  const numbered = (count: number): string =>
    Array.from({ length: count }, (_, at) => `line ${at + 1}`).join('\n')

  it('keeps a quarter of the lines from the beginning, the rest from the end, and reports what is missing', () => {
    const output = numbered(40)
    // 40 lines: 9 × 6 + 31 × 7 = 271, and 39 breaks. Kept: lines 1 and 2 (13 with their break), 35 to 40 (47).
    expect(generateToolOutputPreview(output, { maxLines: 8, retrieveWith: 'read_output' })).toEqual({
      preview: [
        'line 1\nline 2',
        '[... 250 bytes omitted (32 lines). Use the tool read_output for the full output ...]',
        'line 35\nline 36\nline 37\nline 38\nline 39\nline 40',
      ].join('\n'),
      truncated: true,
      originalSize: 310,
      originalLines: 40,
      keptBytes: 60,
      omittedBytes: 250,
      omittedLines: 32,
    })
  })

  it('keeps 500 and 1,500 of 3,000 lines', () => {
    const { preview, omittedLines } = generateToolOutputPreview(numbered(3_000))
    expect(preview.startsWith('line 1\n')).toBe(true)
    expect(preview).toContain('\nline 500\n[... ')
    expect(preview).toContain(' ...]\nline 1501\n')
    expect(preview.endsWith('\nline 3000')).toBe(true)
    expect(omittedLines).toBe(1_000)
    expect(preview).toContain('retrieve_context')
  })

  it('parts a single long line at 12,800 and 38,400 bytes', () => {
    const result = generateToolOutputPreview(`${'a'.repeat(100_000)}${'z'.repeat(100_000)}`)
    expect(result).toMatchObject({
      originalSize: 200_000,
      keptBytes: 51_200,
      omittedBytes: 148_800,
      omittedLines: 1,
    })
    expect(result.preview).toBe(
      `${'a'.repeat(12_800)}\n[... 148800 bytes omitted (1 line). Use the tool retrieve_context for the full output ...]\n${'z'.repeat(38_400)}`,
    )
  })

  it('keeps lines whole, unless that costs more than half of an end', () => {
    const { preview } = generateToolOutputPreview(numbered(1_000), { maxBytes: 1_000 })
    const lines = preview.split('\n').filter((line) => !line.startsWith('[... '))
    expect(lines.filter((line) => !/^line \d+$/.test(line))).toEqual([])
    const output = `ab\n${'x'.repeat(5_000)}\nab`
    expect(generateToolOutputPreview(output, { maxBytes: 1_000 })).toMatchObject({
      keptBytes: 1_000,
      omittedLines: 1,
    })
  })

  it('is never longer than the output, not even one byte over the limit', () => {
    const { preview, truncated } = generateToolOutputPreview('x'.repeat(51_201))
    expect(truncated).toBe(true)
    expect(bytesOf(preview)).toBeLessThanOrEqual(51_201)
  })

  it('has the shares asked for', () => {
    const output = 'h'.repeat(5_000) + 't'.repeat(5_000)
    const counts = (options: object): (number | undefined)[] => {
      const { preview } = generateToolOutputPreview(output, {
        maxBytes: 1_000,
        retrieveWith: null,
        ...options,
      })
      return [/^h*/, /t*$/].map((end) => end.exec(preview)?.[0].length)
    }
    expect(counts({})).toEqual([250, 750])
    expect(counts({ headRatio: 0.5 })).toEqual([500, 500])
    expect(counts({ tailRatio: 0.1 })).toEqual([900, 100])
    expect(counts({ headRatio: 1 })).toEqual([1_000, 0])
    expect(counts({ headRatio: 0.2, tailRatio: 0.3 })).toEqual([200, 300])
    expect(counts({ headRatio: 0 })).toEqual([0, 1_000])
    expect(refuses(() => generateToolOutputPreview(output, { headRatio: 0.6, tailRatio: 0.5 }))).toBe(true)
    expect(refuses(() => generateToolOutputPreview(output, { maxByte: 5 } as object))).toBe(true)
  })

  it('returns a text within both limits unchanged', () => {
    expect(generateToolOutputPreview('a\nb')).toEqual({
      preview: 'a\nb',
      truncated: false,
      originalSize: 3,
      originalLines: 2,
      keptBytes: 3,
      omittedBytes: 0,
      omittedLines: 0,
    })
  })

  it('keeps two ends within both limits, between characters, and its figures are true', () => {
    const anyCase = fc.record({
      output: fc.oneof(
        hardText,
        fc.array(hardText, { maxLength: 8 }).map((texts) => texts.join('\n')),
      ),
      maxBytes: fc.nat(400),
      maxLines: fc.nat(10),
      headRatio: fc.constantFrom(0, 0.1, 0.25, 0.5, 1),
    })
    fc.assert(
      fc.property(anyCase, ({ output, ...limits }) => {
        const result = generateToolOutputPreview(output, limits)
        const { preview, keptBytes, omittedBytes, originalSize } = result
        expect(bytesOf(preview)).toBeLessThanOrEqual(originalSize)
        expect(keptBytes + omittedBytes).toBe(originalSize)
        if (!result.truncated) {
          expect(preview).toBe(output)
          return
        }
        expect(keptBytes).toBeLessThanOrEqual(limits.maxBytes)
        const at = preview.indexOf(`[... ${omittedBytes} bytes omitted`)
        if (at === -1) {
          expect(originalSize).toBeLessThan(100)
          return
        }
        const notice = preview.slice(at, preview.indexOf(' ...]', at) + 5)
        if (notice.includes('line')) expect(notice).toContain(`(${result.omittedLines} line`)
        const head = at === 0 ? '' : preview.slice(0, at - 1)
        const tail = preview.slice(at + notice.length + 1)
        expect(bytesOf(head) + bytesOf(tail)).toBe(keptBytes)
        expect(output.startsWith(head) && output.endsWith(tail)).toBe(true)
        const places = [head.length, output.length - tail.length]
        const ends = characterEnds(output)
        for (const place of places)
          expect(ends.has(place) || output.slice(place - 1, place + 1) === '\r\n').toBe(true)
        const kept = [head, tail].filter((end) => end !== '')
        expect(kept.reduce((sum, end) => sum + end.split('\n').length, 0)).toBeLessThanOrEqual(
          limits.maxLines,
        )
      }),
      { numRuns: 3_000 },
    )
  })
})

describe('bytes of an end', () => {
  it('are the most that are not too many', () => {
    const long = fc
      .tuple(hardText, fc.integer({ min: 1, max: 300 }))
      .map(([text, times]) => text.repeat(times))
    fc.assert(
      fc.property(long, fc.double({ min: 0, max: 1, noNaN: true }), (text, part) => {
        const most = Math.floor(bytesOf(text) * part)
        const end = headWithin(text, most)
        const start = tailWithin(text, most)
        expect(bytesOf(text.slice(0, end))).toBeLessThanOrEqual(most)
        expect(bytesOf(text.slice(start))).toBeLessThanOrEqual(most)
        if (end < text.length) {
          const next = text.codePointAt(end)! > 0xffff ? 2 : 1
          expect(bytesOf(text.slice(0, end + next))).toBeGreaterThan(most)
        }
        if (start > 0) {
          const isPair = start > 1 && text.codePointAt(start - 2)! > 0xffff
          expect(bytesOf(text.slice(start - (isPair ? 2 : 1)))).toBeGreaterThan(most)
        }
      }),
      { numRuns: 300 },
    )
  })
})

it('takes an output of 100 MB', () => {
  const output = `${'some line of a log, and more of it\n'.repeat(3_000_000)}`
  expect(truncateToolOutput(output).originalSize).toBe(105_000_000)
  expect(generateToolOutputPreview(output).originalLines).toBe(3_000_001)
})

it('keeps nothing of an output in memory but what it keeps', () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const heapUsed = (): number => {
    collect()
    return process.memoryUsage().heapUsed
  }
  const before = heapUsed()
  const kept = Array.from({ length: 10 }, (_, at) => {
    const output = `${at} some line of a log, and more of it\n`.repeat(500_000)
    return [
      truncateToolOutput(output).content,
      generateToolOutputPreview(output).preview,
      truncateToTokenBudget(output, 500).text,
    ]
  })
  // Ten outputs of 18 MB; some 100 KB of each are kept.
  expect(heapUsed() - before).toBeLessThan(30_000_000)
  expect(kept.length).toBe(10)
})
