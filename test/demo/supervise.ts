import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import { UNREAD } from './screen.ts'

/** Exit code for arguments and files that cannot be used. */
export const UNUSABLE = 2
/** Exit code when something the demo claims is not so. */
export const BROKEN = 3

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/**
 * Runs a program twice, each time in a process of its own: once to record a conversation, once to open what was
 * recorded. Removes the temporary folder, whatever happens to them. Answers the exit code.
 */
export async function supervise(program: string, file: string | undefined): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'undertext-demo-'))
  let running: ChildProcess | undefined
  let stopped: NodeJS.Signals | undefined
  const stop = (signal: NodeJS.Signals): void => {
    stopped = signal
    running?.kill(signal)
  }
  const start = async (args: readonly string[]): Promise<number> => {
    running = spawn(process.execPath, [...process.execArgv, program, ...args], { stdio: 'inherit' })
    const code = await ended(running)
    return stopped === undefined ? code : 128 + constants.signals[stopped]
  }
  for (const signal of SIGNALS) process.on(signal, stop)
  try {
    const recorded = await start(['--record', folder, ...(file === undefined ? [] : ['--', file])])
    if (recorded === UNREAD) return 0
    if (recorded !== 0 && recorded !== BROKEN) return recorded
    const reopened = await start(['--reopen', folder])
    return reopened === 0 || reopened === UNREAD ? recorded : reopened
  } finally {
    rmSync(folder, { recursive: true, force: true })
    for (const signal of SIGNALS) process.off(signal, stop)
  }
}

function ended(child: ChildProcess): Promise<number> {
  return new Promise((settle, fail) => {
    child.once('error', fail)
    child.once('close', (code, signal) => {
      settle(code ?? 128 + (signal === null ? 0 : constants.signals[signal]))
    })
  })
}
