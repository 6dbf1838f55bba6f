import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isUndertextError } from '../../src/index.ts'
import { storageOf } from '../../src/store/store.ts'
import { expectFailure } from '../support/failures.ts'
import { STORE_METHODS } from '../support/methods.ts'
import { newFolder } from '../support/temporary.ts'
import { isOwnError, type Spoilings, spoiled, spoilings } from './mutations.ts'
import { CALLS, callMethod, type Fixture, methodOf } from './verbs.ts'

/** A store with a filled session, and a text that changes whenever anything in its database does. */
export type Ground = {
  readonly fixture: Fixture
  readonly stateOf: () => string | Promise<string>
  readonly close: () => unknown
}

/** Methods that call functions or read iterables of the application, and pass their errors on. */
const PASS_ON = new Set([
  ...['rewind', 'withOverflowRecovery', 'sessions.import'],
  // A summarizer or a stage is an object of the application, which is used as it is.
  ...['previewCompaction', 'compactSession'],
])

/**
 * Spoils the arguments of each method of the class: each outcome is a result or an error of this package, and a refused call leaves the
 * database as it was.
 */
export function describeSpoiledCalls(newGround: () => Promise<Ground>, runsEach: number): void {
  const rejected: unknown[] = []
  const note = (reason: unknown): unknown => rejected.push(reason)
  const folder = process.cwd()
  beforeAll(() => {
    process.on('unhandledRejection', note)
    // The path of a backup may become any text.
    process.chdir(newFolder())
  })
  afterAll(() => {
    process.off('unhandledRejection', note)
    process.chdir(folder)
  })

  it('every method of the class has a valid call', async () => {
    const rows = new Set(Object.keys(CALLS).map(methodOf))
    expect([...rows].sort()).toEqual([...STORE_METHODS].sort())
    for (const [row, argsOf] of Object.entries(CALLS)) {
      const { fixture, close } = await newGround()
      const call = callMethod(fixture.store, methodOf(row), argsOf(fixture))
      if (row === 'backup' && storageOf(fixture.store).backup === undefined)
        await expect(call).rejects.toMatchObject({ code: 'NOT_SUPPORTED' })
      else await expect(call, row).resolves.not.toThrow()
      await close()
    }
  })

  it('the state of the database shows what a call writes', async () => {
    const { fixture, stateOf, close } = await newGround()
    const before = await stateOf()
    expect(await stateOf()).toBe(before)
    await fixture.store.append(fixture.s, [{ role: 'user', content: 'more' }])
    expect(await stateOf()).not.toBe(before)
    await close()
  })

  describe('spoiled arguments give a result or an UndertextError, and a refused call writes nothing:', () => {
    for (const [row, argsOf] of Object.entries(CALLS)) {
      const method = methodOf(row)
      it(row, async () => {
        let ground = await newGround()
        let before = await ground.stateOf()
        const act = async (given: Spoilings): Promise<void> => {
          const args = spoiled(argsOf(ground.fixture), given)
          const failure = await callMethod(ground.fixture.store, method, args).then(
            () => undefined,
            (error: unknown) => ({ error }),
          )
          await new Promise((resolve) => setImmediate(resolve))
          expect(rejected.splice(0), 'rejections that nothing handles').toEqual([])
          const after = method === 'close' ? before : await ground.stateOf()
          if (failure !== undefined) {
            expect(after === before, 'a refused call writes nothing').toBe(true)
            if (isOwnError(failure.error) && PASS_ON.has(method)) return
            const code = isUndertextError(failure.error) ? failure.error.code : 'INVALID_INPUT'
            expectFailure(failure.error, code)
            expect(['INTERNAL_ERROR', 'STORE_CORRUPT', 'STORE_BUSY']).not.toContain(code)
          }
          if (after === before && method !== 'close') return
          await ground.close()
          ground = await newGround()
          before = await ground.stateOf()
        }
        await fc.assert(fc.asyncProperty(spoilings, act), { numRuns: runsEach })
        await ground.close()
      })
    }
  })
}
