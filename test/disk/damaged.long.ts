import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
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

const BLOCKS = 20
const BLOCK = 44

for (let block = 1; block <= BLOCKS; block++) {
  test(`damaged copies, block ${block} of ${BLOCKS}`, async () => {
    for (let seed = block * BLOCK; seed < (block + 1) * BLOCK; seed++) {
      const { kind, damaged } = damagedBy(seed, sound)
      expect(await problemsOf(sound, damaged), `seed ${seed}, ${kind}`).toEqual([])
    }
  })
}
