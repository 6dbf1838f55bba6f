import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Command } from 'commander'
import { expect, it } from 'vitest'
import { CHAT_COMMANDS } from '../../src/cli/chat/chat-commands.ts'
import { chatCommand } from '../../src/cli/commands/chat.ts'
import { compactCommand } from '../../src/cli/commands/compact.ts'
import { exportCommand } from '../../src/cli/commands/export.ts'
import { importCommand } from '../../src/cli/commands/import.ts'

const DOCS = join(import.meta.dirname, '..', '..', 'docs')

function page(name: string): string {
  return readFileSync(join(DOCS, `cli-${name}.md`), 'utf8')
}

it.each([chatCommand, compactCommand])(
  'docs/cli-$name.md names every option there is, and no other',
  (command) => {
    const program = new Command()
    command.register(program, async () => {})
    const options = program.commands[0]!.options.map(({ long }) => long!)
    const named = new Set(page(command.name).match(/(?<![\w-])--[a-z][a-z-]+/g))
    expect(
      [...options, '--json', '--yes'].filter((option) => !named.has(option) && option !== '--yes'),
    ).toEqual([])
    expect([...named].filter((option) => ![...options, '--json', '--yes'].includes(option))).toEqual([])
  },
)

it.each([importCommand, exportCommand])(
  'docs/cli.md names every option of $name, and no other',
  (command) => {
    const program = new Command()
    command.register(program, async () => {})
    const section = readFileSync(join(DOCS, 'cli.md'), 'utf8').split(/^### /m)
    const table = section.find((part) => part.startsWith(`${command.name} `))!.match(/^\| .*$/gm)!
    const named = table.flatMap((row) => row.split(' | ')[0]!.match(/--[a-z][a-z-]+/g) ?? [])
    const options = program.commands[0]!.options.map(({ long }) => long!)
    expect(named.sort()).toEqual(options.filter((option) => option !== '--force').sort())
  },
)

it('docs/cli-chat.md names every command of the chat', () => {
  for (const { name } of CHAT_COMMANDS) expect(page('chat')).toContain(`\`${name}`)
})
