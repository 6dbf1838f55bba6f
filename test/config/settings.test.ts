import { describe, expect, it } from 'vitest'
import { openStore } from '../../src/index.ts'
import { callSchema, SETTING_NAMES, type SettingName } from '../../src/store/config/settings.ts'
import { CASES, type Case, S, TALK } from './cases.ts'

/* Every setting does something, wherever it is said. */

type Place = 'store' | 'session' | 'call' | 'nowhere'

/** What a case sees with its setting said in one place. */
async function seen(name: SettingName, one: Case, place: Place): Promise<unknown> {
  const said = { [name]: one.value }
  const base = { estimator: 'neurolink' }
  const store = await openStore(':memory:', {
    env: false,
    config: { ...base, ...(place === 'store' && said) },
  })
  try {
    await store.sessions.create({ id: S, ...(place === 'session' && { config: said as never }) })
    await store.append(S, one.talk ?? TALK)
    return await one.see({ store, call: place === 'call' ? said : {} })
  } finally {
    await store.close()
  }
}

function placesOf(name: SettingName, { layers }: Case): readonly Place[] {
  const isOfACall = Object.hasOwn(callSchema.shape, name)
  return layers ?? (isOfACall ? ['store', 'session', 'call'] : ['store', 'session'])
}

it('has a case for every setting', () => {
  expect(Object.keys(CASES).sort()).toEqual([...SETTING_NAMES].sort())
})

describe.each(Object.entries(CASES) as [SettingName, Case][])('%s', (name, one) => {
  const [without, with_] = one.expected

  it('differs from the default in its case', () => {
    expect(with_).not.toEqual(without)
  })

  it.runIf(one.isRead ?? true)('changes nothing when it is not set', async () => {
    expect(await seen(name, one, 'nowhere')).toEqual(without)
  })

  it.runIf(one.isRead ?? true).each(placesOf(name, one))(
    'takes effect when it is set in the %s',
    async (place) => {
      expect(await seen(name, one, place)).toEqual(with_)
    },
  )
})
