import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { sharedPath } from '../support/shared.ts'
import { newFolder } from '../support/temporary.ts'
import { type Outcome, runDemo } from './run-demo.ts'
import { widthOf } from './text.ts'

const ESCAPE = '\u001b'

const folder = newFolder()

function fileOf(name: string, content: string | object): string {
  const path = join(folder, name)
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
  return path
}

function linesOf(...entries: readonly object[]): string {
  return entries.map((entry) => JSON.stringify(entry)).join('\n')
}

/** The cells of the line of a table that begins with a name; the last such line. */
function row(out: string, name: string): string[] {
  const line = out.split('\n').findLast((one) => one.trimStart().startsWith(`${name}  `))
  return (line ?? '').trim().split(/ {2,}/)
}

/** What every run that ends well shows. */
function expectAllClaims(out: string): void {
  expect(out).not.toContain('✗')
  for (const sentence of [
    'The view has the bytes the first process saw.',
    'Nothing was written: the session is still at version',
    'Preview and commit gave the same view, byte for byte, and the same figures.',
    'Nothing was deleted: all',
    'validateHistory finds nothing',
    'Every redo gave the compacted view again.',
    'The run is undone and the view is byte-identical to before.',
    'Undone a second time: nothing to do, nothing written.',
    'sessions.verify finds nothing wrong.',
  ]) {
    expect(out).toContain(`✓ ${sentence}`)
  }
  const [, before] = /^ {2}before {2}([0-9a-f]{64})$/m.exec(out) ?? []
  const [, after] = /^ {2}after {3}([0-9a-f]{64})$/m.exec(out) ?? []
  expect(before).toBeDefined()
  expect(after).toBe(before)
}

function expectWithin(out: string, columns: number): void {
  expect(out.split('\n').filter((line) => widthOf(line) > columns)).toEqual([])
}

describe('the scripted agent', () => {
  let outcome: Outcome
  beforeAll(async () => {
    outcome = await runDemo([])
  })

  it('ends well, in plain text no wider than 80 columns, and leaves no files', () => {
    expect(outcome).toMatchObject({ code: 0, err: '', left: [] })
    expect(outcome.out).not.toContain(ESCAPE)
    expectWithin(outcome.out, 80)
    expect([...outcome.out.matchAll(/^── (\d) /gm)].map(([, number]) => number)).toEqual([...'123456'])
  })

  it('holds all it claims', () => {
    expectAllClaims(outcome.out)
  })

  it('fills a window of 200,000 tokens past 80 %, with failing and parallel calls and repeated reads', () => {
    const { out } = outcome
    expect(out).toContain('anthropic / claude-sonnet-4-20250514')
    expect(out).toContain('200,000 tokens, 64,000 of them kept for the answer')
    expect(out).toMatch(/of 136,000 tokens, compaction is due/)
    expect(Number(/context .* (\d+\.\d) %$/m.exec(out)?.[1])).toBeGreaterThanOrEqual(80)
    expect(out).toMatch(/calls +\d+, \d\d+ of them in parallel; [1-9]\d* failed/)
    expect(out).toMatch(/reads +\d+, [1-9]\d* of them of a file read before/)
    expect(out).toMatch(/(\d+) stored, \1 visible, 0 hidden/)
  })

  it('opens the file in another process', () => {
    const [, second, first] =
      /process +(\d+) \(the conversation was recorded by (\d+), which/.exec(outcome.out) ?? []
    expect(Number(first)).toBeGreaterThan(0)
    expect(second).not.toBe(first)
  })

  it.each(['prune', 'deduplicate', 'summarize'])('shows what %s saved, as the preview predicted', (stage) => {
    const [preview, commit] = outcome.out
      .split('\n')
      .filter((line) => line.startsWith(`  ${stage} `))
      .map((line) => /-[\d,]+ +[\d,]+/.exec(line)?.[0].split(/ +/))
    expect(preview).toEqual(commit)
    expect(Number(commit?.[0]?.replaceAll(',', ''))).toBeLessThan(0)
  })

  it('undoes one stage, redoes it, then undoes the run', () => {
    const hashOf = (step: string): string | undefined => row(outcome.out, step)[3]
    expect(hashOf('compacted')).toMatch(/^[0-9a-f]{12}$/)
    expect(hashOf('undo condense')).not.toBe(hashOf('compacted'))
    expect(hashOf('redo condense')).toBe(hashOf('compacted'))
    expect(hashOf('redo prune')).toBe(hashOf('compacted'))
    expect(hashOf('undo the whole run')).toBe(hashOf('before the compaction'))
    expect(hashOf('undo the whole run')).not.toBe(hashOf('compacted'))
  })

  it('shows the audit, with what was undone in it', () => {
    const statuses = [...outcome.out.matchAll(/^ {2}…\S{6} +(\w+) +(\w+) .* demo +\S+ % full$/gm)]
    expect(statuses.map(([, kind, status]) => `${kind} ${status}`)).toEqual([
      ...['prune active', 'deduplicate active', 'condense active'],
      ...['prune undone', 'deduplicate undone', 'condense undone'],
    ])
  })

  it.concurrent('does the same again, in colours and within another width where these are asked for', async () => {
    const { code, out } = await runDemo([], { env: { FORCE_COLOR: '1', COLUMNS: '60' } })
    expect(code).toBe(0)
    expect(out).toContain(ESCAPE)
    expectWithin(out, 60)
    const plain = out.replaceAll(new RegExp(`${ESCAPE}\\[\\d+m`, 'g'), '')
    const usage = (text: string): string[] => text.match(/^ +\d+ .*?\d+\.\d %/gm) ?? []
    const figures = (text: string): string[] => usage(text).map((line) => line.slice(-6))
    expect(figures(plain)).toEqual(figures(outcome.out))
    expect(figures(plain).length).toBeGreaterThan(7)
  })

  it.concurrent('takes its folder away when it is stopped', async () => {
    const { code, left } = await runDemo([], { stopAt: 'Get to know' })
    expect({ code, left }).toEqual({ code: 128 + 15, left: [] })
  })
})

describe('a transcript', () => {
  const coding = sharedPath('corpus/coding-session.anthropic.jsonl')
  const airline = sharedPath('corpus/airline-support.openai.jsonl')

  const withCoding = coding === undefined ? it.skip : it.concurrent
  withCoding("in Anthropic's form is compacted and taken back", async () => {
    const { code, out } = await runDemo([coding!])
    expect(code).toBe(0)
    expectAllClaims(out)
    expect(out).toContain("✓ What the store gives back, in Anthropic's form again, equals the file.")
    expect(out).toContain('962 stored, 962 visible, 0 hidden')
    expectWithin(out, 80)
  })

  const withAirline = airline === undefined ? it.skip : it.concurrent
  withAirline("in OpenAI's form: of many sessions the largest", async () => {
    const { code, out } = await runDemo([airline!])
    expect(code).toBe(0)
    expectAllClaims(out)
    expect(out).toContain("✓ What the store gives back, in OpenAI's form again, equals the file.")
    expect(out).toMatch(/sessions +100 in the file; this is the largest, number \d+/)
    expect(out).toContain('the target is 50 % of its tokens')
  })

  it.concurrent('in a JSON array, with text that would steer a terminal', async () => {
    const turns = Array.from({ length: 12 }, (_, at) => [
      { role: 'user', content: `${ESCAPE}[31mred\u0007 ${'漢字 👩‍👩‍👧 '.repeat(40)} ${at}` },
      { role: 'assistant', content: [{ type: 'text', text: `answer ${at} `.repeat(30) }] },
    ])
    const { code, out } = await runDemo([fileOf('array.json', turns.flat())])
    expect(code).toBe(0)
    expectAllClaims(out)
    expect(out).not.toMatch(new RegExp(`[${ESCAPE}\u0007]`))
    expectWithin(out, 80)
  })

  it.concurrent('that wraps each message, as logs of coding agents do', async () => {
    const turns = Array.from({ length: 10 }, (_, at) => [
      { type: 'user', message: { role: 'user', content: `Question ${at} ${'and more '.repeat(30)}` } },
      { type: 'assistant', message: { role: 'assistant', content: [{ type: 'text', text: 'So it is.' }] } },
    ])
    const path = fileOf('log.jsonl', linesOf({ type: 'summary' }, ...turns.flat()))
    const { code, out } = await runDemo([path])
    expect(code).toBe(0)
    expect(out).toContain('1 entry without a message')
    expectAllClaims(out)
  })

  it.concurrent('too short to compact is reported as such', async () => {
    const path = fileOf('short.jsonl', linesOf({ role: 'user', content: 'Hello.' }))
    const { code, out } = await runDemo([path])
    expect(code).toBe(0)
    expect(out).toContain('Nothing would be done: no stage found anything it may take.')
  })

  it.concurrent.each([
    ['a file that is empty', [fileOf('empty.jsonl', '')], 'empty.jsonl is empty.'],
    [
      'a message the store refuses',
      [fileOf('refused.jsonl', { role: 'user', id: '', content: [{ type: 'reasoning', text: '' }] })],
      'refused.jsonl holds a message that cannot be stored',
    ],
    ['a file that is not there', [join(folder, 'none.jsonl')], 'There is no file'],
    ['an unknown option', ['--loud'], 'Usage: npm run demo'],
    ['two files', ['a.jsonl', 'b.jsonl'], 'One file at a time.'],
  ])('refuses %s in one sentence', async (_, args, sentence) => {
    const { code, out, err, left } = await runDemo(args)
    expect({ code, out, left, lines: err.trimEnd().split('\n').length }).toEqual({
      code: 2,
      out: '',
      left: [],
      lines: 1,
    })
    expect(err).toContain(sentence)
  })
})
