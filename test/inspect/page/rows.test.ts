import { describe, expect, it } from 'vitest'
import { optionsOf, type PreviewSettings } from '../../../src/inspect/page/preview-settings.ts'
import { lineOf } from '../../../src/inspect/page/row-line.ts'
import { positionsIn, rangeWords, windowsOf } from '../../../src/inspect/page/row-windows.ts'

describe('the line of a row', () => {
  it('is its first text line, without the marks of a heading', () => {
    expect(lineOf('\n\n## Plan\nmore')).toBe('Plan')
    expect(lineOf('x'.repeat(400))).toBe(`${'x'.repeat(300)}…`)
  })

  it('says what its first part is, and how many more there are', () => {
    const call = {
      type: 'tool-call',
      toolName: 'read_file',
      toolCallId: 'c',
      input: { path: 'a.ts', lines: 3 },
    }
    expect(lineOf([call])).toBe('read_file a.ts 3')
    expect(
      lineOf([
        { type: 'reasoning', text: 'Hm' },
        { type: 'text', text: 'So' },
      ]),
    ).toBe('Reasoning: Hm  +1')
    expect(lineOf([{ type: 'tool-result', output: { type: 'text', value: 'done\nall' } }])).toBe('→ done')
    expect(lineOf([{ type: 'tool-result', output: { type: 'json', value: { a: 1 } } }])).toBe('→ {"a":1}')
    expect(
      lineOf([
        {
          type: 'tool-result',
          output: { type: 'content', value: [{ type: 'image', mediaType: 'image/png' }] },
        },
      ]),
    ).toBe('→ [image]')
    expect(lineOf([{ type: 'file', filename: 'a.pdf' }])).toBe('[file a.pdf]')
  })

  it('is marked as empty if there is nothing to show', () => {
    expect(lineOf([])).toBe('(empty)')
    expect(lineOf(undefined)).toBe('')
  })
})

describe('the pages for some positions', () => {
  it('read close positions together, and distant ones apart', () => {
    expect(windowsOf([30, 1, 2, 9, 100])).toEqual([
      { after: 0, limit: 9 },
      { after: 29, limit: 1 },
      { after: 99, limit: 1 },
    ])
  })

  it('have at most 100 rows', () => {
    const positions = Array.from({ length: 150 }, (_, at) => at + 1)
    expect(windowsOf(positions)).toEqual([
      { after: 0, limit: 100 },
      { after: 100, limit: 50 },
    ])
  })

  it('begin with the first positions of ranges', () => {
    expect(
      positionsIn(
        [
          [3, 5],
          [9, 12],
        ],
        4,
      ),
    ).toEqual([3, 4, 5, 9])
    expect(
      rangeWords(
        [
          [1, 40],
          [44, 44],
          [50, 51],
        ],
        2,
      ),
    ).toBe('1–40, 44 and 1 more')
  })
})

describe('the options of a preview', () => {
  const own: PreviewSettings = {
    ...{ target: 40, keepRecentTokens: '', reason: '' },
    stages: {
      ...{ enableMedia: true, enablePrune: true, enableDeduplicate: true },
      ...{ enableSummarize: true, enableTruncate: true, emergencyCut: true },
    },
  }

  it('are only those that differ from the session', () => {
    expect(optionsOf(own, own)).toEqual({})
    expect(
      optionsOf(
        {
          target: 20,
          keepRecentTokens: '500',
          reason: ' why ',
          stages: { ...own.stages, enablePrune: false },
        },
        own,
      ),
    ).toEqual({ target: 0.2, enablePrune: false, keepRecentTokens: 500, reason: 'why' })
  })

  it('leave out what is not a number of tokens', () => {
    expect(optionsOf({ ...own, keepRecentTokens: '1.5' }, own)).toEqual({})
    expect(optionsOf({ ...own, keepRecentTokens: '-3' }, own)).toEqual({})
  })
})
