import { describe, expect, it } from 'vitest'
import { openStore } from '../../src/index.ts'
import { readEnvironment, VARIABLES } from '../../src/store/config/environment.ts'
import type { SettingName } from '../../src/store/config/settings.ts'
import { SETTING_NAMES } from '../../src/store/config/settings.ts'
import { refusal } from '../storage/contract/support.ts'
import { chat } from '../support/conversation.ts'
import { runAsUser } from '../support/run-as-user.ts'
import { CASES } from './cases.ts'

/** A value as a variable says it. */
function textOf(setting: SettingName): string {
  return String(CASES[setting].value)
}

describe('variables', () => {
  it('are there for every setting that is a text, a number or a truth value', () => {
    const scalar = SETTING_NAMES.filter((name) => typeof CASES[name].value !== 'object')
    expect([...new Set(VARIABLES.map(({ setting }) => setting))].sort()).toEqual(scalar.sort())
    expect(new Set(VARIABLES.map(({ variable }) => variable)).size).toBe(VARIABLES.length)
  })

  it.each(VARIABLES)('$variable sets $setting', async ({ variable, setting }) => {
    await using store = await openStore(':memory:', { env: { [variable]: textOf(setting) } })
    const { settings, sources } = await store.sessions.config()
    expect(settings[setting]).toEqual(CASES[setting].value)
    expect(sources[setting]).toBe('environment')
  })

  it.each(VARIABLES.filter(({ kind }) => kind !== 'text'))(
    '$variable refuses what is no $kind, without saying what it was',
    async ({ variable, kind }) => {
      for (const value of [
        'secret',
        '1e3',
        '0x10',
        kind === 'boolean' ? '2' : 'NaN',
        kind === 'boolean' ? 'yes' : '-1',
      ]) {
        const failure = await refusal(openStore(':memory:', { env: { [variable]: value } }), 'INVALID_INPUT')
        expect(failure.message).toContain(variable)
        expect(failure.message).not.toContain('secret')
      }
    },
  )

  it('of the founding documentation count under their own prefix, after ours [S3-025 to S3-029]', async () => {
    const env = {
      NEUROLINK_TOKEN_THRESHOLD: '900',
      NEUROLINK_MEMORY_MAX_SESSIONS: '50',
      NEUROLINK_OTHER: 'x',
    }
    expect(readEnvironment(env)).toEqual({ thresholdTokens: 900 })
    expect(readEnvironment({ ...env, UNDERTEXT_TOKEN_THRESHOLD: '700' })).toEqual({ thresholdTokens: 700 })
    await using store = await openStore(':memory:', { env: { ...env, NEUROLINK_MEMORY_ENABLED: 'false' } })
    expect((await store.sessions.config()).settings.enabled).toBe(false)
  })

  it('reject an unknown preset', async () => {
    const failure = await refusal(
      openStore(':memory:', { env: { UNDERTEXT_PRESET: 'secret' } }),
      'INVALID_INPUT',
    )
    expect(failure.message).toContain('UNDERTEXT_PRESET')
    expect(failure.message).not.toContain('secret')
  })

  it('are ignored when empty, and may be written in capitals or as a digit', () => {
    expect(
      readEnvironment({
        UNDERTEXT_ENABLED: '',
        UNDERTEXT_AUTO: ' False ',
        UNDERTEXT_ENABLE_PRUNE: '0',
        OTHER: 'x',
      }),
    ).toEqual({
      auto: false,
      enablePrune: false,
    })
    expect(readEnvironment({ UNDERTEXT_TRUNCATION_MARKER: 'false' })).toEqual({ truncationMarker: false })
  })

  it('of seed 003 and ours must agree (S3-025 to S3-029)', async () => {
    const both = { UNDERTEXT_MEMORY_ENABLED: 'false', UNDERTEXT_ENABLED: 'true' }
    const failure = await refusal(openStore(':memory:', { env: both }), 'INVALID_INPUT')
    expect(failure.message).toMatch(
      /UNDERTEXT_ENABLED and UNDERTEXT_MEMORY_ENABLED give the same setting different values/,
    )
    expect(readEnvironment({ ...both, UNDERTEXT_ENABLED: 'false' })).toEqual({ enabled: false })
  })

  it('have less weight than options, and are not read on request [S3-031]', async () => {
    const env = { UNDERTEXT_THRESHOLD: '0.1' }
    await using store = await openStore(':memory:', { env, config: { threshold: 0.3 } })
    expect((await store.sessions.config()).settings.threshold).toBe(0.3)
    await store.append('s', chat(1))
    expect((await store.getContextStats('s', undefined, undefined, { threshold: 0.2 }))!.threshold).toBe(0.2)
  })

  it('are read once, when a store is opened', async () => {
    const env: Record<string, string> = { UNDERTEXT_THRESHOLD: '0.1' }
    await using store = await openStore(':memory:', { env })
    env.UNDERTEXT_THRESHOLD = '0.9'
    expect((await store.sessions.config()).settings.threshold).toBe(0.1)
  })
})

it('are passed from a real process, unless that is turned off', async () => {
  const out = await runAsUser(`
    import { openStore } from 'undertext'
    Object.assign(process.env, {
      UNDERTEXT_MEMORY_ENABLED: 'false', UNDERTEXT_SUMMARIZATION_ENABLED: 'false', UNDERTEXT_TOKEN_THRESHOLD: '500',
      UNDERTEXT_SUMMARIZATION_PROVIDER: 'vertex', UNDERTEXT_SUMMARIZATION_MODEL: 'gemini-2.5-flash',
    })
    for (const options of [{}, { env: false }] as const) {
      const store = await openStore(':memory:', options)
      await store.append('s', [{ role: 'user', content: 'x'.repeat(4_000) }])
      const { settings } = await store.sessions.config()
      console.log(await store.getContextStats('s') === null, store.needsCompaction('s', 'openai', 'gpt-4'), await store.compactSession('s') === null,
        settings.enableSummarize, settings.thresholdTokens, settings.summarizationProvider, settings.summarizationModel)
    }
    delete process.env.UNDERTEXT_MEMORY_ENABLED
    const store = await openStore(':memory:')
    await store.append('s', [{ role: 'user', content: 'x'.repeat(4_000) }])
    console.log(store.needsCompaction('s'))
    process.env.UNDERTEXT_TOKEN_THRESHOLD = 'many'
    await openStore(':memory:').catch((error) => console.log(error.code))
  `)
  expect(out.trim().split('\n')).toEqual([
    'true false true false 500 vertex gemini-2.5-flash',
    'false false false true undefined undefined undefined',
    'true',
    'INVALID_INPUT',
  ])
})
