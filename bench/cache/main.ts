import { parseArgs } from 'node:util'
import { filesToMeasure, readConversations } from '../retention/conversations.ts'
import { CONTESTANTS } from './contestants.ts'
import { type Outcome, replay, requestsOf } from './replay.ts'
import { madeSession } from './session.ts'

/*
 * What a session costs, turn by turn, and what its answers refer to that their request did not show any more. `--json` prints a line a
 * window; `--windows 200000,64000` and `--only ours,window` choose; other arguments name files of conversations, of which the longest
 * conversation is replayed. `--made` takes the session made of this repository's sources.
 */

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    json: { type: 'boolean', default: false },
    made: { type: 'boolean', default: false },
    windows: { type: 'string', default: '200000,64000,32000' },
    only: { type: 'string' },
  },
})

const wanted = values.only?.split(',')
const contestants = CONTESTANTS.filter(({ name }) => wanted?.includes(name) ?? true)
const windows = values.windows.split(',').map(Number)
const coding = filesToMeasure(positionals).filter((path) => positionals.length > 0 || path.includes('coding'))
const [path] = values.made ? [] : coding
if (path === undefined && !values.json) {
  process.stdout.write(
    'The corpus is not here (UNDERTEXT_SHARED names its folder): a session made of the sources of this repository is replayed.\n',
  )
}
const session =
  path === undefined
    ? madeSession()
    : readConversations(path).conversations.reduce((a, b) => (b.messages.length > a.messages.length ? b : a))
        .messages
const name = path === undefined ? 'made of the sources' : path.split('/').at(-1)!

const known = new Map()
for (const window of windows) {
  const outcomes: Outcome[] = []
  // How far a session comes that is never compacted; the others are compared up to there too.
  const plain = await replay(session, CONTESTANTS[0]!, window, undefined, known)
  const until = plain.overflowAt === 0 ? undefined : plain.overflowAt - 1
  for (const contestant of contestants) {
    const isPlain = contestant === CONTESTANTS[0]
    outcomes.push(isPlain ? plain : await replay(session, contestant, window, until, known))
  }
  process.stdout.write(
    values.json ? `${JSON.stringify({ session: name, window, outcomes })}\n` : table(window, outcomes),
  )
}

function table(window: number, outcomes: readonly Outcome[]): string {
  const total = requestsOf(session).length
  const cells = (...texts: string[]): string => texts.map((text) => text.padStart(12)).join('')
  const millions = (tokens: number): string => `${(tokens / 1e6).toFixed(3)} M`
  const lines = outcomes.map((one) => {
    const { bill, runs, between, closest, lost, referred, overflowAt } = one
    const end = overflowAt > 0 ? `overflow at request ${overflowAt}` : ''
    return (
      one.contestant.padEnd(26) +
      cells(
        `${bill.requests}`,
        millions(bill.plain),
        millions(bill.written),
        millions(bill.free),
        millions(one.billBefore.written),
        `${runs}`,
        `${between.toFixed(0)}/${closest}`,
        `${lost} of ${referred}`,
      ) +
      `  ${end}\n`
    )
  })
  const head = cells(
    'requests',
    'no cache',
    'cache 1.25',
    'cache 1.0',
    'to overflow',
    'runs',
    'between',
    'lost',
  )
  return `\n${name}: ${total} requests, a window of ${window}\n${''.padEnd(26)}${head}\n${lines.join('')}`
}
