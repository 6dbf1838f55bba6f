import { resolve } from 'node:path'
import type { Command as Commander, Option } from 'commander'
import type { SqliteStore } from '../../store/open.ts'
import { statusWords } from '../../transfer/document/session-document.ts'
import type { Context } from '../command.ts'
import { EXIT } from '../errors.ts'
import { clipped } from '../output/layout.ts'
import { safeLine } from '../output/safe-text.ts'
import { allSessions } from '../references.ts'
import { kindName } from './log.ts'

/** One thing that can stand where the cursor is. */
export type Candidate = { readonly value: string; readonly about: string }

/** What is to be completed: something known at once, files, which a shell knows itself, or ids that the store knows. */
export type Wanted = Kind & {
  /** What stands before it in the same word: an option and its equals sign. */
  readonly before: string
}
type Kind =
  | { readonly kind: 'known'; readonly candidates: readonly Candidate[] }
  | { readonly kind: 'files' }
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
  // A quote that is still open is the shell's.
  const current = (words.at(-1) ?? '').replace(/^["']/, '')
  const before = readBefore(program, words.slice(0, -1))
  const { command, pending, isOperands } = before
  // bash takes the equals sign for a word of its own.
  if (pending !== undefined) return { ...valuesOf(pending, current.replace(/^=$/, '')), before: '' }
  const [, name = '', value = ''] = /^(--[^=]+)=(.*)$/s.exec(current) ?? []
  const option = optionNamed(program, command, name)
  if (option?.required === true) return { ...valuesOf(option, value), before: `${name}=` }
  if (current.startsWith('-') && !isOperands)
    return { ...known(optionsOf(program, command), current), before: '' }
  return { ...operandOf(program, before, current), before: '' }
}

function valuesOf(option: Option, current: string): Kind {
  if (/<(?:file|path)>/.test(option.flags)) return { kind: 'files' }
  if (option.flags.includes('<session>')) return { kind: 'session', beginning: current }
  return known(choicesOf(option), current)
}

function operandOf(program: Commander, { command, operands }: Before, current: string): Kind {
  if (command === undefined) return known(commandsOf(program), current)
  const all = command.registeredArguments
  const argument = all[operands.length] ?? (all.at(-1)?.variadic === true ? all.at(-1) : undefined)
  const { argChoices, description = '' } = argument ?? {}
  if (argChoices !== undefined)
    return known(
      argChoices.map((value) => ({ value, about: description })),
      current,
    )
  if (command.name() === 'help') return known(commandsOf(program), current)
  switch (argument?.name()) {
    case 'file':
      return { kind: 'files' }
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

function known(candidates: readonly Candidate[], beginning: string): Kind {
  return { kind: 'known', candidates: candidates.filter(({ value }) => value.startsWith(beginning)) }
}

type Before = {
  readonly command: Commander | undefined
  readonly operands: readonly string[]
  /** The option whose value comes next. */
  readonly pending?: Option
  /** Whether no option can follow. */
  readonly isOperands?: boolean
}

/** Reads the words before the one to be completed. */
function readBefore(program: Commander, words: readonly string[]): Before {
  let command: Commander | undefined
  let pending: Option | undefined
  const operands: string[] = []
  for (const [at, word] of words.entries()) {
    if (pending !== undefined) {
      pending = undefined
    } else if (word === '--') {
      return { command, operands: [...operands, ...words.slice(at + 1)], isOperands: true }
    } else if (word.startsWith('-')) {
      const isLast = at === words.length - 1
      const option = optionNamed(program, command, isLast ? word.replace(/=$/, '') : word)
      if (option?.required === true) pending = option
    } else if (command === undefined) {
      command = program.commands.find((one) => one.name() === word) ?? helpOf(program, word)
      if (command === undefined) return { command: program, operands: [] }
    } else {
      operands.push(word)
    }
  }
  return { command, operands, ...(pending !== undefined && { pending }) }
}

function optionNamed(program: Commander, command: Commander | undefined, name: string): Option | undefined {
  return [...(command?.options ?? []), ...program.options].find(
    ({ short, long }) => name !== '' && (name === short || name === long),
  )
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

/*
 * The scripts of the three shells. All ask the hidden command `__complete`, which answers a candidate a line, with what it is behind a
 * tab, or one line that says that files are wanted: those a shell completes itself.
 */

/** Says that files are wanted. */
export const FILES = ':files'

const BASH = `# bash completion of undertext: add to ~/.bashrc
_undertext() {
  local line
  COMPREPLY=()
  compopt +o default 2>/dev/null
  while IFS= read -r line; do
    if [[ $line == ${FILES} ]]; then
      compopt -o default 2>/dev/null
    else
      COMPREPLY+=("\${line%%$'\\t'*}")
    fi
  done < <(undertext __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _undertext undertext
`

const ZSH = `#compdef undertext
# zsh completion of undertext: save as _undertext in a folder of fpath
_undertext() {
  local -a found
  local line about
  while IFS= read -r line; do
    if [[ $line == ${FILES} ]]; then
      [[ $PREFIX == --*=* ]] && compset -P 1 '*='
      _files
      return
    fi
    # Without a description there is no colon; in one a backslash stands twice.
    about="\${\${line#*$'\\t'}//\\\\/\\\\\\\\}"
    found+=("\${line%%$'\\t'*}\${about:+:$about}")
  done < <(undertext __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)
  (( \${#found} )) && _describe -V undertext found
}
if [ "\${funcstack[1]}" = "_undertext" ]; then
  _undertext "$@"
else
  compdef _undertext undertext
fi
`

const FISH = `# fish completion of undertext: save as ~/.config/fish/completions/undertext.fish
function __undertext_complete
    set -l token (commandline -ct)
    set -l words (commandline -opc) $token
    set -l found (undertext __complete -- $words[2..-1] 2>/dev/null)
    if test (count $found) -eq 0
        return
    else if test "$found" != ${FILES}
        printf '%s\\n' $found
    else if set -l parts (string match -r -- '^(--[^=]+=)(.*)' $token)
        printf "$parts[2]%s\\n" (__fish_complete_path $parts[3])
    else
        __fish_complete_path $token
    end
end
complete -c undertext -f -k -a '(__undertext_complete)'
`

export const SCRIPTS = { bash: BASH, zsh: ZSH, fish: FISH } as const

/** So many candidates are answered. */
const MOST = 200
/** What is told of one is no wider. */
const WIDEST = 60

export async function printScript(context: Context, shell: keyof typeof SCRIPTS): Promise<number> {
  if (context.json) context.printJson({ shell, script: SCRIPTS[shell] })
  else context.out.write(SCRIPTS[shell])
  return EXIT.done
}

/** What can stand where the cursor is, a line each. It never fails: a shell would show the error in the middle of a line. */
export async function printCandidates(
  context: Context,
  program: Commander,
  written: readonly string[],
): Promise<number> {
  const words = wordsMeant(written, context.env.HOME ?? '')
  const wanted = wantedAt(program, words)
  if (wanted.kind === 'files') context.out.write(`${FILES}\n`)
  const candidates = await candidatesOf(context, wanted, words).catch(() => [])
  for (const { value, about } of candidates.slice(0, MOST))
    context.out.write(`${wanted.before}${value}\t${clipped(safeLine(about), WIDEST)}\n`)
  return EXIT.done
}

async function candidatesOf(
  context: Context,
  wanted: Wanted,
  words: readonly string[],
): Promise<readonly Candidate[]> {
  if (wanted.kind === 'known') return wanted.candidates
  if (wanted.kind === 'files') return []
  const store = await openFor(context, words)
  try {
    return wanted.kind === 'session'
      ? await sessionsOf(store, wanted.beginning)
      : await compactionsOf(context, store, wanted.session, wanted.beginning)
  } finally {
    await store.close()
  }
}

/** The store that the words name, or the one there is without them. */
async function openFor(
  { location, cwd, env, style }: Context,
  words: readonly string[],
): Promise<SqliteStore> {
  const named = storeIn(words)
  const { openAt } = await import('../store-file.ts')
  const where = named === undefined ? location : ({ path: resolve(cwd, named), from: 'option' } as const)
  const silent = { isTerminal: false, columns: 80, write: () => {} }
  return openAt(where, 'read', { env, style, err: silent })
}

async function sessionsOf(store: SqliteStore, beginning: string): Promise<Candidate[]> {
  const found: Candidate[] = []
  for await (const { id, title = '' } of allSessions(store, { search: beginning || undefined })) {
    if (id.startsWith(beginning) && isPlain(id)) found.push({ value: id, about: title })
    if (found.length === MOST) break
  }
  return beginning === '' ? [{ value: '@', about: 'the newest session' }, ...found] : found
}

async function compactionsOf(
  context: Context,
  store: SqliteStore,
  givenSession: string,
  beginning: string,
): Promise<Candidate[]> {
  const session = await context.session(store, givenSession)
  const compactions = (await store.listCompactions(session)).toReversed()
  const single = compactions.map((one) => ({
    value: one.id,
    about: `${kindName(one)}, ${statusWords(one)}`,
  }))
  const runs = [...new Set(compactions.map(({ runId }) => runId))].map((value) => ({
    value,
    about: 'a whole run',
  }))
  const found = [...single, ...runs].filter(({ value }) => value.startsWith(beginning) && isPlain(value))
  return beginning === '' ? [{ value: '@', about: 'the newest run' }, ...found] : found
}
