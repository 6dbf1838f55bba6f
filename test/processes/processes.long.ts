import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, test } from 'vitest'
import { type Fleet, startFleet } from './fleet.ts'
import { type Crew, crowd, freshFolder, openAtOnce } from './shared-file.ts'

/* The crowds of processes.test.ts, longer and in other mixtures. */

let fleet: Fleet
beforeAll(async () => {
  fleet = await startFleet(8)
})
afterAll(() => fleet.end())

let place: ReturnType<typeof freshFolder>
beforeEach(() => {
  place = freshFolder()
})
afterEach(() => place.remove())

const CREWS: Record<string, Crew> = {
  'three append, two compact, one undoes, two read': { appenders: 3, compactors: 2, undoers: 1, readers: 2 },
  'one appends, four compact, one undoes, two read': { appenders: 1, compactors: 4, undoers: 1, readers: 2 },
  'one appends, one compacts, four undo, two read': { appenders: 1, compactors: 1, undoers: 4, readers: 2 },
  'seven append, one reads': { appenders: 7, compactors: 0, undoers: 0, readers: 1 },
}

describe('many processes, for long', () => {
  for (const [name, crew] of Object.entries(CREWS))
    for (let round = 1; round <= 5; round++)
      test(`${name}, round ${round}`, () => crowd(fleet, join(place.folder, 'chats.db'), ['s'], crew, 250))

  test('eight open one new file at once, a hundred times', () => openAtOnce(fleet, place.folder, 100))
})
