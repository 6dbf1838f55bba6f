import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { shownPieces } from '../../src/cli/output/message-text.ts'
import { runCli } from '../support/cli-run.ts'
import { minute, type SmallStore, smallStore } from '../support/cli-store.ts'

let small: SmallStore
beforeAll(async () => {
  small = await smallStore()
})
afterAll(() => small.remove())

const iso = (ms: number): string => new Date(ms).toISOString()
const show = async (...argv: string[]) => runCli(['show', ...argv, '--db', small.path])

it('shows the view, with its summary set apart', async () => {
  const { exit, lines, err } = await show('talk')
  const [condensed] = small.compactions
  const { createdAt } = (await small.change((store) => store.getEffectiveHistory('talk')))[0]!
  expect([exit, err]).toEqual([0, ''])
  expect(lines).toEqual([
    'talk · The kettle',
    '8 messages stored, 5 rows in the view; shown: the view',
    '',
    `── summary of positions 1–4 by ${condensed!.id} · ${iso(createdAt)}`,
    '  The plug was out.',
    '',
    '5 · user · 2026-03-01T10:05:00.000Z',
    '  Put it in.',
    '',
    '6 · assistant · 2026-03-01T10:06:00.000Z',
    '  Done.',
    '',
    '7 · user · 2026-03-01T10:07:00.000Z · pinned',
    '  Thank you',
    '',
    '8 · assistant · 2026-03-01T10:08:00.000Z',
    '  It boils.',
  ])
})

it('shows what is hidden, and why, with --full', async () => {
  const { lines } = await show('talk', '--full', '--from', '2', '--to', '3')
  const { id, createdAt } = small.compactions[0]!
  const hidden = `hidden: condensed by ${id}, ${iso(createdAt)}`
  expect(lines.slice(2)).toEqual([
    '',
    `2 · assistant · ${iso(minute(2))} · ${hidden}`,
    '  → look {"at":"kettle"}',
    '',
    `3 · tool · ${iso(minute(3))} · ${hidden}`,
    '  ← look, 28 B',
    '    It is cold.',
    '    Its plug is out.',
  ])
})

it('dims what is hidden on a terminal, and nothing else', async () => {
  const { out } = await runCli(['show', 'talk', '--full', '--from', '4', '--to', '5', '--db', small.path], {
    columns: 200,
  })
  const lines = out.split('\n').filter((line) => line.startsWith('\x1b[2m') && line.includes('plug'))
  expect(lines).toEqual(['\x1b[2m  No: its plug is out.\x1b[22m'])
  expect(out).toContain('\n  Put it in.\n')
})

describe('what is chosen', () => {
  const positions = async (...argv: string[]): Promise<unknown> => {
    const { json } = await show('talk', '--json', ...argv)
    return (json as { messages: { position: number | null }[] }).messages.map(({ position }) => position)
  }

  it('is by place, number and role', async () => {
    expect(await positions()).toEqual([null, 5, 6, 7, 8])
    expect(await positions('--full')).toEqual([1, 2, 3, 4, null, 5, 6, 7, 8])
    expect(await positions('--tail', '2')).toEqual([7, 8])
    expect(await positions('--limit', '2')).toEqual([null, 5])
    expect(await positions('--role', 'assistant', '--full')).toEqual([2, 4, 6, 8])
    expect(await positions('--from', '6', '--to', '7')).toEqual([6, 7])
  })
})

it('shows a summary whose compaction is undone as hidden', async () => {
  const { id } = small.compactions[0]!
  await small.change((store) => store.undoCompaction('talk', id))
  const { changedAt } = await small.change((store) => store.compactions.get('talk', id))
  const { lines } = await show('talk', '--full')
  expect(lines.filter((line) => line.includes('hidden:'))).toEqual([
    expect.stringMatching(
      new RegExp(`^── summary by ${id} · .* · hidden: its compaction ${id} was undone, ${iso(changedAt)}$`),
    ),
  ])
  await small.change((store) => store.redoCompaction('talk', id))
})

it('shows replacements, and what lies beneath them with --original', async () => {
  await small.change(async (store) => {
    const call = { type: 'tool-call', toolCallId: 'c', toolName: 'read', input: {} } as const
    const output = { type: 'text', value: 'line\n'.repeat(3_000) } as const
    await store.append('cut', [
      { role: 'user', content: 'read' },
      { role: 'assistant', content: [call] },
      { role: 'tool', content: [{ type: 'tool-result', toolCallId: 'c', toolName: 'read', output }] },
    ])
  })
  const preview = await show('cut', '--role', 'tool')
  expect(preview.out).toContain('1 part replaced')
  expect(preview.out.match(/^ {4}line$/gm)!.length).toBeLessThan(3_000)
  const original = await show('cut', '--role', 'tool', '--original')
  expect(original.out.match(/^ {4}line$/gm)).toHaveLength(3_000)
  const folded = await runCli(['show', 'cut', '--role', 'tool', '--original', '--db', small.path], {
    columns: 80,
  })
  expect(folded.lines.filter((line) => line.trim() === 'line')).toHaveLength(8)
  expect(folded.lines.at(-1)).toBe('    … 2,992 more lines; --no-fold shows all')
})

it('tells of parts in words', () => {
  const parts = [
    { type: 'reasoning', text: 'hm' },
    { type: 'image', image: new Uint8Array(1_500), mediaType: 'image/png' },
    { type: 'file', data: 'AAAA', mediaType: 'application/pdf', filename: 'a\nb.pdf' },
    { type: 'image', image: 'https://example.com/a.png' },
    { type: 'provider', provider: 'anthropic', data: { type: 'redacted_thinking' } },
    { type: 'tool-result', toolCallId: 'c', output: { type: 'error-text', value: 'no' } },
    { type: 'tool-result', toolCallId: 'c', output: { type: 'text', value: 'yes' } },
  ] as const
  expect(shownPieces(parts, true)).toEqual([
    { kind: 'reasoning', head: 'reasoning', text: 'hm' },
    { kind: 'media', text: '[image image/png, 1.5 KB]' },
    { kind: 'media', text: '[file a␊b.pdf application/pdf, 3 B]' },
    { kind: 'media', text: '[image, https://example.com/a.png]' },
    { kind: 'media', text: '[reasoning that only anthropic can read]' },
    { kind: 'failure', head: '← failed, 2 B', text: 'no' },
    { kind: 'result', head: '← 3 B', text: 'yes' },
  ])
})

describe('the pager', () => {
  const paged = async (rows: number, env: Record<string, string>, ...more: string[]) => {
    const calls: [string, string][] = []
    const ran = await runCli(['show', 'talk', '--db', small.path, ...more], {
      columns: 80,
      rows,
      env,
      page: async (command, pieces) => {
        let text = ''
        for await (const piece of pieces) text += piece
        calls.push([command, text])
        return command !== 'broken'
      },
    })
    return { calls, out: ran.out }
  }

  it('gets what is longer than the screen', async () => {
    const { calls, out } = await paged(5, {})
    expect(calls.map(([command]) => command)).toEqual(['less -R'])
    expect(calls[0]![1]).toContain('It boils.')
    expect(out).toBe('')
    expect((await paged(5, { PAGER: 'most' })).calls[0]![0]).toBe('most')
  })

  it('is left alone for a short text, with --no-pager, with PAGER=cat, and where it does not start', async () => {
    expect((await paged(500, {})).calls).toEqual([])
    expect((await paged(5, {}, '--no-pager')).calls).toEqual([])
    expect((await paged(5, { PAGER: 'cat' })).calls).toEqual([])
    expect((await paged(5, { PAGER: 'broken' })).out).toContain('It boils.')
  })
})

it('describes rows without content, empty sessions and rewound rows', async () => {
  const createdAt = minute(1)
  await small.change(async (store) => {
    await store.sessions.create({ id: 'bare' })
    await store.append('quiet', [
      { role: 'tool', content: [], createdAt },
      { role: 'user', content: 'Hello', createdAt },
    ])
    await store.rewind('quiet', { from: 'start' })
  })
  expect((await show('bare')).lines.at(-1)).toBe('It has no messages yet.')
  expect((await show('quiet')).lines.at(-1)).toBe('No rows of the view match; --full also shows hidden rows.')
  const [taken] = await small.change((store) => store.listCompactions('quiet'))
  const { lines } = await show('quiet', '--full', '--to', '1')
  expect(lines.slice(-2)).toEqual([
    `1 · tool · ${iso(createdAt)} · hidden: removed by ${taken!.id}, ${iso(taken!.createdAt)}`,
    '  (not sent to models)',
  ])
})
