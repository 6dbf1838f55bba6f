import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import { BROKEN, UNREAD } from './exit-codes.ts'

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/**
 * Runs programs, each in a process of its own, one when the one before has ended, over one temporary folder, which
 * is removed whatever happens to them. The first failure ends it. Answers the exit code.
 */
export async function inTurn(programs: (folder: string) => readonly (readonly string[])[]): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'undertext-demo-'))
  let running: ChildProcess | undefined
  let stopped: NodeJS.Signals | undefined
  const stop = (signal: NodeJS.Signals): void => {
    stopped = signal
    running?.kill(signal)
  }
  for (const signal of SIGNALS) process.on(signal, stop)
  try {
    let answer = 0
    for (const program of programs(folder)) {
      running = spawn(process.execPath, [...process.execArgv, ...program], { stdio: 'inherit' })
      const code = await ended(running)
      if (stopped !== undefined) return codeOf(stopped)
      // Nobody reads on: that is no failure.
      if (code === UNREAD) return answer
      if (code !== 0 && code !== BROKEN) return code
      answer ||= code
    }
    return answer
  } finally {
    rmSync(folder, { recursive: true, force: true })
    for (const signal of SIGNALS) process.off(signal, stop)
  }
}

function ended(child: ChildProcess): Promise<number> {
  return new Promise((settle, fail) => {
    child.once('error', fail)
    child.once('close', (code, signal) => settle(code ?? (signal === null ? 1 : codeOf(signal))))
  })
}

/** The exit code of a program a signal has ended. */
function codeOf(signal: NodeJS.Signals): number {
  return 128 + constants.signals[signal]
}
