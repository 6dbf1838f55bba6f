import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type AttachedFile,
  calculateFileTokenBudget,
  enforceAggregateFileBudget,
  estimatePostProcessingTokens,
  FILE_FAST_PATH_SIZE,
  FILE_PREVIEW_CHARS,
  FILE_PREVIEW_MODE_SIZE,
  FILE_READ_BUDGET_PERCENT,
  FILE_SUMMARIZATION_THRESHOLD,
  MAX_PER_FILE_TOKENS,
  MIN_PER_FILE_TOKENS,
  NON_FILE_RESERVE,
  shouldTruncateFile,
} from '../../src/compat/index.ts'
import { estimateTokens } from '../../src/core/tokens/index.ts'
import { hardText } from '../core/texts.ts'
import { everything as undertext } from '../support/entries.ts'
import { refuses } from '../support/failures.ts'
import { readGolden } from '../support/golden.ts'

it('has the figures of the seeds', () => {
  expect([FILE_READ_BUDGET_PERCENT, FILE_FAST_PATH_SIZE, FILE_PREVIEW_MODE_SIZE, FILE_PREVIEW_CHARS]).toEqual(
    [0.6, 102_400, 5_242_880, 2_000],
  )
  expect([NON_FILE_RESERVE, FILE_SUMMARIZATION_THRESHOLD, MIN_PER_FILE_TOKENS, MAX_PER_FILE_TOKENS]).toEqual([
    0.15, 1_000, 500, 4_000,
  ])
})

it('has the figures of the recorded constants', () => {
  const { constants } = readGolden<{
    constants: { seed: string; name: string; value: unknown }[]
  }>('seed-constants')
  const ours = { ...undertext } as Record<string, unknown>
  const ofFiles = constants.filter(({ name }) =>
    /^(?:FILE_|MAX_TOOL_OUTPUT_|DEFAULT_MAX_PREVIEW_)/.test(name),
  )
  expect(ofFiles.length).toBe(8)
  for (const { name, value } of ofFiles) expect([name, ours[name]]).toEqual([name, value])
  const recorded = (name: string): unknown => constants.find((constant) => constant.name === name)?.value
  expect(recorded('contextCompaction.maxToolOutputBytes')).toBe(undertext.MAX_TOOL_OUTPUT_BYTES)
  expect(recorded('contextCompaction.maxToolOutputLines')).toBe(undertext.MAX_TOOL_OUTPUT_LINES)
  expect(recorded('contextCompaction.fileReadBudgetPercent')).toBe(FILE_READ_BUDGET_PERCENT)
})

describe('calculateFileTokenBudget', () => {
  it.each([
    [[128_000, 28_000, 10_000], 54_000],
    [[100, 80, 30], 0],
    [[101, 50, 50], 0],
    [[102, 50, 50], 1],
    [[128_000, 28_000], 60_000],
    [[128_000, 28_000, 10_000, 20_000], 42_000],
    [[128_000, 28_000, 10_000, { reserve: 20_000, percent: 0.5 }], 35_000],
    [[128_000, 28_000, 10_000, { percent: 0 }], 0],
  ] as [Parameters<typeof calculateFileTokenBudget>, number][])('%j gives %i', (args, budget) => {
    expect(calculateFileTokenBudget(...args)).toBe(budget)
  })

  it('refuses what is no figure', () => {
    expect(refuses(() => calculateFileTokenBudget(Number.NaN, 0, 0))).toBe(true)
    expect(refuses(() => calculateFileTokenBudget(100, -1, 0))).toBe(true)
    expect(refuses(() => calculateFileTokenBudget(100, 0, 0, { percent: 60 }))).toBe(true)
    expect(refuses(() => calculateFileTokenBudget(100, 0, 0, { percents: 0.6 } as object))).toBe(true)
  })
})

it.each([
  [5_242_881, 9_999_999, { shouldTruncate: true, maxChars: 2_000, previewMode: true }],
  [5_242_880, 9_999_999, { shouldTruncate: false }],
  [102_399, 0, { shouldTruncate: false }],
  [102_400, 25_600, { shouldTruncate: false }],
  [102_400, 25_599, { shouldTruncate: true, maxChars: 102_396 }],
  [400_000, 100_000, { shouldTruncate: false }],
  [400_004, 100_000, { shouldTruncate: true, maxChars: 400_000 }],
])('shouldTruncateFile(%i, %i)', (fileSize, budget, expected) => {
  expect(shouldTruncateFile(fileSize, budget)).toEqual(expected)
})

it.each([
  [50_000_000, 'video', 500],
  [50_000_000, 'audio', 300],
  [1, 'image', 1_500],
  [1, 'archive', 1_000],
  [1, 'unknown', 500],
  [1_001, 'pdf', 11],
  [99_000_000, 'pdf', 50_000],
  [8_000, 'docx', 300],
  [8_000, 'xlsx', 300],
  [8_000, 'pptx', 300],
  [401, 'svg', 101],
  // 4,000 × 1.33 / 4
  [4_000, 'csv', 1_330],
  [4_000, undefined, 1_330],
  [4_000, 'toString', 1_330],
  [0, 'text', 0],
])('estimatePostProcessingTokens(%i, %s) is %i', (sizeBytes, fileType, tokens) => {
  expect(estimatePostProcessingTokens(sizeBytes, fileType)).toBe(tokens)
})

describe('enforceAggregateFileBudget', () => {
  /* 4,000 characters are 1,000 units, ceil(1,000 × 1.15) = 1,150 tokens of openai. */
  const file = (path: string, thousands: number): { path: string; content: string } => ({
    path,
    content: 'a'.repeat(thousands * 4_000),
  })

  it('cuts files in proportion to their sizes, and returns the list of them [S3-305]', () => {
    // gpt-4: 8,192 − ceil(0.35 × 8,192) = 5,324, of which 60 percent are 3,194, of 11,500 + 2,300 + 2 × 1,150 = 16,100 tokens.
    const files = [file('large', 10), file('middle', 2), file('small', 1), file('small too', 1)]
    const result = enforceAggregateFileBudget(files, 'openai', 'gpt-4')
    expect(Array.isArray(result)).toBe(true)
    // floor(11,500 × 3,194 / 16,100) = 2,281 tokens are 1,983 units; 456 are 396; 228 are 198. Three characters are the ending.
    const cut = (path: string, units: number): object => ({
      path,
      content: `${'a'.repeat(units * 4 - 3)}...`,
      truncated: true,
    })
    expect([...result]).toEqual([
      cut('large', 1_983),
      cut('middle', 396),
      cut('small', 198),
      cut('small too', 198),
    ])
    expect(result.excluded).toEqual([])
    expect(result.notices).toEqual([
      'The file "large" was cut from 11500 to 2281 tokens to fit the context.',
      'The file "middle" was cut from 2300 to 456 tokens to fit the context.',
      'The file "small" was cut from 1150 to 228 tokens to fit the context.',
      'The file "small too" was cut from 1150 to 228 tokens to fit the context.',
    ])
    expect([result.budgetTokens, result.fileTokens]).toEqual([3_194, 2_281 + 456 + 228 + 228])
    expect(files[1]!.content.length).toBe(8_000)
  })

  it('takes files below 100 KB whole and a preview of those above 5 MB [S3-298 S3-299 S3-300]', () => {
    const files = [file('huge', 1_400), file('large', 100), file('larger', 200), file('small', 10)]
    const result = enforceAggregateFileBudget(files, 'openai', 'gpt-4o')
    // 49,920 less 11,500 of the small one; the preview has 500 units, 575 tokens, the others 115,000 and 230,000.
    const [huge, large, larger, small] = result
    expect(small).toBe(files[3])
    expect(huge!.truncated).toBe(true)
    expect(huge!.content.length).toBeLessThanOrEqual(2_000)
    const [first, second] = [large, larger].map((one) => estimateTokens(one!.content, 'openai'))
    expect(second! / first!).toBeCloseTo(2, 2)
    expect(result.fileTokens).toBeGreaterThan(49_900)
    expect(result.fileTokens).toBeLessThanOrEqual(49_920)
    // With room for everything the preview is all that is taken of the first.
    const alone = enforceAggregateFileBudget([files[0]!], 'openai', 'gpt-4o')
    expect(alone[0]!.content).toBe('a'.repeat(2_000))
  })

  it('never cuts a preview further where the previews fit, whatever the other files take [S3-299 S3-300]', () => {
    const within = (budgetTokens: number, ...files: AttachedFile[]) =>
      enforceAggregateFileBudget(files, 'openai', 'gpt-4o', undefined, { budgetTokens })
    // A preview has 500 units, 575 tokens; 90,000 characters 25,875, 200,000 characters 57,500.
    const huge = [file('huge', 1_400), file('huge too', 1_400)]
    const large = file('large', 50)
    const small = file('small', 22.5)
    for (const others of [[large], [small], [large, small], [large, large, small, small]]) {
      const [first, second] = within(2_000, ...huge, ...others)
      expect([first!.content.length, second!.content.length]).toEqual([2_000, 2_000])
    }
    const beside = within(2_000, ...huge, large)
    expect(estimateTokens(beside[2]!.content, 'openai')).toBeLessThanOrEqual(850)
    expect(beside.fileTokens).toBeGreaterThan(1_950)
    // Without room for both, half of the room for each.
    const both = within(1_000, ...huge)
    expect(both.map(({ content }) => estimateTokens(content, 'openai'))).toEqual([500, 500])
  })

  it('returns a list of the caller’s own [S3-304]', () => {
    const files: { content: string; path?: string }[] = enforceAggregateFileBudget([file('a', 1)], 'openai')
    files.push(file('b', 1))
    expect(files.map(({ path }) => path)).toEqual(['a', 'b'])
  })

  it('makes five files of 2.8 MB fit a first request [S3-304]', () => {
    const files = [0.2, 0.1, 1, 0.5, 1].map((megabytes, at) => ({
      path: `f${at}`,
      content: 'b'.repeat(megabytes * 1e6),
    }))
    const result = enforceAggregateFileBudget(files, 'openai', 'gpt-4o')
    expect(result.fileTokens).toBeLessThanOrEqual(49_920)
    expect(result.map(({ path, truncated }) => [path, truncated])).toEqual([
      ['f0', true],
      ['f1', undefined],
      ['f2', true],
      ['f3', true],
      ['f4', true],
    ])
    expect(result.excluded).toEqual([])
  })

  it('counts what is used, what is held back, the output asked for and the share', () => {
    const budgetOf = (...args: [number?, object?]): number =>
      enforceAggregateFileBudget([], 'openai', 'gpt-4o', ...args).budgetTokens
    expect(budgetOf()).toBe(49_920)
    expect(budgetOf(28_000)).toBe(60_000)
    expect(budgetOf(28_000, { usedTokens: 40_000 })).toBe(36_000)
    expect(budgetOf(28_000, { usedTokens: 40_000, reserve: 10_000, percent: 0.5 })).toBe(25_000)
    expect(budgetOf(200_000)).toBe(0)
    expect(budgetOf(undefined, { budgetTokens: 77 })).toBe(77)
  })

  it('leaves files alone that fit, and takes any path and no path', () => {
    const files = [
      { path: '__proto__', content: 'a' },
      { path: 'constructor', content: 'b' },
      { path: 'twice', content: 'c' },
      { path: 'twice', content: 'c' },
      { content: 'd' },
    ]
    // ceil(1 × 1.15) = 2 each.
    const result = enforceAggregateFileBudget(files, 'openai', 'gpt-4o')
    expect([...result]).toEqual(files)
    const { excluded, notices, budgetTokens, fileTokens } = result
    expect([excluded, notices, budgetTokens, fileTokens]).toEqual([[], [], 49_920, 10])
  })

  it('escapes names in its notices', () => {
    const notices = (path?: string): readonly string[] =>
      enforceAggregateFileBudget(
        [{ content: 'long enough', ...(path !== undefined && { path }) }],
        'openai',
        'x',
        0,
        {
          budgetTokens: 0,
        },
      ).notices
    expect(notices('a"b\n<c>\u2028')).toEqual([
      'The file "a\\"b\\n\\u003cc\\u003e\\u2028" of 4 tokens was left out: it does not fit the context.',
    ])
    expect(notices()).toEqual(['The file "file 1" of 4 tokens was left out: it does not fit the context.'])
  })

  it('refuses what are no files', () => {
    for (const files of [undefined, {}, ['a'], [{ content: 5 }], [{ content: new Uint8Array(3) }]])
      expect(refuses(() => enforceAggregateFileBudget(files as never, 'openai'))).toBe(true)
    expect(refuses(() => enforceAggregateFileBudget([], 'openai', 'gpt-4o', 5, { share: 1 } as object))).toBe(
      true,
    )
  })

  it('keeps the sum within the budget, the order, and everything where everything fits', () => {
    const files = fc.array(
      fc.record({ content: hardText, path: fc.constantFrom('a', 'b', '__proto__', 'toString') }),
      { maxLength: 12 },
    )
    fc.assert(
      fc.property(
        files,
        fc.nat(300),
        fc.constantFrom('openai', 'anthropic'),
        (list, budgetTokens, provider) => {
          const result = enforceAggregateFileBudget(list, provider, undefined, undefined, { budgetTokens })
          const tokens = (content: string): number => estimateTokens(content, provider)
          const used = result.reduce((sum, { content }) => sum + tokens(content), 0)
          expect(used).toBe(result.fileTokens)
          expect(used).toBeLessThanOrEqual(budgetTokens)
          expect(result.length + result.excluded.length).toBe(list.length)
          const cut = result.filter((one) => 'truncated' in one)
          expect(result.notices.length).toBe(cut.length + result.excluded.length)
          // In order: each file given is the next one included (or a beginning of it), or the next one left out.
          const [included, excluded] = [[...result], [...result.excluded]]
          for (const given of list) {
            if (excluded[0] === given) excluded.shift()
            else {
              const next = included.shift()!
              if ('truncated' in next) expect(given.content.startsWith(next.content.slice(0, -3))).toBe(true)
              else expect(next).toBe(given)
            }
          }
          expect(included).toEqual([])
          const all = list.reduce((sum, { content }) => sum + tokens(content), 0)
          if (all <= budgetTokens) expect([...result]).toEqual(list)
          else
            expect(cut.length + result.excluded.length).toBe(
              list.filter(({ content }) => tokens(content) > 0).length,
            )
        },
      ),
      { numRuns: 500 },
    )
  })
})
