import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readQuery } from '../../src/core/search/query.ts'
import { type Candidate, type Collection, candidateOf, rank, speakerOf } from '../../src/core/search/rank.ts'
import { growth } from '../support/growth.ts'

type Said = {
  readonly text: string
  readonly role?: 'user' | 'assistant' | 'tool' | 'system'
  readonly name?: string
  readonly at?: number
}

/** A conversation, or rows of their own where `session` differs. */
const rowsOf = (said: readonly (string | Said)[], apart = false): Candidate[] =>
  said.map((each, index) => {
    const { text, role = 'user', name, at = 0 } = typeof each === 'string' ? { text: each } : each
    return candidateOf(...([text, role, name === undefined ? undefined : { name }] as const), {
      key: index,
      session: apart ? index : 0,
      position: index + 1,
      createdAt: at,
    })
  })

const collectionOf = (rows: readonly Candidate[]): Collection => ({
  documents: rows.length,
  documentsWith: (word) => rows.filter(({ words }) => words.includes(word)).length,
})

const keysOf = (query: string, rows: readonly Candidate[]): (string | number)[] =>
  rank(readQuery(query), rows, collectionOf(rows)).map(({ row }) => row.key)

const apart = (query: string, ...said: (string | Said)[]): (string | number)[] =>
  keysOf(query, rowsOf(said, true))

describe('the order of hits', () => {
  it('has only rows that have words of the query, or neighbors that have them', () => {
    expect(apart('dog', 'a stone', 'a dog', 'rain')).toEqual([1])
    expect(keysOf('dog', rowsOf(['far away', 'other', 'Is the dog here?', 'No.', 'x', 'y']))).not.toContain(5)
    expect(apart('', 'a cat')).toEqual([])
    expect(rank(readQuery('dog'), [], { documents: 0, documentsWith: () => 0 })).toEqual([])
  })

  it('prefers rare words', () => {
    expect(apart('dog zebra', 'dog one', 'dog two', 'dog three', 'zebra four')[0]).toBe(3)
  })

  it('prefers words near each other, and a phrase in quotes', () => {
    const texts = [
      'red one two three four five six seven eight nine ten house',
      'red house one two three four five six seven eight nine ten',
    ]
    expect(apart('red house', ...texts)[0]).toBe(1)
    expect(
      apart('"house red"', ...texts, 'one two three four five six seven house red eight nine ten')[0],
    ).toBe(2)
  })

  it('prefers the answer to the question that has the words', () => {
    const rows = rowsOf(['Nice day.', "What is your dog's name?", 'It is Max.', 'Fine.', 'Rain again.'])
    expect(keysOf('dog', rows).slice(0, 2).sort()).toEqual([1, 2])
    expect(keysOf('dog', rows).indexOf(2)).toBeLessThan(2)
  })

  it('prefers messages of the speaker that the question names', () => {
    expect(apart('What did Anna paint?', 'Ben: Anna, I paint boats', 'Anna: yes, I paint boats')[0]).toBe(1)
    expect(
      apart(
        'What did Anna paint?',
        { text: 'paint boats, Anna', name: 'Ben' },
        { text: 'paint boats too', name: 'Anna' },
        { text: 'Anna, other things', name: 'Ben' },
        { text: 'Anna, rain and other things', name: 'Ben' },
      )[0],
    ).toBe(1)
  })

  it('knows the role of a name by which the other role is called', () => {
    const talk = Array.from(
      { length: 10 },
      (): Said => ({ text: 'Anna, good to hear from you', role: 'user' }),
    )
    const rows = rowsOf(
      [
        ...talk,
        { text: 'boats are to paint', role: 'user' },
        { text: 'boats are to paint', role: 'assistant' },
      ],
      true,
    )
    expect(keysOf('What does Anna paint?', rows)[0]).toBe(11)
  })

  it('prefers the day that the question names', () => {
    const [may, june] = [Date.UTC(2023, 4, 8), Date.UTC(2023, 5, 8)]
    expect(
      apart('the picnic in June', { text: 'a picnic', at: may }, { text: 'a picnic', at: june })[0],
    ).toBe(1)
    expect(
      apart('the picnic on May 8, 2023', { text: 'a picnic', at: may }, { text: 'a picnic', at: june })[0],
    ).toBe(0)
  })

  it('prefers messages that name a time where the question asks when', () => {
    expect(apart('When was the picnic?', 'the picnic was wet', 'the picnic was yesterday')[0]).toBe(1)
  })

  it('prefers messages of the user for "I", of the assistant for "you recommended"', () => {
    const said: Said[] = [
      { text: 'hotel Sun', role: 'assistant' },
      { text: 'hotel Sun', role: 'user' },
    ]
    expect(apart('Which hotel did I book?', ...said)[0]).toBe(1)
    expect(apart('Which hotel did you recommend?', ...said)[0]).toBe(0)
  })

  it('prefers conversation to instructions', () => {
    expect(
      apart('refund', { text: 'refund rules', role: 'system' }, { text: 'refund rules', role: 'user' })[0],
    ).toBe(1)
  })

  const VOCABULARY = ['dog', 'cat', 'house', 'tree', 'rain', 'blue', 'stone', 'music']
  const message = fc.array(fc.constantFrom(...VOCABULARY), { minLength: 1, maxLength: 6 })

  it('does not depend on the order in which the rows are given', () => {
    fc.assert(
      fc.property(
        fc.array(message, { maxLength: 30 }),
        fc.array(fc.nat(), { maxLength: 30 }),
        (texts, mixed) => {
          const rows = rowsOf(texts.map((words) => words.join(' ')))
          const shuffled = rows
            .map((row, i) => ({ row, by: mixed[i] ?? 0 }))
            .sort((a, b) => a.by - b.by)
            .map(({ row }) => row)
          expect(keysOf('dog house rain', shuffled)).toEqual(keysOf('dog house rain', rows))
        },
      ),
    )
  })

  it('has a message with all words before one of the same length with some of them', () => {
    const query = ['dog', 'house', 'rain']
    fc.assert(
      fc.property(
        fc.subarray(query, { minLength: 1, maxLength: 2 }),
        fc.array(message, { maxLength: 10 }),
        (some, others) => {
          const filled = [...some, 'blue', 'stone'].slice(0, 3)
          const rows = rowsOf(
            [filled.join(' '), query.join(' '), ...others.map((words) => words.join(' '))],
            true,
          )
          const keys = keysOf('dog house rain', rows)
          expect(keys.indexOf(1)).toBeLessThan(keys.indexOf(0))
        },
      ),
    )
  })

  it('has scores that do not rise', () => {
    fc.assert(
      fc.property(fc.array(message, { maxLength: 20 }), (texts) => {
        const rows = rowsOf(texts.map((words) => words.join(' ')))
        const scores = rank(readQuery('dog blue'), rows, collectionOf(rows)).map(({ score }) => score)
        expect(scores).toEqual([...scores].sort((a, b) => b - a))
        for (const score of scores) expect(score).toBeGreaterThan(0)
      }),
    )
  })

  it('takes linear time', () => {
    const query = readQuery('dog "dog dog dog dog cat" rain')
    const collection = { documents: 1_000, documentsWith: () => 10 }
    const long = (size: number): Candidate => ({
      key: 1,
      session: 1,
      position: 1,
      role: 'user',
      createdAt: 0,
      isQuestion: false,
      words: Array.from({ length: size }, () => 'dog'),
    })
    expect(growth((size) => rank(query, [long(size)], collection), 200_000)).toBeLessThan(3.5)
    const many = (size: number): Candidate[] =>
      Array.from({ length: size }, (_, i) => ({ ...long(10), key: i, position: i + 1 }))
    expect(growth((size) => rank(query, many(size), collection), 5_000)).toBeLessThan(3.5)
  })
})

describe('the speaker', () => {
  it.each([
    ['Anna: hello', undefined, 'Anna'],
    ['Anna Maria Berg: hello', undefined, 'Anna Maria Berg'],
    ['José: hola', undefined, 'José'],
    ['hello', 'Ben', 'Ben'],
    ['hello: you', undefined, undefined],
    ['https://a.example', undefined, undefined],
    ['hello', 7, undefined],
  ])('of %j with the name %j is %j', (text, name, speaker) => {
    expect(speakerOf(text, name)).toBe(speaker)
  })
})
