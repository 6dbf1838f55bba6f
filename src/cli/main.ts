#!/usr/bin/env node
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeSync } from 'node:fs'
import { userInfo } from 'node:os'
import { isAbsolute, join } from 'node:path'
import type { Writable } from 'node:stream'
import { Command as Commander, CommanderError } from 'commander'
import { PACKAGE_VERSION } from '../version.ts'
import { CliError } from './cli-error.ts'
import type { Runner, Sink } from './command.ts'
import { COMMANDS } from './commands.ts'
import { createContext, type GlobalOptions } from './context.ts'
import { EXIT, EXIT_MEANINGS, type ExitCode } from './exit-codes.ts'
import { type Failure, failureOf } from './failure.ts'
import type { Io } from './io.ts'
import { printable } from './output/print-json.ts'
import { createStyle, hasColours, sealed } from './output/style.ts'

const GUIDE = `
Start here:
  $ undertext import FILE...           conversations from files and folders, as of an agent
  $ undertext sessions                 what is stored
  $ undertext show @                   the newest session, as a model would get it
  $ undertext stats @                  how full its context is
  $ undertext compact @ --dry-run      what a compaction would do
  $ undertext undo @ @                 take the newest compaction back

A session is named by its id, by a beginning of it that only one has, or by @ for the one changed last.
\`undertext help COMMAND\` tells more of each, with examples.
`

/**
 * Runs the program with the arguments behind its name and answers the exit code. Nothing is thrown: what went wrong was told on `err`, or
 * on `out` as JSON.
 */
export async function runProgram(argv: readonly string[], io: Io): Promise<number> {
  const told = teller(argv, io)
  let exit: number = EXIT.done
  const program = createProgram(argv, io, async (action) => {
    const { context, close } = await createContext(io, program.opts<GlobalOptions>())
    try {
      exit = await action(context)
    } finally {
      await close()
    }
    if (io.signal.aborted) exit = EXIT.interrupted
  })
  try {
    await program.parseAsync(argv, { from: 'user' })
    return exit
  } catch (error) {
    if (error instanceof CommanderError) {
      if (error.exitCode === 0) return EXIT.done
      if (error.code === 'commander.help' && program.args.length === 0) return guide(program, io)
      return told(misused(error, program), error)
    }
    return told(failureOf(error, io.signal.aborted), error)
  }
}

/** The program with all its commands. `run` runs an action in a context of its own. */
function createProgram(argv: readonly string[], io: Io, run: Runner): Commander {
  const isPlain = argv.includes('--no-color')
  const colours = { out: hasColours(io.out, io.env, isPlain), err: hasColours(io.err, io.env, isPlain) }
  const out = sealed(io.out, colours.out)
  const style = createStyle(colours.out)
  const program = new Commander('undertext')
    .description('Conversations with language models, kept whole: see, compact, undo, verify.')
    .version(io.version, '-V, --version', 'print the version')
    .option('--db <path>', 'the store (default: $UNDERTEXT_DB, else a file in your data folder)')
    .option('--json', 'one JSON value instead of text')
    .option('-y, --yes', 'answer yes to what would be asked')
    .option('--no-color', 'no colours, like NO_COLOR=1')
    .option('--no-pager', 'never show a long text through $PAGER')
    .helpOption('-h, --help', 'print this help')
    .helpCommand('help [command]', 'print the help of a command')
    .showSuggestionAfterError()
    .exitOverride()
    .configureHelp({ showGlobalOptions: true, styleTitle: (title) => style.bold(title) })
    .configureOutput({
      writeOut: (text) => out.write(text),
      // Told once, by the teller.
      writeErr: () => {},
      getOutHelpWidth: () => (io.out.isTerminal ? io.out.columns : 80),
      getOutHasColors: () => true,
    })
    .addHelpText('after', exitCodes)
  for (const command of COMMANDS) command.register(program, run)
  return program
}

/** What `undertext` alone says. */
function guide(program: Commander, io: Io): ExitCode {
  const text = `${program.description()}\n${GUIDE}\nCommands:\n${commandLines(program)}\n`
  sealed(io.out, false).write(text)
  return EXIT.done
}

function commandLines(program: Commander): string {
  const listed = program.commands.filter((command) => !(command as { _hidden?: boolean })._hidden)
  const width = Math.max(...listed.map((command) => command.name().length))
  return listed.map((command) => `  ${command.name().padEnd(width)}  ${command.summary()}`).join('\n')
}

function exitCodes(): string {
  const lines = Object.entries(EXIT_MEANINGS).map(([code, meaning]) => `  ${code.padStart(3)}  ${meaning}`)
  return `\nExit codes:\n${lines.join('\n')}\n`
}

/** Where it is told what there is: of the command that was meant, else of all. */
function whereToLook({ args, commands }: Commander): string {
  const isCommand = commands.some((command) => command.name() === args[0])
  return `\`undertext ${isCommand ? `help ${args[0]}` : '--help'}\` shows what there is.`
}

const DASHED_ID = ' An id that begins with - stands behind --: undertext show -- -x'

/** A command line that cannot be, in commander's words without its "error:". */
function misused({ message, code }: CommanderError, program: Commander): Failure {
  // Of `help` with a name that no command has commander says nothing.
  const said = code === 'commander.help' ? `unknown command '${program.args[1] ?? ''}'` : message
  const [sentence = '', suggestion] = said.replace(/^error: /, '').split('\n')
  const text = sentence.replace(/^./, (letter) => letter.toUpperCase())
  const dashed = code === 'commander.unknownOption' ? DASHED_ID : ''
  const hint = suggestion?.replace(/^\(|\)$/g, '') ?? `${whereToLook(program)}${dashed}`
  return failureOf(
    new CliError('WRONG_USE', `${text}.`.replace(/\.\.$/, '.'), { hint, facts: { rule: code } }),
    false,
  )
}

/** Tells a failure and answers its exit code. */
function teller(argv: readonly string[], io: Io): (failure: Failure, error: unknown) => ExitCode {
  const isPlain = argv.includes('--no-color')
  const options = argv.slice(0, argv.includes('--') ? argv.indexOf('--') : undefined)
  return ({ code, exit, message, facts, hint }, error) => {
    const colours = hasColours(io.err, io.env, isPlain)
    const err = sealed(io.err, colours)
    const style = createStyle(colours)
    if (options.includes('--json')) {
      const out = sealed(io.out, false)
      out.write(`${printable({ error: { code, message, facts } })}\n`)
    } else {
      err.write(`${style.red(`undertext: ${message}`)}\n`)
      if (hint !== undefined) err.write(`${style.dim(hint)}\n`)
    }
    if (io.env.UNDERTEXT_DEBUG === '1' && error instanceof Error) err.write(`${error.stack ?? ''}\n`)
    return exit
  }
}

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
