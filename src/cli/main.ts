#!/usr/bin/env node
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeSync } from 'node:fs'
import { userInfo } from 'node:os'
import { isAbsolute, join } from 'node:path'
import type { Writable } from 'node:stream'
import { PACKAGE_VERSION } from '../version.ts'
import type { Sink } from './command.ts'
import { EXIT } from './exit-codes.ts'
import type { Io } from './io.ts'
import { runProgram } from './program.ts'

/* The program as a process: the one place that looks at `process`. */

/** Ctrl-C, the end of a terminal, and whoever ends processes politely: work is taken down in order. A second time ends the process where it is. */
function interrupts(): AbortSignal {
  const controller = new AbortController()
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(name, () => {
      if (controller.signal.aborted) process.exit(EXIT.interrupted)
      controller.abort()
    })
  }
  return controller.signal
}

/** Whether something is being stored: that is brought to its end though nobody reads what is told of it. */
let isChanging = false
const readerLeft = new AbortController()

/** Whoever reads a stream may leave before its end, as `head` does: that is no error. */
function sinkOf(stream: NodeJS.WriteStream): Sink {
  let isGone = false
  stream.on('error', (error: NodeJS.ErrnoException) => {
    isGone = true
    // Remarks and errors that nobody reads change nothing: the exit code is all that is left to say it.
    if (stream !== process.stdout) return
    if (error.code !== 'EPIPE') cannotWrite(error)
    if (!isChanging) process.exit(EXIT.done)
    readerLeft.abort()
  })
  return {
    isTerminal: stream.isTTY === true,
    get columns() {
      return stream.columns || 80
    },
    get rows() {
      return stream.rows
    },
    write: (text) => {
      if (!isGone) stream.write(text)
    },
  }
}

/** A disk that is full, say. */
function cannotWrite({ code = 'EIO' }: NodeJS.ErrnoException): never {
  try {
    writeSync(process.stderr.fd, `undertext: The output cannot be written (${code}).\n`)
  } catch {
    // There is nobody to tell.
  }
  process.exit(EXIT.unusable)
}

/** Writes and waits until there is room again, or nobody left to read. */
async function pour(text: string): Promise<void> {
  if (readerLeft.signal.aborted || process.stdout.write(text)) return
  await room(process.stdout, readerLeft.signal)
}

async function room(stream: Writable, gone: AbortSignal): Promise<void> {
  try {
    await once(stream, 'drain', { signal: gone })
  } catch (error) {
    if (!gone.aborted) throw error
  }
}

/** Runs a pager on the terminal, gives it pieces as it takes them, and waits for its end. */
async function page(command: string, pieces: AsyncIterable<string>): Promise<boolean> {
  const env = { LESS: 'FRX', LV: '-c', ...process.env }
  const child = spawn(command, { shell: true, stdio: ['pipe', 'inherit', 'inherit'], env })
  const gone = new AbortController()
  const exit = new Promise<boolean>((resolve) => {
    child.on('error', () => resolve(false))
    // 126 and 127 are the shell's: it could not start it, and nothing was shown.
    child.on('close', (code) => resolve(code !== 126 && code !== 127))
  }).finally(() => gone.abort())
  child.stdin.on('error', () => gone.abort())
  try {
    for await (const piece of pieces) {
      if (!child.stdin.write(piece)) await room(child.stdin, gone.signal)
      if (gone.signal.aborted) break
    }
  } finally {
    child.stdin.end()
    await exit
  }
  return exit
}

/** Of an empty HOME, or an XDG_DATA_HOME that is no whole path, the store would be wherever one happens to be: then it is the account's own folder. */
async function dataFolder(): Promise<string> {
  const { data } = (await import('env-paths')).default('undertext', { suffix: '' })
  return isAbsolute(data) ? data : join(userInfo().homedir, '.local', 'share', 'undertext')
}

const io: Io = {
  out: sinkOf(process.stdout),
  err: sinkOf(process.stderr),
  input: process.stdin,
  env: process.env,
  cwd: process.cwd(),
  signal: interrupts(),
  readerLeft: readerLeft.signal,
  changes: () => {
    isChanging = true
  },
  version: PACKAGE_VERSION,
  dataFolder,
  pour,
  page,
}

process.exitCode = await runProgram(process.argv.slice(2), io)
