import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { makeSound, problemsOf, type Sound } from './damage.ts'
import { damagedBy } from './damaging.ts'
import { removeFolder } from './disks.ts'

let folder: string
let sound: Sound
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'undertext-damaged-'))
  sound = await makeSound(folder)
})
afterAll(() => removeFolder(folder))

/** Four of each of the eleven kinds; the long mode tries others. */
const COPIES = 44

describe('a damaged copy', () => {
  test('none that is not damaged shows a problem or answers otherwise', async () => {
    for (const { file, wal, shm } of [{ file: sound.file } as never, sound.inUse])
      expect(await problemsOf(sound, { file, wal, shm })).toEqual([])
  })

  test(`fails as it must or answers as it may, ${COPIES} times`, async () => {
    for (let seed = 0; seed < COPIES; seed++) {
      const { kind, damaged } = damagedBy(seed, sound)
      expect(await problemsOf(sound, damaged), `seed ${seed}, ${kind}`).toEqual([])
    }
  })
})
