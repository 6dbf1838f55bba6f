import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Command } from 'commander'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { COMMANDS } from '../../src/cli/commands.ts'
import { ENDINGS, failureOf } from '../../src/cli/errors.ts'
import { type ErrorCode, type Failures, UndertextError } from '../../src/core/errors.ts'
import { Store } from '../../src/store/store.ts'
import { runCli } from '../support/cli-run.ts'
import { type SmallStore, smallStore } from '../support/cli-store.ts'

/* What the command line says about each error: in its own options, never in those of the API. */

/** Facts of each error, several where they change the message. */
const SAMPLES: { readonly [C in ErrorCode]: readonly Failures[C][] } = {
  INVALID_INPUT: [{ problems: 'sessions.fork: title: must not be empty' }],
  SESSION_NOT_FOUND: [{ sessionId: 's' }, { sessionId: '@' }],
  SESSION_EXISTS: [{ sessionId: 's' }],
  SESSION_AMBIGUOUS: [{ sessionId: 's' }],
  OWNER_REQUIRED: [{}],
  MESSAGE_NOT_FOUND: [{ sessionId: 's', messageId: 'm' }],
  TOOL_CALL_NOT_FOUND: [
    { sessionId: 's', callId: 'c' },
    { sessionId: 's', callId: 'c', position: 1 },
  ],
  COMPACTION_NOT_FOUND: [
    { sessionId: 's', compactionId: 'c' },
    { sessionId: 's', compactionId: '@' },
  ],
  POSITION_CONFLICT: [{ sessionId: 's', expected: 1, actual: 2 }],
  IDEMPOTENCY_CONFLICT: [{ sessionId: 's', idempotencyKey: 'k', messageId: 'm' }],
  MESSAGE_ID_TAKEN: [{ sessionId: 's', messageId: 'm' }],
  STALE_PLAN: [{ sessionId: 's', why: 'x', messageIds: ['m'] }],
  ILLEGAL_BOUNDARY: [
    { sessionId: 's', why: 'x', messageIds: ['m'] },
    { sessionId: 's', why: 'x', messageIds: [], stage: 'own' },
  ],
  PENDING_TOOL_CALLS: [{ sessionId: 's', messageIds: ['m'] }],
  HAS_ACTIVE_DEPENDENTS: [{ sessionId: '-s', compactionId: 'c', dependents: ['d'] }],
  HAS_FORKS: [
    { sessionId: 's', forks: ['f'] },
    { sessionId: 's', forks: Array.from({ length: 30 }, (_, at) => `f${at}`) },
  ],
  BRANCH_MOVED: [{ sessionId: 's', compactionId: 'c', messageId: 'm' }],
  CONTENT_RETIRED: [
    { sessionId: 's', compactionId: 'c', messages: 1, parts: 2, messageIds: ['m'] },
    { sessionId: 's', compactionId: 'c', messages: 2, parts: 1, messageIds: ['m', 'n'] },
  ],
  INPUT_NOT_VISIBLE: [{ sessionId: 's', compactionId: 'c', why: 'x', missing: ['m'] }],
  STAGE_FAILED: [{ sessionId: 's', stage: 'own', error: 'TypeError' }],
  COMPACTION_IN_PROGRESS: [
    { sessionId: 's', expiresAt: 0 },
    { sessionId: 's', expiresAt: 0, runId: 'r' },
  ],
  CIRCUIT_OPEN: [{ sessionId: 's', failures: 3, error: 'STALE_PLAN', openUntil: 0 }],
  JOB_NOT_FOUND: [{ jobId: 'j' }],
  REQUEST_NOT_FOUND: [
    { sessionId: 's', request: 'r1' },
    { sessionId: 's', request: '@' },
  ],
  NOTE_NOT_FOUND: [{ noteId: 'n' }],
  ABORTED: [{ sessionId: 's' }],
  ESTIMATOR_UNKNOWN: [{ sessionId: 's', estimator: 'own' }],
  TOKENIZER_UNAVAILABLE: [{ tokenizer: 'o200k_base', detail: 'it is not installed.' }],
  IN_TRANSACTION: [{ verb: 'append' }],
  STORE_CLOSED: [{}],
  STORE_READONLY: [{ verb: 'append' }, { verb: 'append', detail: 'The server accepts only reading' }],
  STORE_TOO_NEW: [{ found: 9, supported: 8 }],
  STORE_TOO_OLD: [{ found: 7, supported: 8 }],
  STORE_CORRUPT: [{ detail: 'SQLITE_CORRUPT' }],
  INTERNAL_ERROR: [{ detail: '42703' }],
  STORE_BUSY: [{ waitedMs: 5 }, { waitedMs: 5, detail: 'The server accepted no more connections' }],
  STORE_FULL: [{ detail: 'SQLITE_FULL' }],
  STORE_UNAVAILABLE: [
    { location: 'a.db', detail: 'it is a directory.' },
    { location: 'postgres://h/d', detail: 'a fork needs these messages.', advice: 'KEEP_FORKS' },
    { location: 'postgres://h/d', detail: 'a prepared statement was lost.', advice: 'UNPREPARED' },
  ],
  NOT_A_STORE: [
    { location: 'a.db', detail: 'it is no SQLite database.' },
    { location: 'a.db', detail: 'it is the database of another program.', advice: 'ADOPT' },
  ],
  CONNECTION_UNSUITABLE: [{ detail: 'it is closed.' }, { detail: 'it is read-only.', advice: 'READONLY' }],
  DRIVER_UNSUPPORTED: [{ driver: '9.0.0', node: '24.0.0', advice: 'Install another one.' }],
  DRIVER_UNAVAILABLE: [{ detail: 'it is not installed.' }, { detail: 'it is not installed.', driver: 'pg' }],
  REQUEST_INVALID: [
    { sessionId: 's', provider: 'openai', rules: ['role'], paths: ['messages.0'] },
    {
      sessionId: 's',
      provider: 'openai',
      rules: Array.from({ length: 7 }, () => 'json'),
      paths: Array.from({ length: 7 }, () => ''),
    },
  ],
  CONTEXT_BUDGET_EXCEEDED: [100, 10].map((systemPrompt) => ({
    ...{ estimatedTokens: 100, availableTokens: 50, stagesUsed: ['prune'], provider: 'openai' },
    breakdown: {
      ...{ systemPrompt, conversationHistory: 100 - systemPrompt, currentPrompt: 0 },
      ...{ toolDefinitions: 0, fileAttachments: 0 },
    },
  })),
  REQUEST_REFUSED: [
    {
      sessionId: 's',
      provider: 'openai',
      kind: 'media',
      tried: [{ kind: 'media', messageIds: ['m'], undone: true }],
    },
    { sessionId: 's', provider: 'openai', kind: 'part', path: 'messages[1].content', tried: [] },
  ],
  REDACTION_FAILED: [{ error: 'TypeError' }],
  REDACTION_REFUSED: [{ message: 0, part: 1 }],
  OUTPUT_NOT_SAVED: [{ reason: 'ENOSPC', originalSize: 5 }],
  FILES_ABORTED: [{ files: 2 }],
  MODEL_CALL_FAILED: [{ summarizer: 'own', error: 'TypeError' }],
  AI_SDK_UNAVAILABLE: [{ detail: 'It is not installed.' }],
  CLAUDE_AGENT_SDK_UNAVAILABLE: [{ detail: 'It is not installed.' }],
  SUMMARIZER_FAILED: [{ summarizer: 'own', error: 'EMPTY' }],
  STRATEGY_FAILED: [{ strategy: 'own', error: 'TypeError' }],
  HISTORY_DIVERGED: [{ sessionId: 's', position: 3, why: 'x' }],
  APPROVAL_STORED: [{ sessionId: 's', toolCallIds: ['c'] }],
  TURN_IN_PROGRESS: [{ sessionId: 's', turnId: 't', expiresAt: 1 }],
  TURN_LOST: [{ sessionId: 's', turnId: 't' }],
  OPERATION_CONFLICT: [{ sessionId: 's', operationId: 'o' }],
  HISTORY_REFUSED: [{ line: 3, why: 'x' }],
  IMPORT_DIVERGED: [{ sessionId: 's', position: 3, why: 'x' }],
  IMPORT_ABORTED: [{ file: 'a.jsonl', imported: 1 }],
  FILE_UNREADABLE: [{ file: 'a.jsonl', detail: 'it does not exist.' }],
  FILE_UNRECOGNIZED: [{ file: 'a.txt', looks: 'text that is not JSON' }],
  FILE_CHANGED: [{ file: 'a.jsonl', imported: 1 }],
  FILE_EXISTS: [{ file: 'b.db' }],
  FILE_UNWRITABLE: [{ file: 'b.db', detail: "it isn't a file." }],
  BACKUP_ABORTED: [{ file: 'b.db' }],
  NOT_SUPPORTED: [{ verb: 'backup', engine: 'PostgreSQL', page: 'docs/backup.md' }],
}
const CODES = Object.keys(ENDINGS) as ErrorCode[]

const wordsOf = (code: ErrorCode): string[] =>
  SAMPLES[code].map((facts) => {
    const { message, hint = '' } = failureOf(new UndertextError(code, facts as never), false)
    return `${message} ${hint}`
  })

const VERBS = Object.getOwnPropertyNames(Store.prototype).filter((name) => name !== 'constructor')
/** What belongs to a program: options in braces, names of functions and fields, and values that are passed. */
const OF_THE_API = [
  /\{ ?\w+: /,
  /\b\w+: (?:true|false)\b/,
  /\b[a-z]+[a-z\d]*[A-Z]\w*/,
  /\b[Pp]ass(?:ed)?\b/,
  new RegExp(`(?:^|[.;:(] )(?:${VERBS.join('|')})\\b(?!:)`),
]

describe('the words of the command line', () => {
  it.each(CODES)('of %s name nothing of the API', (code) => {
    for (const words of wordsOf(code))
      for (const pattern of OF_THE_API) expect(words.match(pattern)?.[0]).toBeUndefined()
  })

  it('name only options that the named command has', () => {
    const optionsOf = (name: string): string[] =>
      COMMANDS.find((command) => command.name === name)!
        .declare(new Command())
        .options.map(({ long }) => long!)
    let seen = 0
    for (const words of CODES.flatMap(wordsOf)) {
      let command: string | undefined
      for (const [, name, option] of words.matchAll(/undertext ([a-z-]+)|(--[a-z][a-z-]+)/g)) {
        if (name !== undefined) command = name
        else if (option !== '--db') {
          expect([words, optionsOf(command!).includes(option!)]).toEqual([words, true])
          seen++
        }
      }
    }
    expect(seen).toBeGreaterThan(5)
  })

  it('tell what an option of the API would do where the error has that as a fact', () => {
    for (const code of ['STORE_UNAVAILABLE', 'NOT_A_STORE', 'CONNECTION_UNSUITABLE'] as const)
      for (const facts of SAMPLES[code])
        if ('advice' in facts)
          expect(new UndertextError(code, facts as never).message).toMatch(/\{ \w+: |prepare: false/)
  })
})

it('no text outside of src/core/errors.ts tells in braces which option of the API to pass', () => {
  const root = join(import.meta.dirname, '..', '..', 'src')
  // A prompt of the AI SDK has no face but that of a program.
  const others = [join('core', 'errors.ts'), join('adapters', 'ai-sdk', 'middleware.ts')]
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(
    (file) => file.endsWith('.ts') && !others.includes(file),
  )
  // Words of a sentence before the braces.
  const told = /[a-z]{2,},? [a-z]{2,} \{ \w+: (?:true|false|'\w+') \}/
  const found = files.flatMap((file) =>
    readFileSync(join(root, file), 'utf8')
      .split('\n')
      .filter((line) => told.test(line) && !/^\s*(?:\*|\/)/.test(line))
      .map((line) => `${file}: ${line.trim()}`),
  )
  expect(found).toEqual([])
})

describe('an error of a command', () => {
  let small: SmallStore
  beforeAll(async () => {
    small = await smallStore()
    await small.change((store) => store.sessions.fork('talk', { id: 'talk-2' }))
  })
  afterAll(() => small.remove())
  const failing = async (...argv: string[]) => (await runCli([...argv, '--db', small.path])).err

  it('names the options of that command', async () => {
    const { id } = small.compactions[0]!
    expect(await failing('purge', 'talk', '--yes')).toBe(
      'undertext: Session "talk" has 1 fork, which needs its messages: talk-2.\n' +
        '`undertext purge --forks keep talk` keeps the messages that they need; --forks purge purges them too.\n',
    )
    expect(await failing('fork', 'talk', '--id', 'talk-2')).toBe(
      'undertext: Session "talk-2" already exists.\nChoose another id.\n',
    )
    expect(await failing('fork', 'talk', '--title', 'x'.repeat(2_000))).toBe(
      'undertext: Invalid input: --title: must not be longer than 1000 characters\n',
    )
    expect(await failing('notes', 'add', 'x', '--session', 'talk', '--key', '')).toBe(
      'undertext: Invalid input: --key: must not be empty\n',
    )
    expect(await failing('notes', 'forget', id, '--session', 'talk')).toContain(
      '`undertext notes --all --session SESSION` lists them',
    )
  })
})
