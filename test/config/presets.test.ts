import { describe, expect, it } from 'vitest'
import { STAGE_NAMES } from '../../src/core/stages/registry.ts'
import { estimatorNamed } from '../../src/core/tokens/index.ts'
import {
  openStore,
  PRESETS,
  type PresetName,
  type Settings,
  type Summarizer,
  validateHistory,
} from '../../src/index.ts'
import { PRESET_NAMES } from '../../src/store/config/settings.ts'
import { chat, say } from '../support/conversation.ts'
import { asRecord } from '../support/record.ts'
import { S } from './cases.ts'

/** Whether the stages a preset names are there. */
function isWhole(preset: PresetName): boolean {
  const names = (PRESETS[preset].stages ?? []).map((one) =>
    typeof one === 'string' ? one : 'stage' in one ? one.stage : '',
  )
  return names.every((name) => STAGE_NAMES.includes(name as string))
}

const short: Summarizer = { name: 'spy', usesModel: true, summarize: () => ({ text: 'They talked.' }) }

describe.each(PRESET_NAMES)('the preset %s', (preset) => {
  it('counts by an estimator every store knows', async () => {
    const { estimator = 'calibrated' } = PRESETS[preset]
    expect(estimatorNamed(estimator)).toBeDefined()
    await using store = await openStore(':memory:', { env: false, config: { preset } })
    expect((await store.sessions.create()).estimator).toBe(estimator)
  })

  it.runIf(isWhole(preset))('makes room, and its view is valid for every provider', async () => {
    await using store = await openStore(':memory:', { env: false, config: { preset, summarizer: short } })
    await store.append(S, [say('system', 'Be brief.'), ...chat(60, 100)])
    const run = await store.compactSession(S, { targetTokens: 1_500 })
    expect(run).toMatchObject({ compacted: true, fits: true })
    for (const provider of ['openai', 'anthropic', 'google-ai', 'mistral']) {
      const { messages } = await store.renderHistory(S, { provider })
      expect(validateHistory(messages, provider)).toEqual([])
      expect(messages[0]?.content).toContain('Be brief.')
    }
    await store.undoCompaction(S, run!.runId)
    expect(await store.getEffectiveHistory(S)).toHaveLength(121)
  })

  it.runIf(isWhole(preset))('asks no model where summaries are switched off', async () => {
    const config = { preset, summarizer: short, enableSummarize: false }
    await using store = await openStore(':memory:', { env: false, config })
    await store.append(S, chat(60, 100))
    const run = await store.compactSession(S, { targetTokens: 1_500 })
    expect(run!.compacted).toBe(true)
    expect((await store.listCompactions(S)).filter(({ summarizer }) => summarizer !== undefined)).toEqual([])
  })
})

describe('a summary, as a preset shows it', () => {
  const SUMMARY = { range: { from: 2, to: 5 }, summary: 'They talked.' }

  it.each([
    ['default', ['system Be brief.', `user ${asRecord('They talked.')}`]],
    ['neurolink', ['system Be brief.', 'system Previous conversation summary:\n\nThey talked.']],
    ['neuron', ['system Be brief.', 'user [Summary of earlier conversation]\nThey talked.']],
    ['nca', ['system Be brief.', 'system ## Conversation Summary (Earlier Context)\n\nThey talked.']],
    ['promptfleet', ['system Be brief.\n\nPreviously in this conversation:\nThey talked.', 'user 3?xx']],
  ] as const)('%s', async (preset, first) => {
    await using store = await openStore(':memory:', { env: false, config: { preset } })
    await store.append(S, [say('system', 'Be brief.'), ...chat(4, 1)])
    await store.compactSession(S, SUMMARY)
    const { messages } = await store.renderHistory(S)
    expect(messages.slice(0, 2).map(({ role, content }) => `${role} ${String(content)}`)).toEqual(first)
    // Rows are as they were: another manner shows the same ones.
    const other = await store.renderHistory(S, { preset: 'tags', summaryPlace: 'inline' })
    expect(other.messages[1]?.content).toBe('<condensed-summary>\nThey talked.\n</condensed-summary>')
  })

  it('is set by the session before the store, by settings before the preset, and by the call before all', async () => {
    const config = { preset: 'nca', summaryRole: 'assistant', summaryHeader: 'Before:' } as const
    await using store = await openStore(':memory:', { env: false, config })
    await store.sessions.create({ id: S, config: { preset: 'neuron', summaryHeader: 'Then:' } })
    await store.append(S, chat(4, 1))
    await store.compactSession(S, { ...SUMMARY, range: { from: 3, to: 4 } })
    const shown = async (options: object): Promise<unknown> =>
      (await store.renderHistory(S, options)).messages[0]
    expect(await shown({})).toEqual({ role: 'assistant', content: 'Then:\n\nThey talked.' })
    expect(await shown({ summaryRole: 'user', summaryHeader: '' })).toEqual({
      role: 'user',
      content: 'They talked.',
    })
  })
})

it('seed 004: warns at 80 percent of 32,000 tokens and is due at 75', async () => {
  await using store = await openStore(':memory:', { env: false, config: { preset: 'nca' } })
  // By `nca` 4 characters are a token and a message is 10: 23,989 + 10 is one below 75 percent.
  await store.append(S, [say('user', 'x'.repeat(4 * 23_989))])
  expect(await store.getContextStats(S, 'anthropic')).toMatchObject({
    availableInputTokens: 32_000,
    contextWindowTarget: 32_000,
    estimatedInputTokens: 23_999,
    shouldCompact: false,
    threshold: 0.75,
  })
  await store.append('due', [say('user', 'x'.repeat(4 * 23_990))])
  expect(store.needsCompaction('due', 'anthropic')).toBe(true)
  expect((await store.sessions.config()).settings.warningLevels).toEqual([0.8])
})

it("a preset's target follows a lower threshold, and a given target stays", async () => {
  const targetOf = async (config: Settings): Promise<readonly [unknown, unknown]> => {
    await using store = await openStore(':memory:', { env: false, config })
    await store.sessions.create({ id: 's' })
    const { settings, sources } = await store.sessions.config('s')
    return [settings.target, sources.target]
  }
  expect(await targetOf({})).toEqual([0.4, 'default'])
  expect(await targetOf({ threshold: 0.5 })).toEqual([0.25, 'store'])
  for (const preset of ['neuron', 'promptfleet'] as const) {
    expect(await targetOf({ preset })).toEqual([0.6, 'preset'])
    expect(await targetOf({ preset, threshold: 0.9 })).toEqual([0.6, 'preset'])
  }
  // 0.6 of 0.8 are three quarters: nca is due at 75 percent.
  expect(await targetOf({ preset: 'nca' })).toEqual([expect.closeTo(0.5625, 10), 'preset'])
  expect(await targetOf({ preset: 'nca', threshold: 0.4 })).toEqual([expect.closeTo(0.3, 10), 'store'])
  expect(await targetOf({ preset: 'nca', threshold: 0.4, target: 0.35 })).toEqual([0.35, 'store'])
})
