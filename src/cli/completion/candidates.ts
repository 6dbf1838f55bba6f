import type { Command as Commander, Option } from 'commander'

/** One thing that can stand where the cursor is. */
export type Candidate = { readonly value: string; readonly about: string }

/** What is to be completed: something known at once, or ids that the store knows. */
export type Wanted =
  | { readonly kind: 'known'; readonly candidates: readonly Candidate[] }
  | { readonly kind: 'session'; readonly beginning: string }
  | { readonly kind: 'compaction'; readonly session: string; readonly beginning: string }

/** What a shell may be told without quotes; an id with other characters, or one that looks like an option, is left out. */
const PLAIN = /^(?!-)[\w@%+,./-]+$/

export function isPlain(value: string): boolean {
  return PLAIN.test(value)
}

/**
 * Words as a shell hands them to its completion, as a program would get them: without quotes, `~` as the home folder, and what bash takes
 * apart at `=` in one piece. The last one is as far as it is written, and stays so.
 */
export function wordsMeant(words: readonly string[], home: string): readonly string[] {
  const before: string[] = []
  for (const word of words.slice(0, -1)) {
    const last = before.at(-1)
    if (last?.startsWith('--') === true && (word === '=' || last.endsWith('=')))
      before[before.length - 1] = last + unquoted(word, home)
    else before.push(unquoted(word, home))
  }
  return [...before, ...words.slice(-1)]
}

function unquoted(word: string, home: string): string {
  const whole = home === '' ? word : word.replace(/^~(?=\/|$)/, () => home)
  return whole.replace(
    /'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)/gs,
    (_, plain?: string, quoted?: string, escaped?: string) =>
      plain ?? escaped ?? quoted?.replace(/\\(["\\$`])/g, '$1') ?? '',
  )
}

/** What the last of these words can be. They stand behind the program's name, the last as far as it is written. */
export function wantedAt(program: Commander, words: readonly string[]): Wanted {
  const current = words.at(-1) ?? ''
  const { command, operands, pending } = readBefore(program, words.slice(0, -1))
  if (pending !== undefined) return known(choicesOf(pending), current)
  if (current.startsWith('-')) return known(optionsOf(program, command), current)
  if (command === undefined) return known(commandsOf(program), current)
  const last = command.registeredArguments.at(-1)
  const argument = command.registeredArguments[operands.length] ?? (last?.variadic ? last : undefined)
  if (argument?.argChoices !== undefined)
    return known(
      argument.argChoices.map((value) => ({ value, about: argument.description })),
      current,
    )
  if (command.name() === 'help') return known(commandsOf(program), current)
  switch (argument?.name()) {
    case 'session':
      return { kind: 'session', beginning: current }
    case 'id':
      return { kind: 'compaction', session: operands[0] ?? '@', beginning: current }
    default:
      return known([], current)
  }
}

/** The value `--db` has among the words, if it has one. */
export function storeIn(words: readonly string[]): string | undefined {
  const at = words.lastIndexOf('--db')
  const joined = words.findLast((word) => word.startsWith('--db='))
  return joined?.slice('--db='.length) ?? (at === -1 || at >= words.length - 1 ? undefined : words[at + 1])
}

function known(candidates: readonly Candidate[], beginning: string): Wanted {
  return { kind: 'known', candidates: candidates.filter(({ value }) => value.startsWith(beginning)) }
}

type Before = {
  readonly command: Commander | undefined
  readonly operands: readonly string[]
  /** The option whose value comes next. */
  readonly pending: Option | undefined
}

/** Reads the words before the one to be completed. */
function readBefore(program: Commander, words: readonly string[]): Before {
  let command: Commander | undefined
  let pending: Option | undefined
  const operands: string[] = []
  for (const word of words) {
    if (pending !== undefined) {
      pending = undefined
    } else if (word.startsWith('-')) {
      const option = [...(command?.options ?? []), ...program.options].find(
        ({ short, long }) => word === short || word === long,
      )
      if (option?.required === true) pending = option
    } else if (command === undefined) {
      command = program.commands.find((one) => one.name() === word) ?? helpOf(program, word)
      if (command === undefined) return { command: program, operands: [], pending: undefined }
    } else {
      operands.push(word)
    }
  }
  return { command, operands, pending }
}

/** Commander keeps `help` apart from the commands. */
function helpOf(program: Commander, word: string): Commander | undefined {
  return program
    .createHelp()
    .visibleCommands(program)
    .find((one) => one.name() === word)
}

function commandsOf(program: Commander): Candidate[] {
  const help = program.createHelp()
  return help
    .visibleCommands(program)
    .map((one) => ({ value: one.name(), about: help.subcommandDescription(one) }))
}

function optionsOf(program: Commander, command: Commander | undefined): Candidate[] {
  const all = [...(command?.options ?? []), ...program.options]
  const found = all.flatMap(({ long, description, hidden }) =>
    long === undefined || long === null || hidden ? [] : [{ value: long, about: description }],
  )
  return [...found, { value: '--help', about: 'print help' }]
}

function choicesOf({ argChoices = [], description }: Option): Candidate[] {
  return argChoices.map((value) => ({ value, about: description }))
}
