import { Argument, type Command } from 'commander'
import type { Context } from './command.ts'
import { DECLARATIONS } from './declarations.ts'

/** Loads the action of a command when it runs. It is called with the context, the operands, the options and the command. */
type Load = () => Promise<(context: Context, ...given: never[]) => Promise<number>>

const ACTIONS: { readonly [name in keyof typeof DECLARATIONS]: Load } = {
  sessions: async () => (await import('./commands/sessions.ts')).listSessions,
  show: async () => (await import('./commands/show.ts')).showSession,
  search: async () => (await import('./commands/search.ts')).search,
  stats: async () => (await import('./commands/stats.ts')).showStats,
  compact: async () => (await import('./commands/compact.ts')).compact,
  log: async () => (await import('./commands/log.ts')).showLog,
  requests: async () => (await import('./commands/requests.ts')).showRequests,
  diff: async () => (await import('./commands/diff.ts')).showDiff,
  fork: async () => (await import('./commands/fork.ts')).fork,
  tree: async () => (await import('./commands/fork.ts')).tree,
  'bring-back': async () => (await import('./commands/fork.ts')).bringBack,
  undo: async () => (await import('./commands/undo.ts')).undo,
  redo: async () => (await import('./commands/undo.ts')).redo,
  chat: async () => (await import('./commands/chat.ts')).chat,
  import: async () => (await import('./commands/import.ts')).importFiles,
  export: async () => (await import('./commands/export.ts')).exportSessions,
  move: async () => (await import('./commands/move.ts')).move,
  backup: async () => (await import('./commands/backup.ts')).backup,
  restore: async () => (await import('./commands/restore.ts')).restore,
  verify: async () => (await import('./commands/verify.ts')).verify,
  scan: async () => (await import('./commands/scan.ts')).scan,
  notes: async () => (await import('./commands/notes.ts')).notes,
  inspect: async () => (await import('./commands/inspect.ts')).inspect,
  mcp: async () => (await import('./commands/mcp.ts')).serveMcp,
  purge: async () => (await import('./commands/purge.ts')).purge,
  retention: async () => (await import('./commands/retention.ts')).retention,
  'purge-text': async () => (await import('./commands/purge-text.ts')).purgeText,
  doctor: async () => (await import('./commands/doctor.ts')).doctor,
  completion: async () => (await import('./commands/completion.ts')).printScript,
}

/** The commands in the order in which `--help` lists them. */
export const COMMANDS = Object.entries(DECLARATIONS).map(([name, { options, ...declared }]) => ({
  name,
  ...declared,
  action: ACTIONS[name as keyof typeof ACTIONS],
  /** Adds the operands and the options. */
  declare(command: Command): Command {
    const operands = 'operands' in declared ? Object.entries(declared.operands) : []
    for (const [written, operand] of operands) {
      if (typeof operand === 'string') command.argument(written, operand)
      else
        command.addArgument(
          new Argument(written, operand.about).choices(operand.choices).default(operand.default),
        )
    }
    for (const [field, make] of Object.entries(options)) command.addOption(make(`--${kebab(field)}`))
    return command
  },
}))

function kebab(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
}

/** Runs an action in a context of its own. */
export type Runner = (action: (context: Context) => Promise<number>) => Promise<void>

export function addCommands(program: Command, run: Runner): void {
  const runs =
    (load: Load) =>
    (...given: unknown[]): Promise<void> =>
      run(async (context) => (await load())(context, ...(given as never[])))
  for (const { name, summary, description, examples, declare, action } of COMMANDS)
    declare(program.command(name).summary(summary).description(description))
      .addHelpText('after', examplesText(examples))
      .action(runs(action))
  // The completion scripts call this.
  program
    .command('__complete [words...]', { hidden: true })
    .action(runs(async () => (await import('./commands/completion.ts')).printCandidates))
}

function examplesText(examples: { readonly [typed: string]: string }): string {
  const lines = Object.entries(examples).map(([typed, does]) => `  $ undertext ${typed}\n      ${does}`)
  return `\nExamples:\n${lines.join('\n')}\n`
}
