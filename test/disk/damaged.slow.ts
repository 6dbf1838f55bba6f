import { describe, expect, test } from 'vitest'
import { problemsOf } from './damage.ts'
import { damagedBy } from './damaging.ts'
import { useSound } from './sound.ts'

const soundStore = useSound()

/** Four of each of the eleven kinds; the long mode tries others. */
const COPIES = 44

describe('a damaged copy', () => {
  test('that is not damaged shows no problem and returns the same', async () => {
    const sound = soundStore()
    for (const { file, wal, shm } of [{ file: sound.file } as never, sound.inUse])
      expect(await problemsOf(sound, { file, wal, shm })).toEqual([])
  })

  test(`fails or answers as allowed, ${COPIES} times`, async () => {
    const sound = soundStore()
    for (let seed = 0; seed < COPIES; seed++) {
      const { kind, damaged } = damagedBy(seed, sound)
      expect(await problemsOf(sound, damaged), `seed ${seed}, ${kind}`).toEqual([])
    }
  })
})
