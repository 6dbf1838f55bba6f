import { openStore } from 'undertext'
import { appendAgainstBare, appendGrowth } from './append.ts'
import { boundAgainstFree } from './bound.ts'
import { coldStart } from './cold-start.ts'
import {
  compactionTime,
  DEFAULT_PIPELINE,
  PRUNE_AND_TRUNCATE,
  undoHidden,
  undoOverlapping,
} from './compaction.ts'
import { agentSession, makeRandom, textTurn } from './conversation.ts'
import type { Folder } from './folder.ts'
import { reachingThePast } from './past.ts'
import { timed } from './rounds.ts'
import { searchAgainstBare } from './search.ts'
import { fileSize } from './size.ts'
import { statsAgainstBare, viewAgainstBare } from './view.ts'

/*
 * The parts of the benchmark. Each runs in a process of its own, so that none pays for the garbage of another;
 * what is compared with each other is within one.
 */

export const SECTIONS = {
  'append, one turn at a time': async (folder: Folder) => ({
    normal: await appendAgainstBare(folder, 'normal'),
    full: await appendAgainstBare(folder, 'full'),
  }),

  'a long session': async (folder: Folder, messages: number) => ({
    fill: await timed(() => fill(folder, 'long.db', messages)),
  }),

  'append to it, and to many': async (folder: Folder) => appendGrowth(folder, 'long.db'),

  'hide all but its end': async (folder: Folder) => {
    await fill(folder, 'thousand.db', 1_000)
    await fill(folder, 'small.db', 10_000)
    await condenseAllBut(folder, 'small.db', 50)
    return { hide: await condenseAllBut(folder, 'long.db', 999) }
  },

  views: async (folder: Folder) => {
    const [small] = await viewAgainstBare(folder, ['small.db'], 100)
    const [thousand, long] = await viewAgainstBare(folder, ['thousand.db', 'long.db'], 10)
    return { small: small!, thousand: thousand!, long: long! }
  },

  'reasoning bound to its prefix': async (folder: Folder) => boundAgainstFree(folder),

  stats: async (folder: Folder) => {
    const [thousand, long] = await statsAgainstBare(folder, ['thousand.db', 'long.db'])
    return { thousand: thousand!, long: long! }
  },

  'cold start': async (folder: Folder) => ({ milliseconds: await coldStart(folder, 'long.db') }),

  'an agent’s session': async (folder: Folder) => {
    const session = agentSession(10_000)
    await using store = await openStore(folder.file('agent.db'))
    await store.append('s', session)
    return { bytes: session.reduce((sum, { content }) => sum + JSON.stringify(content).length, 0) }
  },

  'prune and truncate': async (folder: Folder) => compactionTime(folder, 'agent.db', PRUNE_AND_TRUNCATE),

  'the default pipeline': async (folder: Folder) => compactionTime(folder, 'agent.db', DEFAULT_PIPELINE),

  'undo and redo': async (folder: Folder) => {
    await fill(folder, 'undo.db', 10_020)
    return undoHidden(folder, 'undo.db')
  },

  'undo and redo of overlaps': async (folder: Folder) => undoOverlapping(folder, 'agent.db'),

  'size of a file': async (folder: Folder) => fileSize(folder),

  'moments, forks and requests': async (folder: Folder) => reachingThePast(folder, 'long.db'),

  search: async (folder: Folder) => searchAgainstBare(folder),
}

export type Sections = typeof SECTIONS

/** One session `s` of text messages in a file, all of it visible. */
async function fill(folder: Folder, name: string, messages: number): Promise<void> {
  const random = makeRandom(11)
  await using store = await openStore(folder.file(name), { durability: 'normal' })
  const turns = Array.from({ length: 500 }, () => textTurn(random)).flat()
  for (let stored = 0; stored < messages; stored += turns.length) {
    await store.append('s', turns.slice(0, messages - stored))
  }
}

/** Hides all but the last messages behind one summary; answers the milliseconds it took. */
async function condenseAllBut(folder: Folder, name: string, last: number): Promise<number> {
  await using store = await openStore(folder.file(name))
  const { messageCount } = await store.sessions.get('s')
  return await timed(() =>
    store.compactSession('s', {
      range: { from: 1, to: messageCount - last },
      summary: 'What was said before, in short.',
    }),
  )
}
