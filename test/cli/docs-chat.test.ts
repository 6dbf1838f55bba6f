import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Command } from 'commander'
import { expect, it } from 'vitest'
import { SLASH_COMMANDS } from '../../src/cli/commands/chat/slash-commands.ts'
import { COMMANDS } from '../../src/cli/commands.ts'

const DOCS = join(import.meta.dirname, '..', '..', 'docs')

function page(name: string): string {
  return readFileSync(join(DOCS, `cli-${name}.md`), 'utf8')
}

it.each(COMMANDS.filter(({ name }) => name === 'chat' || name === 'compact'))(
  'docs/cli-$name.md names every option there is, and no other',
  (command) => {
    const options = command.declare(new Command()).options.map(({ long }) => long!)
    const named = new Set(page(command.name).match(/(?<![\w-])--[a-z][a-z-]+/g))
    expect(
      [...options, '--json', '--yes'].filter((option) => !named.has(option) && option !== '--yes'),
    ).toEqual([])
    expect([...named].filter((option) => ![...options, '--json', '--yes'].includes(option))).toEqual([])
  },
)

const SECTIONS = readFileSync(join(DOCS, 'cli.md'), 'utf8').split(/^### /m)

it.each(COMMANDS.filter(({ name }) => name !== 'chat' && name !== 'compact'))(
  'docs/cli.md names every option of $name',
  (command) => {
    const section = SECTIONS.find((part) =>
      new RegExp(`(?:^|, )${command.name}(?: |$)`).test(part.split('\n')[0]!),
    )
    const options = command.declare(new Command()).options.map(({ long }) => long!)
    expect(options.filter((option) => !new RegExp(`${option}(?![\\w-])`).test(section ?? ''))).toEqual([])
  },
)

it('docs/cli-chat.md names every command of the chat', () => {
  for (const { name } of SLASH_COMMANDS) expect(page('chat')).toContain(`\`${name}`)
})
