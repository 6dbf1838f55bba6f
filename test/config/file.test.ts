import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import type { UndertextError } from '../../src/index.ts'
import { openStore, type ResolvedConfig } from '../../src/index.ts'
import { readConfigFile } from '../../src/store/config/environment.ts'
import { SETTING_NAMES } from '../../src/store/config/settings.ts'
import { refusal } from '../storage/contract/support.ts'
import { chat } from '../support/conversation.ts'
import { newFolder } from '../support/temporary.ts'
import { CASES } from './cases.ts'

let folder: string
beforeAll(async () => {
  folder = newFolder()
})

async function fileOf(text: string, name = 'settings'): Promise<string> {
  const path = join(folder, name)
  await writeFile(path, text)
  return path
}

async function configOf(text: string): Promise<ResolvedConfig> {
  await using store = await openStore(':memory:', { env: false, configFile: await fileOf(text) })
  return store.sessions.config()
}

async function refused(text: string): Promise<UndertextError<'INVALID_INPUT'>> {
  return refusal(openStore(':memory:', { env: false, configFile: await fileOf(text) }), 'INVALID_INPUT')
}

/** What an error of a file says with all its facts; nothing when the file can be read. */
async function refusedOrRead(text: string): Promise<string> {
  try {
    await readConfigFile(await fileOf(text), 'configFile')
    return ''
  } catch (error) {
    const { message, facts, cause } = error as UndertextError<'INVALID_INPUT'>
    return [message, JSON.stringify(facts), String(cause)].join()
  }
}

/** A value as TOML writes it. */
function toml(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(toml).join(', ')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  return `{ ${Object.entries(value)
    .map(([key, one]) => `${JSON.stringify(key)} = ${toml(one)}`)
    .join(', ')} }`
}

const snake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
/** JSON and TOML hold no summarizer. */
const NAMES = SETTING_NAMES.filter((name) => name !== 'summarizer')

describe('a file of settings', () => {
  it.each(NAMES)('sets %s, in JSON and TOML, in either spelling', async (name) => {
    const { value } = CASES[name]
    const texts = [
      JSON.stringify({ [name]: value }),
      JSON.stringify({ undertext: { [snake(name)]: value }, somebody: 'else' }),
      `${snake(name)} = ${toml(value)}\n`,
      `[somebody]\nelse = 1\n[undertext]\n${name} = ${toml(value)}\n`,
    ]
    for (const text of texts) {
      const { settings, sources } = await configOf(text)
      expect(settings[name]).toEqual(value)
      expect(sources[name]).toBe('file')
    }
  })

  it('is read as seed 004 writes it (S4-12 to S4-22)', async () => {
    const text = `
[memory]
file_path = ".nca/memory.json"
max_notes = 128
auto_compact_on_finish = true

[memory.context]
context_window_target = 64000 # For 128k context models
auto_summarize_threshold = 80
max_retained_messages = 100
enable_auto_summarize = false
`
    const { settings, sources } = await configOf(text)
    expect(settings).toMatchObject({
      preset: 'nca',
      contextWindowTarget: 64_000,
      autoSummarizeThreshold: 80,
      threshold: 0.8,
      maxRetainedMessages: 100,
      enableAutoSummarize: false,
      autoCompactOnFinish: true,
    })
    expect([sources.preset, sources.estimator]).toEqual(['file', 'preset'])
    expect((await configOf(`${text}[undertext]\npreset = "neurolink"\n`)).settings.preset).toBe('neurolink')
  })

  it('is read as seed 003 writes it (S3-012 to S3-024)', async () => {
    const { settings } = await configOf(
      JSON.stringify({
        conversationMemory: {
          enabled: true,
          enableSummarization: true,
          summarizationProvider: 'vertex',
          summarizationModel: 'gemini-2.5-flash',
          maxSessions: 50,
          contextCompaction: {
            enabled: true,
            threshold: 0.7,
            enablePruning: false,
            enableDeduplication: false,
            enableSlidingWindow: false,
            maxToolOutputBytes: 1_024,
            maxToolOutputLines: 20,
            fileReadBudgetPercent: 0.5,
          },
        },
      }),
    )
    expect(settings).toMatchObject({
      enabled: true,
      auto: true,
      enableSummarize: true,
      summarizationProvider: 'vertex',
      summarizationModel: 'gemini-2.5-flash',
      threshold: 0.7,
      enablePrune: false,
      enableDeduplicate: false,
      enableTruncate: false,
      maxToolOutputBytes: 1_024,
      maxToolOutputLines: 20,
      fileReadBudgetPercent: 0.5,
    })
  })

  it('is named by a variable too, and an option goes before that', async () => {
    const first = await fileOf('threshold = 0.1', 'first.toml')
    const second = await fileOf('{ "threshold": 0.2 }', 'second.json')
    const thresholdOf = async (options: object): Promise<unknown> => {
      await using store = await openStore(':memory:', options)
      return (await store.sessions.config()).settings.threshold
    }
    expect(await thresholdOf({ env: { UNDERTEXT_CONFIG: first } })).toBe(0.1)
    expect(await thresholdOf({ env: { UNDERTEXT_CONFIG: first }, configFile: second })).toBe(0.2)
    expect(await thresholdOf({ env: { UNDERTEXT_CONFIG: first, UNDERTEXT_THRESHOLD: '0.3' } })).toBe(0.3)
    expect(await thresholdOf({ env: { UNDERTEXT_CONFIG: '' } })).toBe(0.8)
  })

  it('acts on sessions', async () => {
    const configFile = await fileOf('[undertext]\nthreshold_tokens = 10\n')
    await using store = await openStore(':memory:', { env: false, configFile })
    await store.append('s', chat(1))
    expect(store.needsCompaction('s')).toBe(true)
  })

  it.each([
    ['a name nobody knows', 'treshold = 0.5', /Unrecognized key: "treshold"/],
    [
      'a name nobody knows in a table',
      '[memory.context]\ntarget = 1',
      /Unrecognized key: "memory.context.target"/,
    ],
    ['a value that cannot be', '[memory.context]\nauto_summarize_threshold = 101', /autoSummarizeThreshold/],
    ['a fraction (S4-17)', '[memory.context]\nmax_retained_messages = 1.5', /maxRetainedMessages/],
    ['a negative figure (S4-17)', '[memory.context]\ncontext_window_target = -1', /contextWindowTarget/],
    ['two spellings that differ', 'enable_prune = true\nenablePruning = false', /enablePrune is given twice/],
    [
      'two places that differ',
      'threshold = 0.1\n[contextCompaction]\nthreshold = 0.2',
      /threshold is given twice/,
    ],
    ['no TOML', 'secret = = 1', /isn't valid TOML \(line 1, column \d+\)/],
    ['no JSON', '{ "secret": }', /isn't valid JSON/],
    ['a date', 'summaryHeader = 2020-01-01', /summaryHeader/],
    ['an undertext that is no table', 'undertext = 5\n[memory.context]\n', /undertext must be a table/],
  ])('refuses %s', async (_, text, message) => {
    const failure = await refused(text)
    expect(failure.message).toMatch(message)
    expect(failure.message).toContain('configFile')
    expect(failure.message).not.toMatch(/secret|settings'/)
  })

  it('is refused without a word of its values, and without a key that may be one', async () => {
    const address = 'postgres://app:hunter-seventeen@db.example/chats'
    const values = [address, [address], { a: address }, { [address]: 1 }, { openai: { [address]: -1 } }]
    const stages = [
      { stage: address },
      { stage: 'prune', [address]: 1 },
      { stage: 'composite', stages: [address] },
    ]
    const tables = ['memory', 'conversationMemory', 'contextCompaction', 'nobody', address]
    for (const name of [...SETTING_NAMES, ...tables])
      for (const value of [...values, ...stages.map((stage) => [stage])])
        for (const text of [
          JSON.stringify({ [name]: value }),
          `${JSON.stringify(name)} = ${toml(value)}\n`,
        ]) {
          const failure = await refusedOrRead(text)
          expect(failure).not.toMatch(/hunter|seventeen/)
        }
  })

  it('takes two spellings that agree, a mark at the beginning of the file, and an empty file', async () => {
    expect((await configOf('enable_prune = false\nenablePruning = false')).settings.enablePrune).toBe(false)
    expect((await configOf('\ufeff{ "threshold": 0.5 }')).settings.threshold).toBe(0.5)
    expect((await configOf('')).sources.threshold).toBe('default')
  })

  it('that cannot be read is reported, without its path', async () => {
    const missing = join(folder, 'missing.toml')
    for (const options of [
      { env: false as const, configFile: missing },
      { env: { UNDERTEXT_CONFIG: missing } },
    ]) {
      const failure = await refusal(openStore(':memory:', options), 'INVALID_INPUT')
      expect(failure.message).toMatch(/(configFile|UNDERTEXT_CONFIG): the file cannot be read \(ENOENT\)/)
      expect(failure.message).not.toContain('missing')
    }
    await refusal(openStore(':memory:', { env: false, configFile: folder }), 'INVALID_INPUT')
    const failure = await refused(`a = "${'x'.repeat(1024 * 1024)}"`)
    expect(failure.message).toMatch(/larger than 1048576 bytes/)
  })
})
