import fc from 'fast-check'
import { expect, it, test } from 'vitest'
import {
  addNames,
  asksQuestion,
  excerpt,
  statesConstraint,
  statesDecision,
} from '../../src/core/stages/importance/facts.ts'

const namesIn = (text: string): string[] => {
  const names = new Set<string>()
  addNames(text, names)
  return [...names]
}

const NAMES: Record<string, string[]> = {
  'plain words, and numbers 12345 or 3.14': [],
  'see src/core/plan.ts, and "plan.ts".': ['plan.ts'],
  './plan.ts ../a/plan.ts C:\\work\\plan.ts': ['plan.ts'],
  'applyPlan() of ViewRow; apply_plan, _private': ['applyplan', 'viewrow', 'apply_plan', '_private'],
  'src/core/importance and src/core/Makefile': ['src/core/importance', 'src/core/makefile'],
  'and/or either/or': [],
  'toolu_01ABC call-17 a-long-id well-known': ['toolu_01abc', 'call-17', 'a-long-id'],
  'someone@example.org': ['someone@example.org'],
  'The end. Another one... and e.g. this': [],
  'größeKlein 文件名.ts “Quoted’s”': ['größeklein', '文件名.ts'],
}
it.each(Object.entries(NAMES))('names in: %s', (text, names) => {
  expect(namesIn(text)).toEqual(names)
})

test('at most a hundred names of one text, and none endless', () => {
  expect(namesIn(Array.from({ length: 500 }, (_, at) => `name_${at}`).join(' '))).toHaveLength(100)
  expect(namesIn(`a_${'x'.repeat(200)} b_${'x'.repeat(100)}`)).toEqual([`b_${'x'.repeat(100)}`])
})

test('names are found again in themselves, whatever the text', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 60 }), (text) => {
      for (const name of namesIn(text)) {
        expect(name.length).toBeGreaterThanOrEqual(4)
        // Which small sigma it is depends on what follows.
        const small = (word: string): string => word.toLowerCase().replaceAll('ς', 'σ')
        expect(small(text)).toContain(small(name))
      }
    }),
  )
})

test('an excerpt is the beginning and the end, and cuts no character', () => {
  expect(excerpt('x'.repeat(5_000))).toBe('x'.repeat(5_000))
  const long = excerpt('😀'.repeat(5_000))
  expect(long.isWellFormed()).toBe(true)
  expect(long.length).toBeLessThanOrEqual(5_001)
})

const WORDS: readonly [(text: string) => boolean, readonly string[], readonly string[]][] = [
  [
    statesConstraint,
    [
      'You must',
      'never do',
      'ALWAYS',
      'Please do not',
      "don't",
      'don’t touch',
      'make sure it',
      'Under no circumstances',
    ],
    ['mustard', 'I don’t know', 'they do not', 'it is fine', 'neverland'],
  ],
  [
    statesDecision,
    ['we decided', "Let's use X", 'We will use X', 'going with B', 'Agreed.'],
    ['disagreed', 'use it'],
  ],
  [asksQuestion, ['why?', 'Really? Yes.', '(ok?)', '**sure?**'], ['why', 'a ?. b', 'x?y:z', '?']],
]
it.each(WORDS)('%o', (says, yes, no) => {
  for (const text of yes) expect(says(text), text).toBe(true)
  for (const text of no) expect(says(text), text).toBe(false)
})
