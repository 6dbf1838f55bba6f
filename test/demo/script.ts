import type { Answer, Call } from './workbench.ts'

/*
 * What the agent is asked and how it goes about it. The words are written down, the work is not: which files it
 * opens, where it edits and what it reports follows from what its tools really answered.
 */

/** One message of the agent: what it thinks and says, and the calls it makes at once. */
export type Step = { readonly thought?: string; readonly words?: string; readonly calls: readonly Call[] }

/** A request, and the work on it: steps, each with the answers to its calls, and the words it ends with. */
export type Task = {
  readonly request: string
  readonly work: () => Generator<Step, string, readonly Answer[]>
}

export const list = (path: string): Call => ({ tool: 'list_files', input: { path } })
export const search = (text: string, path: string): Call => ({ tool: 'search', input: { text, path } })
export const run = (command: string): Call => ({ tool: 'run', input: { command } })
export const edit = (path: string, old_text: string, new_text: string): Call => ({
  tool: 'edit_file',
  input: { path, old_text, new_text },
})
export const write = (path: string, content: string): Call => ({
  tool: 'write_file',
  input: { path, content },
})
export const read = (path: string, offset?: number, limit?: number): Call => ({
  tool: 'read_file',
  input: { path, ...(offset !== undefined && { offset }), ...(limit !== undefined && { limit }) },
})

export const SYSTEM_PROMPT =
  'You are a coding agent. You work on a TypeScript project with tools that list, read, search, edit and run. ' +
  'Call several at once where they do not depend on each other. State what you changed and why.'

/** Everything an agent does before it is told to look around: with an error on the way, as there always is. */
export function openingTasks(): Task[] {
  return [getToKnow, followAnError, lengthenTheWait, countTheCodes, askZod, askDrizzle]
}

const SCRIPT = 'scripts/count-codes.mjs'
const SCRIPT_TEXT = `import { readFileSync } from 'node:fs'

const source = readFileSync('src/core/errors.ts', 'utf8')
const codes = source.match(/^  [A-Z_]+: \\{/gm) ?? []
console.log(\`\${codes.length} codes\`)
for (const code of codes) console.log(code.replace(/[^A-Z_]/g, '')
`

const getToKnow: Task = {
  request:
    'Get to know this package before you touch anything. Two rules for the whole session: never change the ' +
    'public API, so src/index.ts stays as it is, and do not add any dependency.',
  *work() {
    const [files] = yield {
      thought: 'The layout first, and the public face, since that is what must not change.',
      calls: [list('src'), read('package.json'), read('src/index.ts')],
    }
    yield {
      words: 'The face leads to two files; I read them together with the errors.',
      calls: [read('src/store/store.ts'), read('src/store/open.ts'), read('src/core/errors.ts')],
    }
    return `${filesListed(files)} source files. The public face is src/index.ts; I will not change it, nor add dependencies.`
  },
}

const followAnError: Task = {
  request: 'How does a stale plan come to be refused? Show me the way from the check to the caller.',
  *work() {
    const [hits] = yield { calls: [search('STALE_PLAN', 'src')] }
    const files = filesHit(hits)
    yield {
      thought: `It is named in ${files.length} files. Whoever throws it comes first, then whoever lets it pass.`,
      calls: files.slice(0, 3).map((file) => read(file)),
    }
    return `The error is named in ${files.length} files and passes unchanged from one to the next: ${files.join(', ')}.`
  },
}

const lengthenTheWait: Task = {
  request: 'Waiting for another connection ends after 5 seconds. Make it 8, and keep the name of the option.',
  *work() {
    const [hits] = yield { calls: [search('_MS = 5_000', 'src')] }
    const found = /^(.+?):(\d+): const (\w+) = 5_000/m.exec(hits?.text ?? '')
    if (found === null) return 'No constant of five seconds is left, so there is nothing to change.'
    const [, path = '', line = '', name = ''] = found
    const [first] = yield {
      thought: 'One constant. It is private to its file, so the public API does not change.',
      calls: [edit(path, `${name} = 5000`, `${name} = 8000`)],
    }
    if (first?.failed) {
      yield {
        words: 'The text is not there as I wrote it. I look at the lines again.',
        calls: [read(path, Math.max(1, Number(line) - 10), 30)],
      }
      yield { calls: [edit(path, `${name} = 5_000`, `${name} = 8_000`)] }
    }
    yield { calls: [read(path), search(name, 'src')] }
    return `${name} in ${path} is 8,000 ms now. The option keeps its name; no type changed.`
  },
}

const countTheCodes: Task = {
  request:
    'Write a small script, scripts/count-codes.mjs, that prints how many error codes there are and lists them. ' +
    'Plain JavaScript, it must run without a build.',
  *work() {
    yield { calls: [write(SCRIPT, SCRIPT_TEXT)] }
    const [checked] = yield {
      words: 'I check the syntax before I run it.',
      calls: [run(`node --check ${SCRIPT}`)],
    }
    if (checked?.failed) {
      yield {
        thought: 'A parenthesis is missing at the end of the last line.',
        calls: [read(SCRIPT), read('src/core/errors.ts')],
      }
      yield { calls: [edit(SCRIPT, "/[^A-Z_]/g, '')\n", "/[^A-Z_]/g, ''))\n")] }
      yield { calls: [run(`node --check ${SCRIPT}`), read(SCRIPT)] }
    }
    const [counted] = yield { calls: [run(`node ${SCRIPT}`)] }
    return `It runs and prints ${/\d+ codes/.exec(counted?.text ?? '')?.[0] ?? 'nothing'}.`
  },
}

const askZod: Task = {
  request: 'Does strictObject refuse unknown keys at every depth? Look at its source, not at your memory.',
  *work() {
    const [hits] = yield { calls: [search('unrecognized_keys', 'node_modules/zod')] }
    const places = placesHit(hits).slice(0, 4)
    yield {
      thought: 'Each place with some lines around it will do; the files are long.',
      calls: places.map(({ file, line }) => read(file, Math.max(1, line - 40), 90)),
    }
    return `The issue is named in ${places.length} places, which I read; each looks at the keys of one object, not below.`
  },
}

const askDrizzle: Task = {
  request: 'And how are text columns declared in drizzle? We must not depend on anything it does not export.',
  *work() {
    const [hits] = yield { calls: [search('SQLiteText', 'node_modules/drizzle-orm')] }
    const files = filesHit(hits).slice(0, 3)
    yield { calls: [...files.map((file) => read(file)), search('text(', 'src/storage')] }
    return `By a builder in ${files[0] ?? 'a file that is not here'}; our schema uses the exported function only.`
  },
}

/** A last look at what was changed: every file of it has been read before. */
export function closingTask(changed: readonly string[]): Task {
  return {
    request:
      'Before we stop: show that everything you changed is as agreed, and that the script still passes.',
    *work() {
      const [checked] = yield {
        thought: 'The files I changed, once more, and the check.',
        calls: [run(`node --check ${SCRIPT}`), ...changed.map((path) => read(path))],
      }
      const passes = checked?.failed === false ? 'passes' : 'does not pass'
      return `I changed ${changed.join(' and ')}. The check ${passes}, and src/index.ts is untouched.`
    },
  }
}

/** The files a search named, each once, in its order. */
export function filesHit(answer: Answer | undefined): string[] {
  return [...new Set(placesHit(answer).map(({ file }) => file))]
}

function placesHit(answer: Answer | undefined): { file: string; line: number }[] {
  return [...(answer?.text ?? '').matchAll(/^(\S+?):(\d+): /gm)].map(([, file = '', line]) => ({
    file,
    line: Number(line),
  }))
}

/** How many files a listing names, those it only counts included. */
function filesListed(answer: Answer | undefined): number {
  const more = /^… and (\d+) more$/m.exec(answer?.text ?? '')
  return more === null ? lineCount(answer) : lineCount(answer) - 1 + Number(more[1])
}

export function lineCount(answer: Answer | undefined): number {
  return (answer?.text ?? '').split('\n').length
}
