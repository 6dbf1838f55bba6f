import { describe, expect, it } from 'vitest'
import { orderPlaces, type Places } from '../../src/core/search/places.ts'

/** Rows as `session:place`; positions are half of the places. */
const listOf = (...rows: string[]): Places => {
  const pairs = rows.map((row) => row.split(':').map(Number))
  return { sessions: pairs.map(([session]) => session!), places: pairs.map(([, place]) => place!) }
}

const ordered = (words: readonly (readonly [value: number, ...rows: string[]])[], withNeighbors = false) => {
  const order = orderPlaces(
    words.map(([value, ...rows]) => ({ value, lists: [listOf(...rows)] })),
    withNeighbors,
  )
  return order.slice(0, order.length).map(({ session, place }) => `${session}:${place}`)
}

describe('the order of candidates', () => {
  it('is by the value of their words, of equal ones the newer session and the later place first', () => {
    expect(
      ordered([
        [1, '1:2', '1:20', '2:2'],
        [2, '1:20'],
        [5, '3:40'],
      ]),
    ).toEqual(['3:40', '1:20', '2:2', '1:2'])
  })

  it('has words of neighbors, not those of the next session or of an inserted row', () => {
    // Place 6 is next to 4, place 7 is an inserted row, and session 2 begins where session 1 ends.
    const order = ordered([
      [2, '1:4', '2:2'],
      [1, '1:6', '1:7'],
    ])
    expect(order.indexOf('1:4')).toBe(0)
    expect(order.indexOf('1:6')).toBeLessThan(order.indexOf('1:7'))
  })

  it('has rows without words between rows with them when they may be answers', () => {
    expect(ordered([[2, '1:4', '1:8']])).toEqual(['1:8', '1:4'])
    const answers = ordered([[2, '1:4', '1:8']], true)
    expect(answers).toContain('1:6')
    expect(answers.every((row) => Number(row.split(':')[1]) > 0)).toBe(true)
  })

  it('has each row once, also of thousands and of lists that overlap', () => {
    const rows = Array.from({ length: 3_000 }, (_, at) => `${1 + (at % 7)}:${2 * (1 + Math.floor(at / 7))}`)
    const words = Array.from(
      { length: 40 },
      (_, nth) => [1, ...rows.filter((_row, at) => at % (nth + 1) === 0)] as const,
    )
    const order = orderPlaces(
      words.map(([value, ...of]) => ({ value, lists: [listOf(...of), listOf(...of.slice(0, 5))] })),
      false,
    )
    const all = order.slice(0, order.length).map(({ session, place }) => `${session}:${place}`)
    expect(all.toSorted()).toEqual(rows.toSorted())
    expect(order.has({ family: 0, session: 1, place: 2 })).toBe(true)
    expect(order.has({ family: 0, session: 9, place: 2 })).toBe(false)
  })
})
