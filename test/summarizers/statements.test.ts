import { describe, expect, it } from 'vitest'
import { CallReader } from '../../src/core/summarizers/calls.ts'
import { chooseLines } from '../../src/core/summarizers/extractive/lines.ts'
import { evolution } from '../../src/core/summarizers/extractive/sections.ts'
import { lastStated, outcomeOf, weightOf } from '../../src/core/summarizers/extractive/statements.ts'
import { ExtractiveReader } from '../../src/core/summarizers/extractive.ts'
import { SUMMARY_SECTIONS } from '../../src/core/summarizers/summarizer.ts'
import { assistant, did, type Row, sectionsOf, summarize, user } from './support.ts'

describe('nothing is stated by', () => {
  it.each([
    ['an announcement', 'Let me check the parser in src/parse.ts.'],
    ['an announcement after praise', "Good, now I'll run the tests."],
    ['an announcement in German', 'Ich werde die Tests in src/parse.ts prüfen.'],
    ['an announcement in Japanese', '設定ファイルを確認します。'],
    ['praise', 'Perfect!'],
    ['knowing enough to begin', 'Now I have a complete picture of the code.'],
    ['a question', 'Shall I remove src/parse.ts too?'],
    ['an exclamation', '¡Todo está listo ahora!'],
    ['a heading', '**Files changed**'],
    ['a row of a table', '| src/parse.ts | 12 lines | changed |'],
    ['markup', '<details><summary>Tool use: read_file of src/parse.ts</summary>'],
    ['a label with a link', '**File:** `src/parse.ts:718-740`'],
    ['half of a sentence with an open bracket', 'It is called by parseAll (see the note in src/parse.ts'],
  ])('%s', (_, sentence) => {
    expect(weightOf(sentence)).toBe(0)
  })
})

it('a sentence with names, a completion and a reason states more than one without', () => {
  const plain = weightOf('The gate is old and brown.')
  const done = weightOf('The gate was repaired.')
  const reason = weightOf('The gate in src/gate.ts was repaired, because openGate() returned too early.')
  expect(plain).toBeGreaterThan(0)
  expect(done).toBeGreaterThan(plain)
  expect(reason).toBeGreaterThan(done)
})

describe('the outcome of a request', () => {
  const reply = (text: string, at = 0) => ({ text, at })

  it('is the first statement of its last reply that has any, not an announcement after it', () => {
    const replies = [
      reply('The parser in src/parse.ts was broken.'),
      reply('All 12 tests of src/parse.ts pass now. Let me know if you want more.', 1),
      reply('Now let me update the docs:', 2),
    ]
    expect(outcomeOf(replies, 200)).toBe('All 12 tests of src/parse.ts pass now.')
  })

  it('goes on where its first sentence says little, and ends before what was not completed', () => {
    const text = 'Found the root cause. The hinge in src/hinge.ts has no oil.\n\nShall I oil it?'
    expect(outcomeOf([reply(text)], 200)).toBe('Found the root cause. The hinge in src/hinge.ts has no oil.')
  })

  it('has the list under its colon, not the list of open work or of what is asked for', () => {
    const done =
      'The gate of the garden is now split into two parts:\n- `Left` opens inwards\n- `Right` opens outwards'
    expect(outcomeOf([reply(`${done}\n\nRemaining:\n- paint both`)], 200)).toBe(
      'The gate of the garden is now split into two parts: `Left` opens inwards',
    )
    expect(outcomeOf([reply('Could you please tell me:\n- the color of the gate\n- the date')], 200)).toBe('')
  })

  it('in a reply with calls is only what was completed or found; a report behind the marks of tools is the last part', () => {
    const step = { ...reply('Mirando la puerta de src/gate.ts.'), hasCalls: true }
    expect(
      outcomeOf([{ ...reply('The lock was repaired in src/lock.ts.'), hasCalls: true }, step], 200),
    ).toBe('The lock was repaired in src/lock.ts.')
    const whole = 'La puerta no abre.\n\n_[tools: Bash]_\n\nLa puerta de src/gate.ts abre otra vez.'
    expect(outcomeOf([reply(whole)], 200)).toBe('La puerta de src/gate.ts abre otra vez.')
  })

  it('is nothing when only steps were announced', () => {
    expect(outcomeOf([reply('Let me look.'), reply("I'll fix it.", 1)], 200)).toBe('')
  })
})

it('what was stated last are the statements at its end that have room, without what stands between them', () => {
  const text =
    'First, the gate was oiled. Does it move?\n\nThe hinge of the gate was replaced. The lock works again.'
  expect(lastStated([{ text, at: 3 }], 60)).toEqual({
    text: 'The hinge of the gate was replaced. The lock works again.',
    at: 3,
  })
})

it('a statement that is older than ten messages is no current work: what the calls did is', () => {
  const rows = [
    user('Repair the gate of the garden.'),
    assistant('The hinge of the gate is rusty.'),
    ...Array.from({ length: 6 }, (_, i) =>
      did(`c${i}`, 'write_file', {
        path: `/gate/part${i}.md`,
        content: 'The part moves freely again. '.repeat(20),
      }),
    ).flat(),
  ]
  const current = sectionsOf(summarize(rows))['Current Work']!.join('\n')
  expect(current).not.toContain('rusty')
  expect(current).toContain('6 files changed')
})

it('lines are chosen by their new names for their length, none twice, and at most eight names of an owner', () => {
  const owner = {}
  const line = (text: string, form?: 'name') => ({ owner, text, at: 0, weight: 0, ...(form && { form }) })
  const names = [...'abcdefghij'].map((letter) => line(`nameOf_${letter}`, 'name'))
  const lines = [
    line('alphaBeta gammaDelta'),
    line('alphaBeta gammaDelta'),
    line('nothing at all here'),
    ...names,
  ]
  const choose = (all: number, lists: number) =>
    chooseLines(
      lines,
      () => 1,
      new Set(),
      { all, lists },
      () => 0,
    )
      .get(owner)!
      .map(({ text }) => text)
  expect(choose(1_000, 1_000).filter((text) => text === 'alphaBeta gammaDelta')).toHaveLength(1)
  expect(choose(1_000, 1_000).filter((text) => text.startsWith('nameOf'))).toHaveLength(8)
  expect(choose(1_000, 1_000)).not.toContain('nothing at all here')
  // A name of eight units and its separator take ten, and the line of twenty with its marks 25.
  expect(choose(1_000, 29)).toEqual(['nameOf_a', 'nameOf_b', 'alphaBeta gammaDelta'])
  expect(choose(39, 1_000)).toEqual(['nameOf_a', 'nameOf_b', 'nameOf_c'])
})

it('lines of one form in three replies, which a client prints, are not told', () => {
  const printed = (count: number) => `Tokens: ${count}k sent, 699 received.`
  const text = summarize([
    user('Repair the gate of the garden.'),
    assistant(`The hinge was oiled.\n\n${printed(39)}`),
    user('Now the lock.'),
    assistant(`The lock was replaced.\n\n${printed(41)}`),
    user('Now the fence.'),
    assistant(`The fence was painted.\n\n${printed(7)}`),
  ])
  expect(text).not.toContain('received')
})

it('a task that the kept messages show as done is no current work', () => {
  const todo = (id: string, status: string) =>
    did(id, 'todo_update', { id: '7', content: 'Oil the hinge', status }, 'ok')
  const written = (...after: Row[]) => {
    const reader = new ExtractiveReader()
    const calls = new CallReader()
    for (const row of [user('Repair the gate.'), ...todo('a', 'in_progress')]) reader.add(row, calls.add(row))
    for (const row of after) reader.follow(row, calls.add(row))
    const request = { sessionId: 's', sections: SUMMARY_SECTIONS, maxTokens: 4_000 }
    return reader.answer({ ...request, files: { read: [], modified: [] } }).text
  }
  expect(written()).toContain('In progress: Oil the hinge')
  expect(written(...todo('b', 'completed'))).not.toContain('In progress')
})

it('what was chosen of a request is shown, also its outcome when the whole line of the request has no room', () => {
  const by = { by: 'user', at: 0, own: '' } as const
  const exchange = {
    request: { ...by, text: `Please repair the parser ${'and more '.repeat(20)}` },
    replies: [],
    commits: [],
  }
  const outcome = 'The parser reads arrays now.'
  const material = {
    conversation: { exchanges: [exchange], replies: [], isGroupTalk: false },
    previous: { lines: new Map() },
    course: new Map([[exchange, { text: `"Please repair the parser…" → ${outcome}`, outcome }]]),
    lines: new Map([[exchange, [{ owner: exchange, text: outcome, at: 1, weight: 2 }]]]),
  }
  const texts = (isPlain: boolean) =>
    evolution({ ...material, isPlain: () => isPlain } as never).map(({ text }) => text)

  expect(texts(false)).toEqual(['"Please repair the parser and more and more and more and…"', `→ ${outcome}`])
  expect(texts(true)).toEqual([`"Please repair the parser…" → ${outcome}`])
})
