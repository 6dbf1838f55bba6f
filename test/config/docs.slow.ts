import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openStore, type SettingName } from '../../src/index.ts'
import { VARIABLES } from '../../src/store/config/environment.ts'
import { DEFAULTS } from '../../src/store/config/resolve.ts'
import { callSchema, PRESET_NAMES, SETTING_NAMES } from '../../src/store/config/settings.ts'
import { examplesOf, runAsUser } from '../support/run-as-user.ts'
import { newFile } from '../support/temporary.ts'

const PAGE = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'configuration.md'), 'utf8')

/** The rows of the table of settings, by the setting's name. */
const ROWS = new Map(
  PAGE.slice(PAGE.indexOf('## Settings'), PAGE.indexOf('## Settings of other systems'))
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) =>
      line
        .slice(1, -1)
        .split('|')
        .map((cell) => cell.trim()),
    )
    .map((cells) => [cells[0]!.slice(1, -1), cells] as const),
)

const quoted = (cell: string): string[] => [...cell.matchAll(/`([^`]+)`/g)].map(([, text]) => text!)

it('tells of every setting once', () => {
  expect([...ROWS.keys()].sort()).toEqual([...SETTING_NAMES].sort())
})

it.each(SETTING_NAMES)('lists other spellings and the default of %s', (name: SettingName) => {
  const [, meaning, byDefault, variable, file, other, ...more] = ROWS.get(name)!
  expect(more).toEqual([])
  expect(meaning).not.toBe('')
  expect(other).not.toBe('')
  expect(quoted(variable!)).toEqual(
    VARIABLES.filter(({ setting }) => setting === name).map((one) => one.variable),
  )
  const snake = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
  expect(quoted(file!)).toEqual(name === 'summarizer' ? [] : [snake])
  const value = DEFAULTS[name]
  if (value === undefined) expect(byDefault).not.toMatch(/^`(?!registry)[^`]*`$|^$/)
  else if (typeof value !== 'object') expect(byDefault).toBe(`\`${JSON.stringify(value)}\``)
})

it('tells of every preset and of every fact of a call', () => {
  for (const preset of PRESET_NAMES)
    expect(PAGE).toMatch(
      new RegExp(`^\\| \`${preset}\` \\| (?:undertext|NeuroLink|neuron|PromptFleet|nca) \\|`, 'm'),
    )
  for (const option of Object.keys(callSchema.shape)) expect(PAGE).toContain(`\`${option}\``)
})

it('has an example that prints the output shown', async () => {
  const [, example = ''] = examplesOf(PAGE)
  const said = [...example.matchAll(/\/\/ (.+)$/gm)].map(([, text]) => text)
  expect((await runAsUser(example)).trim().split('\n')).toEqual(said)
})

it('has a file that is read', async () => {
  const [, toml = ''] = /```toml\n([\s\S]*?)```/.exec(PAGE) ?? []
  const configFile = newFile('undertext.toml')
  await writeFile(configFile, toml)
  await using store = await openStore(':memory:', { env: false, configFile })
  expect((await store.sessions.config()).settings).toMatchObject({
    preset: 'nca',
    summarizationModel: 'gemini-2.5-flash',
    stages: ['prune', 'summarize', 'truncate', 'cut'],
    contextWindows: { ollama: 32_768 },
    contextWindowTarget: 64_000,
    threshold: 0.8,
    maxRetainedMessages: 100,
  })
})
