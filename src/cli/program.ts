import { Command as Commander, CommanderError } from 'commander'
import { CliError } from './cli-error.ts'
import type { Runner } from './command.ts'
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
