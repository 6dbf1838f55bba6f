import { describe, expect, it } from 'vitest'
import type { Fault } from './faults.ts'
import { sweep } from './trials.ts'
import type { WritingVerb } from './verbs.ts'

/** The tests of all verbs whose statements fail one after the other. */
export function describeSweeps(
  verbs: readonly WritingVerb[],
  faultsOf: (sql: string, times: number) => readonly Fault[],
): void {
  describe('a verb whose statements fail, one after the other', () => {
    it.each(verbs)('does all or nothing, and reports it: $name', async (verb) => {
      const { statements, faults, refused, refusedDone, survived, leases } = await sweep(verb, faultsOf)
      const counts = `${verb.name}: ${faults} faults in ${statements} statements, ${refused} refused`
      expect(statements, counts).toBeGreaterThan(4)
      expect(faults, counts).toBeGreaterThanOrEqual(statements)
      expect(refused, counts).toBeGreaterThan(faults / 2)
      // Its own answer lost, the work is done; compactions also read the view behind their commit.
      expect(refusedDone, counts).toContain('commit')
      // A lease is left only where giving it back failed, or the answer to taking it was lost.
      expect(
        [...leases].filter((sql) => sql !== 'commit' && !survived.has(sql)),
        counts,
      ).toEqual([])
    })
  })
}
