import { calls, failure, result, say } from '../support/conversation.ts'
import type { Step } from './turn-script.ts'

/*
 * A long piece of work on a shop: a first request, rules stated now and then, and turn after turn in which files are read,
 * searched, changed and tested. It depends on the number of the turn alone.
 */

export type { Step } from './turn-script.ts'

/** What was asked for at the very beginning, and words of it that must not be lost. */
export const FIRST_REQUEST = {
  text: 'Please build the billing service Ledgerline for the shop, with invoices, refunds and a monthly report.',
  keys: ['Ledgerline', 'refunds', 'monthly report'],
} as const

/** Rules as they come up, and the words by which they are known. */
export const CONSTRAINTS: readonly { since: number; text: string; keys: readonly string[] }[] = [
  { since: 1, text: 'You must never change anything under vendor/legacy.', keys: ['vendor/legacy'] },
  { since: 1, text: 'Always use PostgreSQL 15 and no other database.', keys: ['PostgreSQL 15'] },
  {
    since: 12,
    text: 'Amounts must always be stored as integers in cents, never as floats.',
    keys: ['integers in cents'],
  },
  { since: 45, text: 'From now on, do not call the Paynet API in tests.', keys: ['Paynet API'] },
  { since: 260, text: 'Never log the customerEmail of anybody.', keys: ['customerEmail'] },
  { since: 610, text: 'Every public function must have a test that begins with spec_.', keys: ['spec_'] },
]

const FILES = 60
const AREAS = ['invoices', 'refunds', 'reports', 'ledger', 'customers', 'taxes']

/** A turn: it is asked for something, reads and searches in parallel, changes, tests (every fifth time it fails first), answers. */
export function stepsOf(turn: number): Step[] {
  const file = fileOf(turn)
  const name = functionOf(file, turn)
  const asked = [
    ...(turn === 1 ? [FIRST_REQUEST.text] : []),
    `Task ${turn}: ${name} in ${pathOf(file)} should handle case ${1_000 + turn}.`,
    ...CONSTRAINTS.filter(({ since }) => since === turn).map(({ text }) => text),
  ]
  const fails = turn % 5 === 0
  const steps: Step[] = [
    {
      prompt: [say('user', asked.join(' '))],
      reply: [calls(['r1', 'read_file', { path: pathOf(file) }], ['s1', 'search', { text: name }])],
    },
    {
      // In the other order than they were called.
      prompt: [result('s1', hits(file, name), 'search'), result('r1', sourceOf(file, turn), 'read_file')],
      reply: [
        calls(['e1', 'edit_file', { path: pathOf(file), text: `handle case ${1_000 + turn} in ${name}` }]),
      ],
    },
    {
      prompt: [result('e1', `${pathOf(file)} was changed`, 'edit_file')],
      reply: [calls(['t1', 'run_tests', { path: testOf(file) }])],
    },
  ]
  if (fails)
    steps.push({
      prompt: [
        failure(
          't1',
          `${testOf(file)}: expected ${turn}, got ${turn + 1} (error E${4_000 + turn})`,
          'run_tests',
        ),
      ],
      reply: [calls(['t1', 'run_tests', { path: testOf(file), text: 'again' }])],
    })
  steps.push({
    prompt: [result('t1', `${testOf(file)}: all 12 tests passed`, 'run_tests')],
    reply: [
      say('assistant', `Case ${1_000 + turn} is handled by ${name} in ${pathOf(file)}. ${elsewhere(turn)}`),
    ],
  })
  return steps
}

/** The work stays with a file for some turns, moves on, and comes back now and then. */
function fileOf(turn: number): number {
  return turn % 7 === 0 ? (turn * 13) % FILES : Math.floor(turn / 6) % FILES
}

/** What an answer says of work done before: a while ago, and now and then long ago. */
function elsewhere(turn: number): string {
  const earlier = [17, ...(turn % 4 === 0 ? [Math.floor(turn / 2)] : [])].map((back) => turn - back)
  return earlier
    .filter((one) => one > 0)
    .map((one) => `It builds on ${functionOf(fileOf(one), one)} in ${pathOf(fileOf(one))}.`)
    .join(' ')
}

function pathOf(file: number): string {
  return `src/${AREAS[file % AREAS.length]}/module-${file}.ts`
}

function testOf(file: number): string {
  return `test/${AREAS[file % AREAS.length]}/module-${file}.test.ts`
}

function functionOf(file: number, turn: number): string {
  const verbs = ['compute', 'validate', 'render', 'collect', 'settle']
  return `${verbs[turn % verbs.length]}Module${file}`
}

function hits(file: number, name: string): string {
  return [1, 2, 3].map((at) => `src/app-${(file + at) % FILES}.ts:${at * 17}: ${name}(input)`).join('\n')
}

function sourceOf(file: number, turn: number): string {
  const body = (name: string): string =>
    `export function ${name}(input: Input): Output {\n  const rows = load(input.id)\n  if (rows.length === 0) return nothing(input)\n  return rows.reduce(merge, start(input, ${turn}))\n}\n`
  return [
    `import { load, merge, nothing, start } from './shared-${file}.ts'`,
    ...['compute', 'validate', 'render', 'collect', 'settle'].map((verb) => body(`${verb}Module${file}`)),
  ].join('\n')
}
