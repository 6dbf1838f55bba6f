import { describe, expect, it } from 'vitest'
import { openStore } from '../../src/index.ts'
import { searchLog } from '../../src/store/recall/index.ts'

/*
 * What a client adds to a user's message is not what the user says: it is no reason to find a message, and no passage shows it. What the
 * user attached, or a command printed, is found after what somebody said.
 */

const REMINDER = '<system-reminder>Remember the turbine manual of the plant.</system-reminder>'
const SELECTION =
  '<ide_selection>The user selected the lines 3 to 5 from boiler.py:\npressure = turbine_limit\n</ide_selection>'

describe('a search', () => {
  it('finds what a user typed, not the reminders of a client', async () => {
    await using store = await openStore(':memory:')
    const asked = Array.from({ length: 60 }, (_, at) => [
      { role: 'user', content: `${REMINDER}\nStep ${at + 1}, please.\n${REMINDER}` } as const,
      { role: 'assistant', content: 'It is done.' } as const,
    ]).flat()
    await store.append('s', [
      { role: 'user', content: `${REMINDER}\nWhere is the turbine manual?` },
      ...asked,
    ])
    const { hits } = await store.search('turbine manual')
    expect(hits.map(({ position }) => position)).toEqual([1])
    expect(hits[0]!.snippet.text).toBe('Where is the turbine manual?')
    expect((await store.search('remember the plant')).hits).toEqual([])
  })

  it('finds what a user attached, after what somebody said', async () => {
    await using store = await openStore(':memory:')
    await store.append('s', [
      { role: 'assistant', content: 'Hello.' },
      { role: 'user', content: 'The turbine_limit is wrong here.' },
      { role: 'assistant', content: 'I see.' },
      { role: 'user', content: 'Another thing.' },
      { role: 'assistant', content: 'Go on.' },
      { role: 'user', content: `${SELECTION}\nExplain these lines.` },
    ])
    const { hits } = await store.search('turbine_limit')
    expect(hits.map(({ position }) => position)).toEqual([2, 6])
    expect(hits[1]!.snippet.text).toContain('pressure = turbine_limit')
    const [typed] = (await store.search('explain lines')).hits
    expect(typed!.snippet.text).toBe('Explain these lines.')
  })

  it('reads such marks as text where they are not the client’s: in an answer, an output, a summary', async () => {
    await using store = await openStore(':memory:')
    await store.append('s', [
      { role: 'user', content: 'Hello.' },
      { role: 'assistant', content: REMINDER },
    ])
    expect((await store.search('turbine')).hits.map(({ position }) => position)).toEqual([2])
  })

  it('of a model finds the passage with what the user typed', async () => {
    await using store = await openStore(':memory:')
    const long = `${REMINDER}\n${'Nothing of interest happens here. '.repeat(60)}\nThe turbine hums at night.`
    await store.append('s', [
      { role: 'user', content: long },
      { role: 'assistant', content: 'Yes.' },
    ])
    const { pieces } = await searchLog(store, 's', { query: 'turbine' })
    expect(pieces).toHaveLength(1)
    expect(JSON.stringify(pieces)).toContain('hums at night')
    expect(JSON.stringify(pieces)).not.toContain('manual of the plant')
  })
})
