import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { runCli } from '../support/cli-run.ts'
import { type SmallStore, smallStore } from '../support/cli-store.ts'

let small: SmallStore
beforeEach(async () => {
  small = await smallStore()
  await small.change(async (store) => {
    await store.notes.add('The plug is loose.', { session: 'talk', key: 'plug' })
    await store.notes.add('Ann drinks tea.', { owner: 'ann' })
  })
})
afterEach(() => small.remove())

const run = async (...argv: string[]) => runCli([...argv, '--db', small.path])
const texts = (json: unknown): string[] =>
  (json as { notes: { text: string }[] }).notes.map(({ text }) => text)
const listed = async (...argv: string[]): Promise<string[]> =>
  texts((await run('notes', ...argv, '--json')).json)

describe('notes', () => {
  it('lists those of a session with those of its owner, newest first', async () => {
    const { exit, lines } = await run('notes')
    expect(exit).toBe(0)
    expect(lines[0]!.split(/ {2,}/).slice(0, 3)).toEqual(['NOTE', 'TEXT', 'KEY'])
    expect(lines[1]).toContain('Ann drinks tea.')
    expect(lines[2]).toMatch(/^[0-9a-f-]{36} +The plug is loose\. +plug +session /)
    expect(await listed('--session', 'tal')).toEqual(['Ann drinks tea.', 'The plug is loose.'])
    expect(await listed('list', '--owner', 'ann')).toEqual(['Ann drinks tea.'])
    expect(await listed('--session', 'talk', '--key', 'plug')).toEqual(['The plug is loose.'])
    expect(await listed('--session', 'talk', '--limit', '1')).toEqual(['Ann drinks tea.'])
    expect((await run('notes', '--session', 'older')).out).toBe('No notes.\n')
  })

  it('finds notes by their words', async () => {
    expect(await listed('--session', 'talk', '--search', 'does she drink tea?')).toEqual(['Ann drinks tea.'])
    expect(await listed('--session', 'talk', '--search', '"')).toEqual([])
  })

  it('adds a note, in place of the one of its key', async () => {
    const added = await run('notes', 'add', 'The plug is in.', '--session', 'talk', '--key', 'plug')
    expect(added).toMatchObject({
      exit: 0,
      out: expect.stringMatching(/^Remembered: note [0-9a-f-]{36}\.\n$/),
    })
    expect(await listed('--session', 'talk')).toEqual(['The plug is in.', 'Ann drinks tea.'])
    expect(await listed('--session', 'talk', '--all')).toEqual([
      'The plug is in.',
      'Ann drinks tea.',
      'The plug is loose.',
    ])
    expect((await run('notes', 'add', 'x', '--owner', 'bob', '--json')).json).toEqual({
      note: {
        ...{ id: expect.any(String), session: null, owner: 'bob', key: null, text: 'x', metadata: null },
        ...{ source: null, actor: null, createdAt: expect.any(Number), state: 'current' },
      },
    })
  })

  it('forgets a note by the end of its id, and for good when that is confirmed', async () => {
    const [note] = await small.change((store) => store.notes.list({ owner: 'ann' }))
    const end = note!.id.slice(-10)
    expect(await run('notes', 'forget', end, '--owner', 'ann')).toMatchObject({
      exit: 0,
      out: `Forgotten: note ${note!.id}.\n`,
    })
    expect(await run('notes', 'forget', note!.id)).toMatchObject({
      exit: 0,
      out: 'Nothing was changed: the note is already out of use.\n',
    })
    expect(await run('notes', 'forget', note!.id, '--purge')).toMatchObject({ exit: 130, out: '' })
    expect((await run('notes', 'forget', note!.id, '--purge', '--yes', '--json')).json).toEqual({
      ...{ noteId: note!.id, changed: true, removed: 1 },
    })
    expect(await run('notes', 'forget', note!.id)).toMatchObject({
      exit: 0,
      out: 'Nothing was changed: the note is already out of use.\n',
    })
    expect(await listed('--owner', 'ann', '--all')).toEqual([])
  })

  it('takes no line that does not say what is to be done', async () => {
    for (const argv of [
      ['add'],
      ['add', 'x'],
      ['forget'],
      ['list', 'x'],
      ['burn', 'x'],
      ['--session', 'talk', '--owner', 'ann'],
    ])
      expect((await run('notes', ...argv)).exit, argv.join(' ')).toBe(2)
    expect((await run('notes', '--session', 'nobody')).exit).toBe(3)
  })
})
