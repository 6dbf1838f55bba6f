import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll } from 'vitest'
import { makeSound, type Sound } from './damage.ts'
import { removeFolder } from './disks.ts'

/** A sound store for the tests of a file to make damaged copies of, made before the first and removed after the last. */
export function useSound(): () => Sound {
  let folder: string
  let sound: Sound
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'undertext-damaged-'))
    sound = await makeSound(folder)
  })
  afterAll(() => removeFolder(folder))
  return () => sound
}
