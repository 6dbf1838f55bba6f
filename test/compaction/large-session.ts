import { openStore } from '../../src/index.ts'

/* Run as `node large-session.ts <file> make <messages>`, or `compact` or `preview`, which print the seconds of processor time. */

const WORDS =
  'the file must never return a value instead of parser please fix error in src/core/index.ts because we decided to keep it'.split(
    ' ',
  )
const PAGE = 1_000

let state = 7
function prose(units: number): string {
  const words: string[] = []
  for (let length = 0; length < units; ) {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    const word = WORDS[state % WORDS.length]!
    words.push(word)
    length += word.length + 1
  }
  return words.join(' ')
}

/** Of ten messages one is a request, nine are calls of a tool and their results. */
function message(i: number): object {
  const [toolName, toolCallId] = [i % 4 < 2 ? 'bash' : 'read', `c${i - (i % 2)}`]
  if (i % 10 === 0) return { role: 'user', content: prose(600) }
  if (i % 2 === 1 && i % 10 > 1) {
    const output = { type: 'text', value: prose(1_000) }
    return { role: 'tool', content: [{ type: 'tool-result', toolCallId, toolName, output }] }
  }
  if (i % 10 === 1) return { role: 'assistant', content: prose(300) }
  const input =
    toolName === 'read' ? { path: `/app/src/file-${i % 977}.ts` } : { command: `npm test ${prose(40)}` }
  return {
    role: 'assistant',
    content: [
      { type: 'text', text: prose(100) },
      { type: 'tool-call', toolCallId, toolName, input },
    ],
  }
}

const [file = '', task, count = '0'] = process.argv.slice(2)
const store = await openStore(file)
if (task === 'make') {
  await store.sessions.create({ id: 's', provider: 'openai', model: 'gpt-4o' })
  for (let from = 0; from < Number(count); from += PAGE)
    await store.append('s', Array.from({ length: PAGE }, (_, i) => message(from + i)) as never)
} else {
  const before = process.cpuUsage()
  const { tokensBefore, tokensAfter } = (await (task === 'compact'
    ? store.compactSession('s')
    : store.previewCompaction('s')))!
  const { user, system } = process.cpuUsage(before)
  console.log(JSON.stringify({ seconds: (user + system) / 1_000_000, tokensBefore, tokensAfter }))
}
await store.close()
