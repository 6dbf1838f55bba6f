import { Command } from 'commander'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { unambiguousArguments } from '../../src/cli/argv.ts'
import { addCommands, COMMANDS } from '../../src/cli/commands.ts'

/** What the action of a command receives for some arguments. */
function parsed(argv: readonly string[]): { readonly operands: unknown[]; readonly options: object } {
  let given: { operands: unknown[]; options: object } | undefined
  const program = programWith((operands, options) => {
    given = { operands, options }
  })
  program.parse(unambiguousArguments(program, argv), { from: 'user' })
  return given!
}

function programWith(action: (operands: unknown[], options: object) => void): Command {
  const program = new Command('undertext')
    .version('1')
    .option('--db <store>', '')
    .option('--json', '')
    .option('-y, --yes', '')
    .exitOverride()
    .configureOutput({ writeOut: () => {}, writeErr: () => {} })
  addCommands(program, async () => {})
  for (const command of program.commands)
    command.action((...all: unknown[]) => action(all.slice(0, -2), { ...program.opts(), ...command.opts() }))
  return program
}

/** Ids as base64 makes them, some of which look like short options that exist. */
const id = fc.oneof(
  fc.constantFrom('-Kx', '-yab', '-hab', '-Vab', '-oab', '-yo', '--json', '--', '--db=x', '@', 'talk'),
  fc.stringMatching(/^-[\w-]{2,20}$/),
  fc.stringMatching(/^\w{1,20}$/),
)

const commands = programWith(() => {}).commands.filter((command) => !command.name().startsWith('__'))

it('covers all commands', () => {
  expect(commands.map((command) => command.name())).toEqual(COMMANDS.map(({ name }) => name))
})

describe.each(commands.map((command) => [command.name(), command] as const))('%s', (name, command) => {
  const free = command.registeredArguments.filter(({ argChoices }) => argChoices === undefined)
  const takesIds =
    command.registeredArguments.length > 0 && free.length === command.registeredArguments.length
  const texts = command.options.filter(
    ({ required, argChoices, parseArg }) => required && argChoices === undefined && parseArg === undefined,
  )

  it.runIf(takesIds)('takes any id as an operand after --, with options before it', () => {
    fc.assert(
      fc.property(fc.array(id, { minLength: free.length, maxLength: free.length }), (ids) => {
        const expected = free.at(-1)!.variadic ? [...ids.slice(0, -1), [ids.at(-1)]] : ids
        expect(parsed([name, '--json', '--', ...ids])).toMatchObject({
          operands: expected,
          options: { json: true },
        })
      }),
    )
  })

  it.runIf(takesIds)('takes an id that begins with - as an operand, wherever options are', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^-[A-Zac-gi-np-z0-9_][\w-]{1,20}$/), fc.boolean(), (one, isLast) => {
        fc.pre(!/^-[Vyho]/.test(one))
        const ids = free.map(() => one)
        const argv = isLast ? [name, '--json', ...ids] : [name, ...ids, '--json']
        const expected = free.at(-1)!.variadic ? [...ids.slice(0, -1), [one]] : ids
        expect(parsed(argv)).toMatchObject({ operands: expected, options: { json: true } })
      }),
    )
  })

  it.runIf(texts.length > 0)('takes any id as the value of each option, joined or not', () => {
    const needed = free.filter(({ required }) => required).map(() => 'x')
    const mandatory = command.options.filter((option) => option.mandatory)
    fc.assert(
      fc.property(fc.constantFrom(...texts), id, fc.boolean(), (option, value, isJoined) => {
        const others = mandatory.filter((one) => one !== option).map((one) => `${one.long}=x`)
        const given = isJoined ? [`${option.long}=${value}`] : [option.long!, value]
        const { operands, options } = parsed([name, ...others, ...given, ...needed])
        expect((options as Record<string, unknown>)[option.attributeName()]).toBe(value)
        expect(operands.flat().filter((one) => one !== undefined && one !== 'list')).toEqual(needed)
      }),
    )
  })
})
