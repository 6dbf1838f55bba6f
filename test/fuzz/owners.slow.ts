import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { LISTENING } from '../support/methods.ts'
import { isOwnError, spoiled, spoilings } from './mutations.ts'
import { everythingIn, expectNoSecret, type Ground, newGround, othersIn, PEOPLE } from './people.ts'
import { codeOf, inputsOf, runInputs, watchRejections } from './runs.ts'
import { CALLS, callMethod, type Fixture, methodOf } from './verbs.ts'

/*
 * Every call of a store of an owner, with spoiled arguments in which each id is one's own, somebody else's, of a session without an owner,
 * or of nothing: no answer and no error tells the secret of others, and their rows stay as they are.
 */

watchRejections()

const ROWS = Object.entries(CALLS).filter(([row]) => ![...LISTENING, 'close'].includes(methodOf(row)))
const WHOSE = [...PEOPLE, 'unknown'] as const

/** A fixture whose ids are of several people. */
function mixed(ground: Ground, whose: readonly (typeof WHOSE)[number][]): Fixture {
  const { ann } = ground.fixtures
  const fields = Object.entries(ann).map(([name, own], at) => {
    const of = whose[at % whose.length]!
    if (of !== 'unknown') return [name, ground.fixtures[of][name as keyof Fixture]]
    return [name, typeof own === 'string' ? `unknown ${name}` : own]
  })
  return { ...(Object.fromEntries(fields) as Fixture), store: ground.store.forOwner('ann') }
}

/** The owner that the valid calls name is the one who has the secret, or the caller. */
function ownedBy(value: unknown, owner: string): unknown {
  if (value === 'o') return owner
  if (Array.isArray(value)) return value.map((one) => ownedBy(one, owner))
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype)
    return value
  return 'owner' in value ? { ...value, owner } : value
}

it('the secret is found where it is', async () => {
  const ground = await newGround()
  // Lists of calls, compactions, the audit and forks hold names and numbers.
  for (const [whose, store] of [
    ['bob', ground.store.forOwner('bob')],
    ['nobody', ground.store],
  ] as const)
    for (const [at, one] of (await everythingIn(store, `${whose}-s`)).entries())
      if (![6, 8, 9, 10].includes(at)) expect(() => expectNoSecret(one, `${at}`), `${at}`).toThrow()
  await ground.close()
})

describe('in the store of an owner, spoiled calls tell nothing of others and change nothing of theirs:', () => {
  let ground: Ground
  let others: string
  beforeAll(async () => {
    ground = await newGround()
    others = await othersIn(ground.store)
  })
  afterAll(() => ground.close())

  it.each(ROWS)('%s', async (row, argsOf) => {
    const ways = fc.record({
      whose: fc.array(fc.constantFrom('ann', 'ann', 'ann', ...WHOSE), { minLength: 1, maxLength: 16 }),
      owner: fc.constantFrom('ann', 'ann', 'bob'),
      given: fc.option(spoilings, { freq: 3 }),
    })
    await runInputs(row, ways, inputsOf(60, 300), async ({ whose, owner, given }) => {
      const fixture = mixed(ground, whose)
      const valid = ownedBy(argsOf(fixture), owner) as readonly unknown[]
      const args = given === null ? valid : spoiled(valid, given)
      const outcome = await callMethod(fixture.store, methodOf(row), args).catch((error: unknown) => error)
      expectNoSecret(outcome, row)
      if (ground.isTouched()) {
        expect(await othersIn(ground.store)).toBe(others)
        await ground.close()
        ground = await newGround()
      }
      if (!(outcome instanceof Error)) return 'answered'
      if (!isOwnError(outcome)) codeOf(outcome)
      return 'refused'
    })
  })
})
