import { expect, test } from 'vitest'
import { problemsOf } from './damage.ts'
import { damagedBy } from './damaging.ts'
import { useSound } from './sound.ts'

const soundStore = useSound()

const BLOCKS = 20
const BLOCK = 44

for (let block = 1; block <= BLOCKS; block++) {
  test(`damaged copies, block ${block} of ${BLOCKS}`, async () => {
    const sound = soundStore()
    for (let seed = block * BLOCK; seed < (block + 1) * BLOCK; seed++) {
      const { kind, damaged } = damagedBy(seed, sound)
      expect(await problemsOf(sound, damaged), `seed ${seed}, ${kind}`).toEqual([])
    }
  })
}
