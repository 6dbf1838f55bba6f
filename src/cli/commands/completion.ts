import type { Command, Option } from 'commander'
import { shownTitle } from '../../core/messages/title.ts'
import type { Store } from '../../store/store.ts'
import { statusWords } from '../../transfer/document/session-document.ts'
import type { Context } from '../command.ts'
import { EXIT } from '../errors.ts'
import { locationNamed } from '../location.ts'
import { openAt } from '../open-store.ts'
import { clipped } from '../output/layout.ts'
import { safeLine } from '../output/safe-text.ts'
import { allSessions, findSession } from '../references.ts'
import { kindName } from './log.ts'

/*
 * The scripts of the three shells call the hidden command `__complete`. It prints a candidate per line, with a description after a tab, or
 * one line that requests files, which the shell completes itself.
 */

/** Requests files. */
const FILES = ':files'

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
    # Without a description there is no colon; backslashes in one are doubled.
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

export async function printScript(context: Context, shell: keyof typeof SCRIPTS): Promise<number> {
  if (context.json) context.printJson({ shell, script: SCRIPTS[shell] })
  else context.out.write(SCRIPTS[shell])
  return EXIT.done
}

/** The most candidates to print, and the width of a description. */
const MAX_CANDIDATES = 200
const MAX_WIDTH = 60

/** Prints what the last of the given words can be. Never fails: a shell would show the error in the middle of a line. */
export async function printCandidates(
  context: Context,
  written: readonly string[],
  _options: object,
  { parent }: Command,
): Promise<number> {
  const words = unquotedWords(written, context.env.HOME ?? '')
  const { prefix, found } = complete(parent!, words)
  if (found === FILES) context.out.write(`${FILES}\n`)
  else
    for (const { value, about } of (await candidatesOf(context, found, words).catch(() => [])).slice(
      0,
      MAX_CANDIDATES,
    ))
      context.out.write(`${prefix}${value}\t${clipped(safeLine(about), MAX_WIDTH)}\n`)
  return EXIT.done
}

type Candidate = { readonly value: string; readonly about: string }

/** What can complete a word: known values, files, or ids that begin so. */
type Completion =
  | readonly Candidate[]
  | typeof FILES
  | { readonly beginning: string }
  | { readonly beginning: string; readonly compactionsOf: string }

/**
 * Words as a program would receive them: without quotes, with `~` expanded, and joined again where bash split them. The last word stays as
 * typed.
 */
function unquotedWords(words: readonly string[], home: string): readonly string[] {
  const before: string[] = []
  for (const word of words.slice(0, -1)) {
    const last = before.at(-1)
    const isSplit = last?.startsWith('--') === true && (word === '=' || last.endsWith('='))
    if (isSplit || isSplitAddress(last, word)) before[before.length - 1] = last + unquoted(word, home)
    else before.push(unquoted(word, home))
  }
  return [...before, ...words.slice(-1)]
}

/** Whether a word continues the address of a server, which bash splits at `:`, `@` and `=`. */
function isSplitAddress(last: string | undefined, word: string): boolean {
  if (last === undefined || !/^(?:--db=)?postgres(?:ql)?(?::|$)/i.test(last)) return false
  return /^[:@=]+$/.test(word) || /[:@=]$/.test(last)
}

function unquoted(word: string, home: string): string {
  const whole = home === '' ? word : word.replace(/^~(?=\/|$)/, () => home)
  return whole.replace(
    /'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)/gs,
    (_, plain?: string, quoted?: string, escaped?: string) =>
      plain ?? escaped ?? quoted?.replace(/\\(["\\$`])/g, '$1') ?? '',
  )
}

/** What completes the last word. `prefix` is the part of the word before it: an option and its equals sign. */
function complete(
  program: Command,
  words: readonly string[],
): { readonly prefix: string; readonly found: Completion } {
  // The shell handles a quote that is still open.
  const current = (words.at(-1) ?? '').replace(/^["']/, '')
  const { command, operands, pending, isOperands } = readBefore(program, words.slice(0, -1))
  // bash passes the equals sign as a word of its own.
  if (pending !== undefined) return { prefix: '', found: valuesOf(pending, current.replace(/^=$/, '')) }
  const [, name = '', value = ''] = /^(--[^=]+)=(.*)$/s.exec(current) ?? []
  const option = optionNamed(program, command, name)
  if (option?.required === true) return { prefix: `${name}=`, found: valuesOf(option, value) }
  if (current.startsWith('-') && isOperands !== true)
    return { prefix: '', found: beginningWith(current, optionsOf(program, command)) }
  return { prefix: '', found: operandsOf(program, command, operands, current) }
}

type Before = {
  readonly command: Command | undefined
  readonly operands: readonly string[]
  /** The option whose value comes next. */
  readonly pending?: Option | undefined
  /** Whether no option can follow. */
  readonly isOperands?: true
}

/** Reads the words before the one to be completed. */
function readBefore(program: Command, words: readonly string[]): Before {
  let command: Command | undefined
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
      command = visibleCommands(program).find((one) => one.name() === word)
      if (command === undefined) return { command: program, operands: [] }
    } else operands.push(word)
  }
  return { command, operands, pending }
}

function optionNamed(program: Command, command: Command | undefined, name: string): Option | undefined {
  return [...(command?.options ?? []), ...program.options].find(
    ({ short, long }) => name !== '' && (name === short || name === long),
  )
}

/** The commands that help lists, and `help` itself, which commander keeps apart. */
function visibleCommands(program: Command): Command[] {
  return program.createHelp().visibleCommands(program)
}

function valuesOf({ flags, argChoices = [], description }: Option, current: string): Completion {
  if (/<(?:file|path|store)>/.test(flags)) return FILES
  if (flags.includes('<session>')) return { beginning: current }
  return choices(current, argChoices, description)
}

function operandsOf(
  program: Command,
  command: Command | undefined,
  operands: readonly string[],
  current: string,
): Completion {
  if (command === undefined || command.name() === 'help')
    return beginningWith(
      current,
      visibleCommands(program).map((one) => ({
        value: one.name(),
        about: one.summary() || one.description(),
      })),
    )
  const all = command.registeredArguments
  const argument = all[operands.length] ?? (all.at(-1)?.variadic === true ? all.at(-1) : undefined)
  if (argument?.argChoices !== undefined) return choices(current, argument.argChoices, argument.description)
  switch (argument?.name()) {
    case 'file':
      return FILES
    case 'session':
      return { beginning: current }
    case 'id':
      return { beginning: current, compactionsOf: operands[0] ?? '@' }
    default:
      return []
  }
}

function optionsOf(program: Command, command: Command | undefined): Candidate[] {
  const all = [...(command?.options ?? []), ...program.options]
  const found = all.flatMap(({ long, description, hidden }) =>
    !long || hidden ? [] : [{ value: long, about: description }],
  )
  return [...found, { value: '--help', about: 'print help' }]
}

function choices(beginning: string, values: readonly string[], about: string): Candidate[] {
  return beginningWith(
    beginning,
    values.map((value) => ({ value, about })),
  )
}

function beginningWith(beginning: string, candidates: readonly Candidate[]): Candidate[] {
  return candidates.filter(({ value }) => value.startsWith(beginning))
}

async function candidatesOf(
  context: Context,
  found: Exclude<Completion, typeof FILES>,
  words: readonly string[],
): Promise<readonly Candidate[]> {
  if (!('beginning' in found)) return found
  const { beginning } = found
  const store = await openNamed(context, words)
  try {
    const ids =
      'compactionsOf' in found
        ? await compactionIds(store, await findSession(store, found.compactionsOf))
        : await sessionIds(store, beginning)
    // Ids that a shell would interpret, or that look like an option, are left out.
    const plain = beginningWith(beginning, ids).filter(({ value }) => /^(?!-)[\w@%+,./-]+$/.test(value))
    const what = 'compactionsOf' in found ? 'run' : 'session'
    return beginning === '' ? [{ value: '@', about: `the newest ${what}` }, ...plain] : plain
  } finally {
    await store.close()
  }
}

/** Opens the store that the words name, else the store of this run. */
async function openNamed({ location, cwd, env, style }: Context, words: readonly string[]): Promise<Store> {
  const at = words.lastIndexOf('--db')
  const joined = words.findLast((word) => word.startsWith('--db='))?.slice('--db='.length)
  const named = joined ?? (at === -1 ? undefined : words[at + 1])
  const where = named === undefined ? location : locationNamed(named, 'option', cwd)
  return openAt(where, 'read', { env, style, err: { isTerminal: false, columns: 80, write: () => {} } })
}

async function sessionIds(store: Store, beginning: string): Promise<Candidate[]> {
  const found: Candidate[] = []
  for await (const { id, title = '' } of allSessions(store, { search: beginning || undefined })) {
    if (id.startsWith(beginning)) found.push({ value: id, about: shownTitle(title) })
    if (found.length === MAX_CANDIDATES) break
  }
  return found
}

async function compactionIds(store: Store, session: string): Promise<Candidate[]> {
  const compactions = (await store.listCompactions(session)).toReversed()
  const runs = new Set(compactions.map(({ runId }) => runId))
  return [
    ...compactions.map((one) => ({ value: one.id, about: `${kindName(one)}, ${statusWords(one)}` })),
    ...[...runs].map((value) => ({ value, about: 'a whole run' })),
  ]
}
