import { type Command, Option } from 'commander'

/**
 * Returns the arguments in a form in which no value looks like an option: values joined to their options (`--after=-x`), operands after
 * `--`. Otherwise commander would read an id such as `-Kx` as options, even where only an id is possible. Invalid arguments are returned
 * unchanged, so that commander reports the error.
 */
export function unambiguousArguments(program: Command, argv: readonly string[]): readonly string[] {
  const globals = [...program.options, new Option('-h, --help')]
  const options: string[] = []
  const operands: string[] = []
  let command: Command | undefined
  for (let at = 0; at < argv.length; at += 1) {
    const word = argv[at]!
    if (word === '--') {
      for (const operand of argv.slice(at + 1)) operands.push(operand)
      break
    }
    const known = command === undefined ? globals : [...globals, ...command.options]
    const given = optionsIn(word, known)
    if (given !== undefined) {
      const last = given.at(-1)!
      for (const { option } of given.slice(0, -1)) options.push(wordOf(option))
      const { option } = last
      let { value } = last
      const next = argv[at + 1]
      if (value === undefined && option.required) {
        if (next === undefined) return argv
        value = next
        at += 1
      } else if (value === undefined && option.optional && next !== undefined && !next.startsWith('-')) {
        value = next
        at += 1
      }
      options.push(value === undefined ? wordOf(option) : `${wordOf(option)}=${value}`)
    } else if (command === undefined) {
      command = program.commands.find((one) => one.name() === word)
      // For `help` and the completion, all words are operands.
      if (command === undefined || word.startsWith('__')) return argv
    } else {
      if (word.length > 1 && word.startsWith('-') && !isOperand(word, command, operands.length)) return argv
      operands.push(word)
    }
  }
  if (command === undefined) return argv
  return [command.name(), ...options, ...(operands.length === 0 ? [] : ['--', ...operands])]
}

function wordOf({ long, short }: Option): string {
  return long ?? short!
}

/** An unknown word such as `-Kx` is an id where the command takes another operand. `--word` and `-x` are mistyped options. */
function isOperand(word: string, command: Command, before: number): boolean {
  const { registeredArguments } = command
  const isWord = word.length > 2 && !word.startsWith('--')
  return isWord && (before < registeredArguments.length || registeredArguments.at(-1)?.variadic === true)
}

type Given = { readonly option: Option; readonly value?: string }

/** The options of one word: `--name`, `--name=value`, `-n`, `-nvalue` and `-nm`; `undefined` when it is not made of known options. */
function optionsIn(word: string, known: readonly Option[]): readonly Given[] | undefined {
  if (word.startsWith('--')) {
    const equals = word.indexOf('=')
    const name = equals === -1 ? word : word.slice(0, equals)
    const option = known.find(({ long }) => long === name)
    if (option === undefined) return undefined
    if (equals === -1) return [{ option }]
    return option.required || option.optional ? [{ option, value: word.slice(equals + 1) }] : undefined
  }
  if (!word.startsWith('-') || word === '-') return undefined
  const given: Given[] = []
  for (let at = 1; at < word.length; at += 1) {
    const option = known.find(({ short }) => short === `-${word[at]}`)
    if (option === undefined) return undefined
    if ((option.required || option.optional) && at + 1 < word.length)
      return [...given, { option, value: word.slice(at + 1) }]
    given.push({ option })
  }
  return given
}
