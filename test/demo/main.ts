/*
 * npm run demo                  an agent works until its context is nearly full
 * npm run demo -- FILE.jsonl    the same with a transcript of your own
 *
 * One process records the conversation and ends, a second one opens the file and does the rest; this one starts
 * them and removes the temporary folder, whatever happens.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { recordAgent, recordTranscript } from './record.ts'
import { reopen } from './reopen.ts'
import { brokenClaims, paint, print } from './screen.ts'
import { UnusableFile } from './transcript.ts'

const USAGE = 'Usage: npm run demo [-- FILE.jsonl]'
/** Exit code for arguments and files that cannot be used. */
const UNUSABLE = 2

/** Starts the two processes, one after the other, over one temporary folder. Answers the exit code. */
async function supervise(file: string | undefined): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'undertext-demo-'))
  try {
    const recorded = await startAgain(['--record', folder, ...(file === undefined ? [] : ['--', file])])
    return recorded === 0 ? await startAgain(['--reopen', folder]) : recorded
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** This program in a process of its own, on the same terminal. Signals reach it first, so that we can clean up. */
function startAgain(args: readonly string[]): Promise<number> {
  const child = spawn(process.execPath, [...process.execArgv, fileURLToPath(import.meta.url), ...args], {
    stdio: 'inherit',
  })
  const pass = (signal: NodeJS.Signals): unknown => child.kill(signal)
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  for (const signal of signals) process.on(signal, pass)
  return new Promise((settle, fail) => {
    child.once('error', fail)
    child.once('close', (code, signal) => {
      for (const one of signals) process.off(one, pass)
      settle(code ?? 128 + (signal === null ? 0 : constants.signals[signal]))
    })
  })
}

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      help: { type: 'boolean', short: 'h' },
      record: { type: 'string' },
      reopen: { type: 'string' },
    },
  })
  const [file, ...more] = positionals
  if (values.help) {
    print(USAGE)
    return 0
  }
  if (more.length > 0) throw new UnusableFile(`One file at a time. ${USAGE}`)
  if (values.reopen !== undefined) await reopen(values.reopen)
  else if (values.record === undefined) return supervise(file)
  else if (file === undefined) await recordAgent(values.record)
  else await recordTranscript(values.record, file)
  return brokenClaims() === 0 ? 0 : 1
}

try {
  process.exitCode = await main()
} catch (error) {
  const isOption = (error as NodeJS.ErrnoException).code?.startsWith('ERR_PARSE_ARGS') === true
  if (!(error instanceof UnusableFile) && !isOption) throw error
  process.stderr.write(`${paint.red(isOption ? USAGE : (error as Error).message)}\n`)
  process.exitCode = UNUSABLE
}
