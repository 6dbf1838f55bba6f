import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { postgresServer } from './support/postgres.ts'
import { newFolder } from './support/temporary.ts'

/* The programs of `examples/`, run as examples/README.md says, each in a folder of its own. */

const run = promisify(execFile)
const REPOSITORY = join(import.meta.dirname, '..')
const EXAMPLES = join(REPOSITORY, 'examples')
const TSX = join(REPOSITORY, 'node_modules', 'tsx', 'dist', 'cli.mjs')
const programs = readdirSync(EXAMPLES).filter((name) => name.endsWith('.ts'))

type Settings = { readonly args?: readonly string[]; readonly env?: Readonly<Record<string, string>> }

/** Runs an example and returns the lines that it printed. */
async function linesOf(
  name: string,
  folder = newFolder(),
  { args = [], env = {} }: Settings = {},
): Promise<string[]> {
  const program = ['--tsconfig', join(REPOSITORY, 'tsconfig.json'), join(EXAMPLES, name), ...args]
  const { PATH = '' } = process.env
  const { stdout } = await run(process.execPath, [TSX, ...program], { cwd: folder, env: { PATH, ...env } })
  return stdout.trimEnd().split('\n')
}

it('a chat continues in the next process', async () => {
  const folder = newFolder()
  const say = (...args: string[]): Promise<string[]> => linesOf('01-chat.ts', folder, { args })
  expect(await say()).toEqual(['I do not know your name. (2 messages stored)'])
  expect(await say('My name is Ada.')).toEqual(['Your name is Ada. (4 messages stored)'])
  expect(await say('What is my name?')).toEqual(['Your name is Ada. (6 messages stored)'])
})

it('an agent loop stores the question, the call, the result and the answer', async () => {
  expect(await linesOf('02-agent-loop.ts')).toEqual([
    'It says: Buy milk.',
    ...['1 user', '2 assistant', '3 tool', '4 assistant'],
    'read_file ok',
  ])
})

it('an undo button takes back what was done last', async () => {
  expect(await linesOf('03-undo-button.ts')).toEqual([
    '30 turns: 60 messages, the last one is number 60',
    // One summary, and messages 51 to 60.
    'compacted: 11 messages, the last one is number 60',
    'one more turn: 13 messages, the last one is number 62',
    'rewound: 11 messages, the last one is number 60',
    'undo: 13 messages, the last one is number 62',
    'undo again: 62 messages, the last one is number 62',
    'redo: 13 messages, the last one is number 62',
  ])
})

it('a context meter fills by a turn of 160 tokens each time, and warns at 60 %', async () => {
  expect(await linesOf('04-context-meter.ts')).toEqual([
    '[#####...............] 160 of 650 tokens',
    '[##########..........] 320 of 650 tokens',
    // The third request has 320 + 80 tokens, which is 61.5 % of 650.
    'Warning: 60 % of the input is used',
    '[###############.....] 480 of 650 tokens',
  ])
})

it('two processes lose no message and keep turns whole', async () => {
  expect(await linesOf('05-two-processes.ts')).toEqual([
    '200 messages, numbered 1 to 200',
    'first: 100 messages',
    'second: 100 messages',
    '100 questions are followed by their answers',
  ])
})

const server = await postgresServer()

it.skipIf(server === undefined)('two stores share a conversation in PostgreSQL', async () => {
  const env = { DATABASE_URL: await server!.newDatabase() }
  expect(await linesOf('06-postgresql.ts', newFolder(), { env })).toEqual([
    '1 user: Which port does the server use?',
    '2 assistant: It uses port 8080.',
    'Found in message 2',
  ])
})

it('an import finds a message, and adds nothing the second time', async () => {
  const folder = newFolder()
  const found = 'talk 2: The late fee rounds each line.'
  expect(await linesOf('07-import-and-search.ts', folder)).toEqual(['messages: 4 new messages', found])
  expect(await linesOf('07-import-and-search.ts', folder)).toEqual(['messages: 0 new messages', found])
})

it('a fork continues apart and brings its conclusion back', async () => {
  const lines = await linesOf('08-fork.ts')
  const at = lines.indexOf('plan-b:')
  expect(lines.slice(0, 4)).toEqual([
    'plan:',
    '  1 user: Where shall we travel?',
    '  2 assistant: Norway or Portugal.',
    '  3 user: Norway, then.',
  ])
  expect(lines.slice(4, at).join('\n')).toMatch(/^ {2}4 user: .*plan-b[\s\S]*\nPortugal is best in May\.$/)
  expect(lines.slice(at + 1)).toEqual([
    '  1 user: Where shall we travel?',
    '  2 assistant: Norway or Portugal.',
    '  3 user: Portugal, then.',
    '  4 assistant: In May it is warm and not crowded.',
  ])
})

it('an earlier moment shows what the model saw then', async () => {
  expect(await linesOf('09-moment.ts')).toEqual([
    'After message 4 the model saw 4 messages: Question 1 to Answer 2',
    'Before the compaction the model saw 20 messages: Question 1 to Answer 10',
    'After the compaction the model saw 14 messages: Question 4 to Answer 10',
    'Since then 6 messages disappeared and 1 appeared',
  ])
})

it("an owner's list has pages of two, newest first, and no one else's", async () => {
  expect(await linesOf('10-owners-list.ts')).toEqual([
    'Page 1',
    '  2026-01-04 A poem',
    '  2026-01-03 A recipe',
    'Page 2',
    '  2026-01-01 Holidays',
    'Not found for ada',
  ])
})

it('an export is a page, and a copy that is restored as it was', async () => {
  const folder = newFolder()
  expect(await linesOf('11-export.ts', folder)).toEqual(['undertext: 2 messages restored', 'The same: true'])
  const page = readFileSync(join(folder, 'talk.html'), 'utf8')
  expect(page).toMatch(/^<!doctype html>/i)
  expect(page).toContain('It rounds each line. Round the sum instead.')
})

it('a deletion leaves nothing in the file', async () => {
  const folder = newFolder()
  // It can be run again.
  for (let run = 1; run <= 2; run++)
    expect(await linesOf('12-delete.ts', folder)).toEqual([
      'Before: first,second,third',
      'Erased: 2 sessions, 1 note',
      'After: third',
    ])
  const files = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'latin1'))
  const has = (text: string): boolean => files.some((file) => file.includes(text))
  expect([has('I am ben'), has('I am ada'), has('Ada lives')]).toEqual([true, false, false])
})

it('examples/README.md lists every program', () => {
  const page = readFileSync(join(EXAMPLES, 'README.md'), 'utf8')
  const listed = [...page.matchAll(/^\| \[([\w-]+\.ts)\]\(\1\) \| .+ \|$/gm)].map(([, name]) => name)
  expect(listed).toEqual(programs.toSorted())
})

it('every program has a test here', () => {
  const source = readFileSync(import.meta.filename, 'utf8')
  expect(programs.filter((name) => !source.includes(`'${name}'`))).toEqual([])
})
