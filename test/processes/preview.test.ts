import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openStore, type Store } from '../../src/index.ts'
import { ONLY } from '../storage/contract/support.ts'
import { freshFolder, storeOf } from './shared-file.ts'
import { turnOf } from './turns.ts'

/* Two stores on one file in this process: what the other does falls exactly where it is wanted. */

let place: ReturnType<typeof freshFolder>
let file: string
beforeEach(() => {
  place = freshFolder()
  file = join(place.folder, 'chats.db')
})
afterEach(() => place.remove())

describe('a preview that others get in the way of', () => {
  const config = { ...ONLY.summarize, targetTokens: 500, keepRecentTokens: 200 }
  let store: Store
  let other: Store
  beforeEach(async () => {
    await storeOf(file, 's', 20)
    store = await openStore(file)
    other = await openStore(file)
  })
  afterEach(async () => {
    await store.close()
    await other.close()
  })

  /** A summarizer in whose first call something happens; it needs no model, so a preview asks it. */
  function disturbed(act: () => Promise<unknown>) {
    let calls = 0
    const summarize = async (request: {
      readonly messages: readonly object[]
    }): Promise<{ text: string }> => {
      calls += 1
      if (calls === 1) await act()
      return { text: `Of ${request.messages.length} messages.` }
    }
    return { summarizer: { name: 'slow', usesModel: false, summarize }, calls: () => calls }
  }

  test('shows the moment after: what it shows is what applying it gives', async () => {
    const { summarizer, calls } = disturbed(() =>
      other.compactSession('s', { range: { from: 1, to: 4 }, summary: 'The first turn.' }),
    )
    const preview = await store.previewCompaction('s', { ...config, summarizer })
    expect(calls()).toBe(2)
    await store.compactSession('s', preview!)
    const shown = (view: readonly { readonly content: unknown }[]): unknown =>
      view.map(({ content }) => content)
    expect(shown(preview!.messages)).toEqual(shown(await store.getEffectiveHistory('s')))
  })

  test('of a session that is purged and made anew is one of the new session', async () => {
    const { summarizer } = disturbed(async () => {
      await other.sessions.purge('s')
      // Its rows take the place of those that went, so what was planned before would read these.
      await other.append('t', turnOf('belongs to another session', 1))
      for (let turn = 1; turn <= 20; turn++) await other.append('s', turnOf('anew', turn))
    })
    const preview = await store.previewCompaction('s', { ...config, summarizer })
    const log = (await store.getMessages('s')).map(({ id }) => id)
    expect(preview!.compacted).toBe(true)
    for (const { hides } of preview!.compactions) expect(log).toEqual(expect.arrayContaining([...hides]))
    expect(JSON.stringify(preview)).not.toContain('belongs to another session')
    expect(await store.compactSession('s', preview!)).toMatchObject({ compacted: true })
  })
})
