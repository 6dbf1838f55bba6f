import fc from 'fast-check'
import stringWidth from 'string-width'
import { describe, expect, it } from 'vitest'
import type { Sink } from '../../../src/cli/command.ts'
import { clipped, paragraph, wrapped } from '../../../src/cli/output/layout.ts'
import { createStyle } from '../../../src/cli/output/safe-text.ts'
import { table } from '../../../src/cli/output/table.ts'

const sinkOf = (columns?: number): Sink => ({
  isTerminal: columns !== undefined,
  columns: columns ?? 80,
  write: () => {},
})
const plain = createStyle(false)
const COLUMNS = [
  { title: 'NAME', flexible: 'wrap', isName: true },
  { title: 'COUNT', align: 'right' },
  { title: 'TEXT', flexible: 'wrap' },
] as const

describe('table', () => {
  it('aligns columns, wide characters too', () => {
    const rows = [
      ['kettle', '7', 'x'],
      ['やかん', '1,234', 'y'],
      ['👨‍👩‍👧', '12', 'z'],
    ]
    expect(table(COLUMNS, rows, sinkOf(), plain)).toEqual([
      'NAME    COUNT  TEXT',
      'kettle      7  x',
      'やかん  1,234  y',
      '👨‍👩‍👧         12  z',
    ])
  })

  it('lays out a long table, as that of a plan, in one piece', () => {
    const rows = Array.from({ length: 130_000 }, (_, at) => [String(at)])
    const lines = table([{ title: 'NO', align: 'right' }], rows, sinkOf(), plain)
    expect(lines.length).toBe(130_001)
    for (const at of [0, 98, 99, 100, 129_999]) expect(lines[at + 1]).toBe(String(at).padStart(6))
  })

  it('wraps what may be wrapped until it fits', () => {
    const rows = [['one', '1', 'some words that are too many']]
    expect(table(COLUMNS, rows, sinkOf(30), plain)).toEqual([
      'NAME  COUNT  TEXT',
      'one       1  some words that',
      '             are too many',
    ])
  })

  it('clips names so that those which begin alike still differ', () => {
    const columns = [{ title: 'ID', flexible: 'clip', isName: true }, { title: 'N' }] as const
    const of = (...ids: string[]): string[] =>
      table(
        columns,
        ids.map((id) => [id, '1']),
        sinkOf(15),
        plain,
      ).slice(1)
    expect(of('imported-session-1', 'imported-session-2', 'やかん')).toEqual([
      'impor…sion-1  1',
      'impor…sion-2  1',
      'やかん        1',
    ])
    // A beginning stands for an id in a command, so it is what is shown where it is enough.
    expect(of('first-of-all-sessions', 'second-of-all-sessions')).toEqual([
      'first-of-al…  1',
      'second-of-a…  1',
    ])
  })

  it('makes blocks where nothing fits', () => {
    const rows = [
      ['one', '1', 'some words that are too many'],
      ['two', '', 'x'],
    ]
    expect(table(COLUMNS, rows, sinkOf(20), plain)).toEqual([
      'one',
      '  COUNT  1',
      '  TEXT   some words',
      '         that are',
      '         too many',
      '',
      'two',
      '  TEXT   x',
    ])
  })

  it('shows stored text safely, and is no wider than 120 columns in a pipe', () => {
    const long = 'word '.repeat(60).trim()
    const lines = table(COLUMNS, [['a\nb\x1b[2J', '1', long]], sinkOf(), plain)
    expect(lines[1]).toMatch(/^a␊b␛\[2J {6}1 {2}word word/)
    expect(Math.max(...lines.map((line) => stringWidth(line)))).toBeLessThanOrEqual(120)
    expect(lines.join(' ').match(/word/g)).toHaveLength(60)
  })

  it('keeps a row in one line, clips its texts and leaves out extra columns', () => {
    const columns = [
      { title: 'ID', flexible: 'clip', isName: true },
      { title: 'TITLE', flexible: 'clip' },
      { title: 'COUNT', align: 'right' },
      { title: 'MODEL', flexible: 'clip', isExtra: true },
    ] as const
    const id = '0d4e5f60-1111-4222-8333-abcdefabcdef'
    const rows = [
      [id, 'Why the kettle stays cold in the morning', '12', 'anthropic/some-model'],
      ['b', 'x'.repeat(300), '3', ''],
    ]
    expect(table(columns, rows, sinkOf(50), plain)).toEqual([
      'ID                    TITLE                  COUNT',
      '0d4e5f60-1111-4222-…  Why the kettle stays…     12',
      'b                     xxxxxxxxxxxxxxxxxxxx…      3',
    ])
    expect(table(columns, rows, sinkOf(100), plain)[1]).toContain('anthropic')
    const piped = table(columns, rows, sinkOf(), plain)
    expect(piped).toHaveLength(3)
    expect(piped[1]!.startsWith(`${id}  Why the kettle`)).toBe(true)
    for (const line of piped) expect(line.length).toBeLessThanOrEqual(120)
  })

  it('is never wider than the terminal', () => {
    const cell = fc.string({ unit: 'grapheme', maxLength: 30 })
    fc.assert(
      fc.property(
        fc.array(fc.tuple(cell, cell, cell), { minLength: 1, maxLength: 4 }),
        fc.integer({ min: 40, max: 120 }),
        (rows, columns) => {
          for (const line of table(COLUMNS, rows, sinkOf(columns), plain))
            expect(stringWidth(line)).toBeLessThanOrEqual(columns)
        },
      ),
    )
  })
})

describe('layout', () => {
  it('wraps between words and keeps the column within a line', () => {
    expect(wrapped('  - one two three four\nfive', 12)).toEqual(['  - one two', '  three four', 'five'])
    expect(wrapped('日本語です', 4)).toEqual(['日本', '語で', 'す'])
  })

  it('wraps on a terminal alone', () => {
    expect(paragraph('one two three', sinkOf(14), '> ')).toEqual(['> one two', '> three'])
    expect(paragraph('one two three', sinkOf(), '> ')).toEqual(['> one two three'])
  })

  it('clips by columns', () => {
    expect([clipped('short', 5), clipped('shorter', 5), clipped('日本語', 4)]).toEqual([
      'short',
      'shor…',
      '日…',
    ])
  })
})
