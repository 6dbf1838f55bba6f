import { expect, it } from 'vitest'
import { entryOf } from '../../../src/adapters/claude-agent-sdk/entry.ts'
import type { SessionStoreEntry } from '../../../src/adapters/claude-agent-sdk/index.ts'
import type { ConversationEvent } from '../../../src/transfer/source.ts'
import { claudeCode } from '../../../src/transfer/sources/claude-code.ts'
import { answers, asks, beside, says, turn } from '../../claude-agent-sdk/entries.ts'
import { fileWith, readFile } from '../support/files.ts'
import { answer, boundary, call, entry, LINE, result, summary, user } from './claude-code-entries.ts'
import {
  eventsOf,
  eventsOfType,
  type Folded,
  foldEvents,
  inputOf,
  linesOf,
  notesOf,
  spokenOf,
} from './support.ts'

const NAME = '0b5e6f1a-7c1d-4e57-9a44-1f0f2b6d3c11.jsonl'
const told = (entries: readonly object[]) => inputOf(linesOf(entries), { name: NAME })
const read = async (entries: readonly object[]): Promise<Folded> =>
  foldEvents(await eventsOf(claudeCode, told(entries)))[0]!

/** Entries that follow each other. */
function chained(entries: readonly SessionStoreEntry[]): SessionStoreEntry[] {
  let parentUuid: string | null = null
  return entries.map((one) => {
    if (one.uuid === undefined) return one
    const own = { ...one, parentUuid }
    parentUuid = one.uuid
    return own
  })
}

const shown = (folded: Folded): string[] =>
  spokenOf(folded).map((row) => ('inserted' in row ? `[${row.text}]` : (row.idempotencyKey ?? '')))

it('keeps every line, in the form of the adapter', async () => {
  const entries = chained([...turn(), beside.summary, beside.title, beside.progress, beside.boundary])
  const folded = await read(entries)
  expect(folded.id).toBe('0b5e6f1a-7c1d-4e57-9a44-1f0f2b6d3c11')
  expect(folded.messages.map((message) => entryOf(message))).toEqual(entries)
  expect(shown(folded)).toHaveLength(6)
  // The first line has no uuid, the second has.
  const [first, second] = folded.messages.map(({ idempotencyKey }) => idempotencyKey)
  expect(first).toMatch(/^%line-[\w-]{22}$/)
  expect(second).toBe(entries[1]!.uuid)
  // Two lines of the same bytes are two rows.
  const twice = folded.messages.filter(({ idempotencyKey }) => /^%line-.*-2$/.test(idempotencyKey!))
  expect(twice.map((message) => entryOf(message)?.type)).toEqual(['last-prompt'])
})

it('rewound entries are hidden as soon as the conversation continues from before them', async () => {
  const entries = [...LINE, user('u3', 'a1'), answer('a3', 'u3')]
  const events = await eventsOf(claudeCode, told(entries))
  const [folded] = foldEvents(events)
  expect(shown(folded!)).toEqual(['u1', 'a1', 'u3', 'a3'])
  expect(folded!.compactions).toEqual([
    {
      id: 'rewind-u3',
      kind: 'manual',
      covers: [[3, 4]],
      createdAt: Date.parse('2026-01-02T03:04:05.678Z'),
      reason: 'rewind',
    },
  ])
  const order = events
    .filter(({ type }) => type === 'message' || type === 'compaction')
    .map(({ type }) => type)
  expect(order.indexOf('compaction')).toBe(4)
})

it('an edit of the first message takes everything back', async () => {
  // An entry that does not say what it follows follows the one before.
  const { parentUuid: _, ...open } = user('v1', null)
  expect(shown(await read([...LINE, open]))).toEqual(['u1', 'a1', 'u2', 'a2', 'v1'])
  expect(shown(await read([...LINE, user('v1', null)]))).toEqual(['v1'])
})

it('rewound entries that are continued later are restored', async () => {
  const folded = await read([...LINE, user('u3', 'a1'), user('u4', 'a2')])
  expect(shown(folded)).toEqual(['u1', 'a1', 'u2', 'a2', 'u4'])
  expect(folded.compactions).toMatchObject([
    { id: 'rewind-u3', covers: [[3, 4]], undone: true },
    { id: 'rewind-u4', covers: [[5, 5]] },
  ])
})

it('parallel calls and their results are beside each other, and are not rewound', async () => {
  const entries = [
    user('u1', null),
    call('c1', 'u1', 'm'),
    call('c2', 'c1', 'm'),
    result('r1', 'c1', 'c1'),
    result('r2', 'c2', 'c2'),
    answer('a2', 'r2'),
  ]
  const folded = await read(entries)
  expect(folded.compactions).toEqual([])
  expect(shown(folded)).toEqual(['u1', 'c1', 'c2', 'r1', 'r2', 'a2'])
  // Taken back, all of it goes.
  expect(shown(await read([...entries, user('u2', 'u1')]))).toEqual(['u1', 'u2'])
})

it('a compaction becomes a summary of all before it, which can be undone', async () => {
  const entries = [...LINE, boundary('b', 'a2'), summary('s', 'b'), user('u3', 's'), answer('a3', 'u3')]
  const folded = await read(entries)
  expect(shown(folded)).toEqual(['[s]', 'u3', 'a3'])
  expect(folded.compactions).toMatchObject([{ id: 's', kind: 'condense', covers: [[1, 4]], text: 's' }])
  // The entries of boundary and summary say nothing, and are kept.
  expect(folded.messages.slice(4, 6).map(({ content }) => content)).toEqual([[], []])
  expect(folded.messages.map((message) => entryOf(message))).toEqual(entries)

  const again = await read([...entries, boundary('b2', 'a3'), summary('s2', 'b2'), user('u4', 's2')])
  expect(shown(again)).toEqual(['[s2]', 'u4'])
  expect(again.compactions.at(-1)).toMatchObject({ id: 's2', covers: [[1, 8]] })
})

it('a rewind to before a compaction undoes it, and a continuation from after it redoes it', async () => {
  const entries = [...LINE, boundary('b', 'a2'), summary('s', 'b'), user('u3', 's'), answer('a3', 'u3')]
  const left = await read([...entries, user('u4', 'a1')])
  expect(shown(left)).toEqual(['u1', 'a1', 'u4'])
  expect(left.compactions).toMatchObject([
    { id: 's', undone: true },
    {
      id: 'rewind-u4',
      // The entries of the compaction, which say nothing, go along.
      covers: [[3, 8]],
    },
  ])
  const back = await read([...entries, user('u4', 'a1'), user('u5', 'a3')])
  expect(shown(back)).toEqual(['[s]', 'u3', 'a3', 'u5'])
})

it('what a compaction kept stays, after its summary or before it', async () => {
  const tail = { preservedMessages: { anchorUuid: 's', uuids: ['u2', 'a2'] } }
  const behind = [...LINE, boundary('b', 'a2', tail), summary('s', 'b'), user('u3', 's')]
  expect(shown(await read(behind))).toEqual(['[s]', 'u2', 'a2', 'u3'])
  // Somebody who takes back what was kept takes back what follows it too.
  expect(shown(await read([...behind, user('u4', 'u2')]))).toEqual(['[s]', 'u2', 'u4'])

  const segment = { preservedSegment: { headUuid: 'u1', anchorUuid: 'b', tailUuid: 'a1' } }
  const before = [...LINE, boundary('b', 'a2', segment), summary('s', 'b'), user('u3', 's')]
  const folded = await read(before)
  expect(shown(folded)).toEqual(['u1', 'a1', '[s]', 'u3'])
  expect(folded.compactions).toMatchObject([{ covers: [[3, 4]] }])
})

it('a compaction that kept everything hides no message', async () => {
  const all = { preservedMessages: { anchorUuid: 's', uuids: ['u1', 'a1', 'u2', 'a2'] } }
  const entries = [...LINE, boundary('b', 'a2', all), summary('s', 'b'), user('u3', 's')]
  expect(shown(await read(entries))).toEqual(['u1', 'a1', 'u2', 'a2', '[s]', 'u3'])
  // Where something stands before it, the summary is there.
  const folded = await read([{ ...beside.progress, uuid: 'p', parentUuid: null }, ...entries])
  expect(shown(folded)).toEqual(['[s]', 'u1', 'a1', 'u2', 'a2', 'u3'])
})

it('a compaction that kept half of a call covers less', async () => {
  const entries = [user('u1', null), call('c1', 'u1'), result('r1', 'c1', 'c1'), answer('a1', 'r1')]
  const tail = { preservedMessages: { anchorUuid: 's', uuids: ['r1', 'a1'] } }
  const events = await eventsOf(claudeCode, told([...entries, boundary('b', 'a1', tail), summary('s', 'b')]))
  expect(shown(foldEvents(events)[0]!)).toEqual(['[s]', 'c1', 'r1', 'a1'])
  expect(notesOf(events)).toEqual([
    'mended: a compaction that kept messages apart from each other, or separated calls from their results, covers fewer messages',
  ])
})

it('a file that begins with a summary shows it', async () => {
  const folded = await read([boundary('b', 'elsewhere'), summary('s', 'b'), user('u1', 's')])
  expect(shown(folded)).toEqual(['[s]', 'u1'])
  expect(shown(await read([summary('s', null), user('u1', 's')]))).toEqual(['[s]', 'u1'])
})

it('mends chains that are broken, and reports it', async () => {
  const events = await eventsOf(
    claudeCode,
    told([...LINE, user('u3', 'never-written'), answer('a3', 'nor-this')]),
  )
  expect(shown(foldEvents(events)[0]!)).toEqual(['u1', 'a1', 'u2', 'a2', 'u3', 'a3'])
  expect(notesOf(events)).toEqual([
    'mended: the entry that it follows is missing, so it is placed after the one before it (2 times, first here)',
  ])
  // A summary that was never written.
  const lost = await eventsOf(claudeCode, told([...LINE, boundary('b', 'a2'), user('u3', 'b')]))
  expect(shown(foldEvents(lost)[0]!)).toEqual(['u1', 'a1', 'u2', 'a2', 'u3'])
  expect(notesOf(lost)).toEqual([
    'mended: a compaction without its summary: the messages that it covered stay visible',
  ])
})

it('an entry that comes twice counts once, and another of its uuid is kept silently', async () => {
  const [first, ...rest] = LINE
  const other = { ...first!, cwd: '/elsewhere' }
  const events = await eventsOf(claudeCode, told([first!, ...rest, ...LINE, other]))
  const [folded] = foldEvents(events)
  expect(shown(folded!)).toEqual(['u1', 'a1', 'u2', 'a2'])
  expect(folded!.messages).toHaveLength(5)
  expect(entryOf(folded!.messages[4]!)).toEqual(other)
  expect(notesOf(events)).toEqual([
    'left-out: a repeated entry counts once (4 times, first here)',
    'kept: an entry whose uuid another entry already has is stored, but not sent to a model',
  ])
})

it('sidechains, errors of the API and display-only entries are no messages; a subagent’s own file has some', async () => {
  const aside = (uuid: string, parent: string) => ({ ...user(uuid, parent), isSidechain: true })
  const error = { ...answer('e', 'a2'), isApiErrorMessage: true }
  const folded = await read([...LINE, aside('x1', 'u2'), aside('x2', 'x1'), error, user('u3', 'e')])
  expect(shown(folded)).toEqual(['u1', 'a1', 'u2', 'a2', 'u3'])
  expect(folded.compactions).toEqual([])
  const agent = await read([{ ...user('x1', null as never), isSidechain: true }, aside('x2', 'x1')])
  expect(shown(agent)).toEqual(['x1', 'x2'])
})

it('what Claude Code sent otherwise than it stored is reported', async () => {
  const micro = entry('m', 'a2', { type: 'system', subtype: 'microcompact_boundary' } as never)
  const events = await eventsOf(
    claudeCode,
    told([...LINE, micro, { type: 'content-replacement', sessionId: 'x' }]),
  )
  expect(notesOf(events)).toEqual([
    'kept: tool outputs that Claude Code had cleared are shown in full',
    'kept: outputs that Claude Code had replaced are shown in full',
  ])
})

it('knows title, model, time and place', async () => {
  const fields = async (entries: readonly object[]) => {
    const [first, ...rest] = eventsOfType(await eventsOf(claudeCode, told(entries)), 'fields')
    // Before the messages, because their usage is of its models.
    expect(first).toEqual({ type: 'fields', provider: 'anthropic' })
    return rest
  }
  const metadata = {
    project: '/work',
    cwd: '/work',
    gitBranch: 'main',
    version: '2.1.330',
    sessionId: NAME.slice(0, -6),
  }
  const createdAt = Date.parse('2026-01-02T03:04:05.678Z')
  const known = { type: 'fields', model: 'claude-sonnet-4-5', createdAt, metadata }
  const ours = { type: 'summary', summary: 'Ours', leafUuid: 'a1' }
  const others = { type: 'summary', summary: 'Of another session', leafUuid: 'not-here' }
  expect(await fields([ours, others, ...LINE])).toEqual([{ ...known, title: 'Ours', formerTitles: ['u1'] }])
  const ai = { type: 'ai-title', aiTitle: 'Made up', sessionId: metadata.sessionId }
  expect(await fields([ours, ...LINE, ai])).toEqual([
    { ...known, title: 'Made up', formerTitles: ['u1', 'Ours'] },
  ])
  expect(await fields([beside.title, ...LINE, ai])).toMatchObject([{ title: 'Reading' }])
  const synthetic = answers({ type: 'text', text: 'x' })
  const last = { ...synthetic, message: { ...(synthetic.message as object), model: '<synthetic>' } }
  expect(await fields([...LINE, last])).toMatchObject([{ model: 'claude-sonnet-4-5' }])
})

it('has the first words that a user typed as its title', async () => {
  const NOT_TYPED = [
    '<command-name>/clear</command-name>\n<command-message>clear</command-message>',
    '<local-command-caveat>Caveat: …</local-command-caveat>',
    '<local-command-stdout></local-command-stdout>',
    'Caveat: The messages below were generated by the user while running local commands.',
    '<bash-input>ls</bash-input>',
    '<task-notification><task-id>a1</task-id></task-notification>',
    '[Request interrupted by user]',
    '<system-reminder>As you know</system-reminder>',
    '<system-reminder>never closed',
    ' \n',
  ]
  const title = async (...entries: readonly object[]) => {
    const fields = eventsOfType(await eventsOf(claudeCode, told(entries)), 'fields')
    return fields.at(-1)?.title
  }
  const put = NOT_TYPED.map((text, at) => entry(`n${at}`, at === 0 ? null : `n${at - 1}`, asks(text)))
  const rest = [
    entry('m', 'n9', asks('Put here by a command'), { isMeta: true }),
    entry('w', 'm', asks('What a summary says'), { isCompactSummary: true }),
    entry('x', 'w', asks('Of a subagent'), { isSidechain: true }),
    result('r', 'w', 'c'),
  ]
  expect(await title(...put, ...rest)).toBeUndefined()
  const typed = asks(
    '<ide_opened_file>a.ts</ide_opened_file>\n<system-reminder>x</system-reminder> Mend  the\nkettle, please.',
  )
  expect(await title(...put, ...rest, entry('t', 'r', typed), user('u', 't'))).toBe(
    'Mend the kettle, please.',
  )
  const long = await title(entry('t', null, asks(`${'word '.repeat(200_000)}`)))
  expect([long!.length, long!.at(-1)]).toEqual([1_000, '…'])
  const blocks = {
    ...asks('x'),
    message: {
      role: 'user',
      content: [
        { type: 'text', text: '<system-reminder>y</system-reminder>' },
        { type: 'text', text: 'Second block' },
      ],
    },
  }
  expect(await title(entry('t', null, blocks))).toBe('Second block')
  const ai = { type: 'ai-title', aiTitle: 'Made up', sessionId: NAME.slice(0, -6) }
  expect(await title(user('u1', null), ai)).toBe('Made up')
})

it('has the times of its messages; lines without one have that of the line before', async () => {
  const at = (nth: number) => ({ timestamp: new Date(Date.UTC(2026, 0, nth)).toISOString() })
  const bare = { type: 'last-prompt', lastPrompt: 'x', sessionId: NAME.slice(0, -6) }
  const events = await eventsOf(
    claudeCode,
    told([bare, entry('u1', null, asks('a'), at(5)), bare, entry('a1', 'u1', says('b'), at(7)), bare]),
  )
  const times = eventsOfType(events, 'message').map(({ message }) =>
    new Date(message.createdAt!).getUTCDate(),
  )
  expect(times).toEqual([5, 5, 5, 7, 7])
})

it('reports what is wrong with a line, and continues after it', async () => {
  const text = `${linesOf([LINE[0]!])}[]\n{"type":\n${linesOf(LINE.slice(1))}{"type":"us`
  const events = await eventsOf(claudeCode, inputOf(text, { name: NAME }))
  expect(eventsOfType(events, 'problem').map(({ at, why }) => [at.line, why])).toEqual([
    [2, 'an entry must be an object with a type'],
  ])
  // Claude Code skips a line that is no JSON.
  expect(eventsOfType(events, 'note').map(({ at, kind, why }) => [at.line, kind, why])).toEqual([
    [3, 'torn', expect.stringMatching(/^it is not JSON/)],
    [7, 'left-out', 'the last line is incomplete; the next import reads it'],
  ])
  expect(shown(foldEvents(events)[0]!)).toEqual(['u1', 'a1', 'u2', 'a2'])
})

it('reads two entries on one line as it reads them on two', async () => {
  const glued = linesOf(LINE).replace('}\n{', '}{')
  const messages = async (text: string) =>
    eventsOfType(await eventsOf(claudeCode, inputOf(text, { name: NAME })), 'message')
  const apart = await messages(linesOf(LINE))
  const together = await messages(glued)
  expect(together.map(({ message }) => message)).toEqual(apart.map(({ message }) => message))
  expect(together[1]!.at).toEqual({ line: 1, column: glued.indexOf('}{') + 2 })
})

it('is named after its file, or without one by its entries', async () => {
  const named = async (name: string, rest: object) => {
    const entries = LINE.map((entry) => ({ ...entry, sessionId: 's-1', ...rest }))
    const events = await eventsOf(claudeCode, inputOf(linesOf(entries), { name }))
    const [{ id, otherwise }] = eventsOfType(events, 'conversation') as [ConversationEvent]
    return [id, otherwise]
  }
  const ofAgent = { isSidechain: true, agentId: 'a1' }
  expect(await named('x.jsonl', {})).toEqual(['x', undefined])
  expect(await named('', {})).toEqual(['s-1', undefined])
  expect(await named('', ofAgent)).toEqual(['agent-a1', 's-1/agent-a1'])
  expect(await named('agent-a1.jsonl', ofAgent)).toEqual(['agent-a1', 's-1/agent-a1'])
  expect(await named('copy.jsonl', ofAgent)).toEqual(['copy', undefined])
})

it('knows its files by their entries', () => {
  const head = (values: unknown[]) => ({ name: 'x.jsonl', shape: 'lines' as const, values })
  for (const value of [...turn(), beside.summary, beside.snapshot, beside.boundary])
    expect(claudeCode.recognizes(head([value])), value.type).toBe(true)
  for (const value of [
    { type: 'session', id: 'x' },
    { role: 'user', content: 'x' },
    { type: 'message', id: 'x' },
  ])
    expect(claudeCode.recognizes(head([value]))).toBe(false)
  expect(claudeCode.recognizes({ ...head(turn()), shape: 'list' })).toBe(false)
})

it('is recognized by its first line, where its ids are beyond the part that is read', async () => {
  const content = [{ type: 'text', text: 'x'.repeat(300_000) }]
  const first = { parentUuid: null, isSidechain: false, type: 'user', message: { role: 'user', content } }
  const path = await fileWith(NAME, [{ ...first, uuid: 'a', sessionId: 's' }])
  const { source, events } = await readFile(path)
  expect([source, events.filter(({ type }) => type === 'message').length]).toEqual(['claude-code', 1])
})
