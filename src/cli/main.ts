#!/usr/bin/env node
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeSync } from 'node:fs'
import { userInfo } from 'node:os'
import { isAbsolute, join } from 'node:path'
import type { Writable } from 'node:stream'
import { Command, CommanderError } from 'commander'
import { PACKAGE_VERSION } from '../core/version.ts'
import { unambiguousArguments } from './argv.ts'
import type { Io, Sink } from './command.ts'
import { addCommands, type Runner } from './commands.ts'
import { createContext, type GlobalOptions } from './context.ts'
import {
  CliError,
  EXIT,
  EXIT_MEANINGS,
  type ExitCode,
  type Failure,
  type FlagOf,
  failureOf,
  UNTIL_INTERRUPTED,
} from './errors.ts'
import { shownTyped, withoutAddresses } from './location.ts'
import { createStyle, hasColors, printable, sealed } from './output/safe-text.ts'

const GUIDE = `
Start here:
  $ undertext import FILE...           import conversations from files and folders, such as those of an agent
  $ undertext sessions                 list what is stored
  $ undertext show @                   the newest session, as a model would get it
  $ undertext stats @                  how full its context is
  $ undertext compact @ --dry-run      what a compaction would do
  $ undertext undo @ @                 undo the newest run

A session is named by its id, by a beginning or end of an id that no other has, or by @ for the one with the newest message.
\`undertext help COMMAND\` explains a command, with examples.
`

/**
 * Runs the program with the arguments after its name and returns the exit code. Never throws: a failure is reported on `err`, or on `out`
 * with `--json`.
 */
export async function runProgram(argv: readonly string[], io: Io): Promise<number> {
  let exit: number = EXIT.done
  const program = createProgram(argv, io, async (action) => {
    const { context, close } = await createContext(io, program.opts<GlobalOptions>())
    try {
      exit = await action(context)
    } finally {
      await close()
    }
    if (exit === UNTIL_INTERRUPTED) exit = EXIT.done
    else if (io.signal.aborted) exit = EXIT.interrupted
  })
  try {
    await program.parseAsync(unambiguousArguments(program, argv), { from: 'user' })
    return exit
  } catch (error) {
    if (!(error instanceof CommanderError))
      return report(failureOf(error, io.signal.aborted, flagsOf(program)), error, argv, io)
    if (error.exitCode === 0) return EXIT.done
    if (error.code !== 'commander.help' || program.args.length > 0)
      return report(wrongUse(error, program), error, argv, io)
    sealed(io.out, false).write(`${program.description()}\n${GUIDE}\nCommands:\n${commandLines(program)}\n`)
    return EXIT.done
  }
}

/** The program with its commands. */
export function createProgram(argv: readonly string[], io: Io, run: Runner): Command {
  const colors = hasColors(io.out, io.env, argv.includes('--no-color'))
  const out = sealed(io.out, colors)
  const style = createStyle(colors)
  const program = new Command('undertext')
    .description('Inspect, compact and undo stored LLM conversations.')
    .version(io.version, '-V, --version', 'print the version')
    .option(
      '--db <store>',
      'a file, or a server: postgres://… (default: $UNDERTEXT_DB, else a file in your data folder)',
    )
    .option('--json', 'one JSON value instead of text')
    .option('-y, --yes', 'assume yes for all prompts')
    .option('--no-color', 'no colors, like NO_COLOR=1')
    .option('--no-pager', 'never show a long text through $PAGER')
    .helpOption('-h, --help', 'print this help')
    .helpCommand('help [command]', 'print the help of a command')
    .showSuggestionAfterError()
    .exitOverride()
    .configureHelp({ showGlobalOptions: true, styleTitle: (title) => style.bold(title) })
    .configureOutput({
      writeOut: (text) => out.write(text),
      // `report` writes errors.
      writeErr: () => {},
      getOutHelpWidth: () => (io.out.isTerminal ? io.out.columns : 80),
      getOutHasColors: () => true,
    })
    .addHelpText('after', exitCodes)
  addCommands(program, run)
  return program
}

function commandLines(program: Command): string {
  // `visibleCommands` adds `help`, which is not a command of this program.
  const listed = program.createHelp().visibleCommands(program).slice(0, -1)
  const width = listed.reduce((most, command) => Math.max(most, command.name().length), 0)
  return listed.map((command) => `  ${command.name().padEnd(width)}  ${command.summary()}`).join('\n')
}

function exitCodes(): string {
  const lines = Object.entries(EXIT_MEANINGS).map(([code, meaning]) => `  ${code.padStart(3)}  ${meaning}`)
  return `\nExit codes:\n${lines.join('\n')}\n`
}

/** The options of the command that ran, by the names of their values. */
function flagsOf({ commands, args: [name] }: Command): FlagOf {
  const options = commands.find((command) => command.name() === name)?.options ?? []
  return (field) => options.find((option) => option.attributeName() === field)?.long
}

/** The failure of a wrong command line, in commander's words without its "error:". */
function wrongUse({ message, code }: CommanderError, program: Command): Failure {
  const [name = '', unknown = ''] = program.args
  // For `help` with an unknown command commander has no message.
  const text = code === 'commander.help' ? `unknown command '${unknown}'` : message
  const shown = text.replaceAll(/'([^'\n]*)'/g, (_, typed: string) => `'${shownTyped(typed)}'`)
  const [sentence = '', suggestion] = shown.replace(/^error: /, '').split('\n')
  const isCommand = program.commands.some((command) => command.name() === name)
  const help = `\`undertext ${isCommand ? `help ${name}` : '--help'}\` shows the usage.`
  const dashed = ' An id that begins with - goes after --: undertext show -- -x'
  const hint =
    suggestion?.replace(/^\(|\)$/g, '') ?? help + (code === 'commander.unknownOption' ? dashed : '')
  const full = `${sentence.replace(/^./, (letter) => letter.toUpperCase())}.`.replace(/\.\.$/, '.')
  return failureOf(new CliError('WRONG_USE', full, { hint, facts: { rule: code } }), false)
}

/** Reports a failure and returns its exit code. */
function report(failure: Failure, error: unknown, argv: readonly string[], io: Io): ExitCode {
  const { code, exit, message, facts, hint } = failure
  const options = argv.slice(0, argv.includes('--') ? argv.indexOf('--') : undefined)
  const colors = hasColors(io.err, io.env, argv.includes('--no-color'))
  const err = sealed(io.err, colors)
  const style = createStyle(colors)
  if (options.includes('--json')) {
    sealed(io.out, false).write(`${withoutAddresses(printable({ error: { code, message, facts } }))}\n`)
  } else {
    err.write(`${style.red(`undertext: ${withoutAddresses(message)}`)}\n`)
    if (hint !== undefined) err.write(`${style.dim(hint)}\n`)
  }
  if (io.env.UNDERTEXT_DEBUG === '1' && error instanceof Error)
    err.write(`${withoutAddresses(error.stack ?? '')}\n`)
  return exit
}

/* The program as a process. Nothing else in the command line uses `process`. */

/** Aborted by Ctrl-C, the end of the terminal, or a request to terminate. A second signal ends the process at once. */
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

/** Whether the store is being written: that is completed even if the reader of the output has left. */
let isChanging = false
const readerLeft = new AbortController()

/** A stream whose reader may leave before its end, as `head` does, without an error. */
function sinkOf(stream: NodeJS.WriteStream): Sink {
  let isGone = false
  stream.on('error', (error: NodeJS.ErrnoException) => {
    isGone = true
    // Lost remarks and error messages change nothing: the exit code still reports the result.
    if (stream !== process.stdout) return
    if (error.code !== 'EPIPE') exitUnwritable(error)
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

/** Ends the process when the output cannot be written, for example to a full disk. */
function exitUnwritable({ code = 'EIO' }: NodeJS.ErrnoException): never {
  try {
    writeSync(process.stderr.fd, `undertext: The output can't be written (${code}).\n`)
  } catch {
    // Standard error is closed as well.
  }
  process.exit(EXIT.unusable)
}

/** Writes and waits until the reader can take more, or has left. */
async function pour(text: string): Promise<void> {
  if (readerLeft.signal.aborted || process.stdout.write(text)) return
  await drained(process.stdout, readerLeft.signal)
}

async function drained(stream: Writable, gone: AbortSignal): Promise<void> {
  try {
    await once(stream, 'drain', { signal: gone })
  } catch (error) {
    if (!gone.aborted) throw error
  }
}

/** Runs a pager on the terminal, writes pieces to it as it takes them, and waits for its end. */
async function page(command: string, pieces: AsyncIterable<string>): Promise<boolean> {
  const env = { LESS: 'FRX', LV: '-c', ...process.env }
  const child = spawn(command, { shell: true, stdio: ['pipe', 'inherit', 'inherit'], env })
  const gone = new AbortController()
  const exit = new Promise<boolean>((resolve) => {
    child.on('error', () => resolve(false))
    // The shell exits with 126 or 127 if it cannot start the pager; then nothing was shown.
    child.on('close', (code) => resolve(code !== 126 && code !== 127))
  }).finally(() => gone.abort())
  child.stdin.on('error', () => gone.abort())
  try {
    for await (const piece of pieces) {
      if (!child.stdin.write(piece)) await drained(child.stdin, gone.signal)
      if (gone.signal.aborted) break
    }
  } finally {
    child.stdin.end()
    await exit
  }
  return exit
}

/** The per-user data folder. With an empty HOME or a relative XDG_DATA_HOME the path would depend on the working directory. */
async function dataFolder(): Promise<string> {
  const { data } = (await import('env-paths')).default('undertext', { suffix: '' })
  return isAbsolute(data) ? data : join(userInfo().homedir, '.local', 'share', 'undertext')
}

process.exitCode = await runProgram(process.argv.slice(2), {
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
})
