import { lineCount, read, search, type Task } from './script.ts'

/** What the agent holds every file against, and so reads again and again. */
const WORDS_OF_THE_DOMAIN = 'src/core/messages/message.ts'
/** Files of one review. */
const FILES_AT_ONCE = 3

const REQUESTS: readonly ((files: string) => string)[] = [
  (files) => `Review ${files}. Only report, do not edit.`,
  (files) => `Is anything in ${files} exported that nobody imports? Do not remove it, tell me.`,
  (files) => `Hold the comments in ${files} against the code. The wording of errors must stay stable.`,
  (files) =>
    `Which functions in ${files} are hard to read? Keep in mind that the public API must not change.`,
  (files) => `Look for mistakes at the edges (empty lists, last line) in ${files}.`,
]

/** Reviews of all files in an order drawn by lot, and again from the start: as many as are asked for. */
export function* reviews(files: readonly string[], random: () => number): Generator<Task> {
  for (let number = 0; ; ) {
    const order = shuffled(files, random)
    for (let at = 0; at + FILES_AT_ONCE <= order.length; at += FILES_AT_ONCE, number++) {
      yield review(order.slice(at, at + FILES_AT_ONCE), number)
    }
    if (order.length < FILES_AT_ONCE) throw new Error('There are too few files to review.')
  }
}

function review(files: readonly string[], number: number): Task {
  const names = files.map((file) => file.slice(file.lastIndexOf('/') + 1)).join(', ')
  return {
    request: REQUESTS[number % REQUESTS.length]!(names),
    *work() {
      const answers = yield {
        ...(number % 2 === 0 && {
          thought: `These ${files.length} belong together with the words of the domain.`,
        }),
        calls: [read(WORDS_OF_THE_DOMAIN), ...files.map((file) => read(file))],
      }
      const names = answers
        .slice(1)
        .map(({ text }) => /export (?:async )?(?:function\*?|class|const) (\w+)/.exec(text)?.[1])
      const wanted = names.filter((name) => name !== undefined)
      if (wanted.length > 0) {
        yield {
          words: 'Who uses what they export? And the first of them once more, with that in mind.',
          calls: [...wanted.map((name) => search(name, 'src')), read(files[0]!)],
        }
      }
      const lines = answers.slice(1).reduce((sum, answer) => sum + lineCount(answer), 0)
      return `${lines} lines read. ${wanted.length > 0 ? `They are entered by ${wanted.join(', ')}. ` : ''}I edited nothing.`
    },
  }
}

function shuffled<T>(items: readonly T[], random: () => number): T[] {
  const order = [...items]
  for (let at = order.length - 1; at > 0; at--) {
    const other = Math.floor(random() * (at + 1))
    ;[order[at], order[other]] = [order[other]!, order[at]!]
  }
  return order
}

/** Numbers from 0 to 1, the same ones for the same seed (mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
