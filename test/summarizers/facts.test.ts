import { describe, expect, it } from 'vitest'
import { readFacts, writeFacts } from '../../src/summarizers/extractive/facts.ts'
import { assistant, did, type Row, sectionsOf, summarize, user } from './support.ts'

const ORDER = {
  order_id: 'W4821137',
  customer: { id: 'ana_lopez_77', email: 'ana.lopez@example.com' },
  items: [
    { sku: 'LMP-2204', price: 189.5, color: 'black' },
    { sku: 'LMP-9917', price: 240, color: 'white' },
  ],
  status: 'shipped',
}

const SUPPORT: Row[] = [
  user('Hello, my lamp arrived broken. The order is W4821137.'),
  ...did('c1', 'get_order', { order_id: 'W4821137' }, JSON.stringify(ORDER)),
  assistant('I see order W4821137 with two lamps. The lamp LMP-2204 costs $189.50. Shall I refund it?'),
  user('Yes, please refund LMP-2204 to my card.'),
  ...did('c9', 'search_policy', { topic: 'refunds' }, 'Refunds take a few days. '.repeat(200)),
  ...did(
    'c2',
    'refund',
    { order_id: 'W4821137', sku: 'LMP-2204' },
    '{"refund_id":"RF-30018","amount":189.5}',
  ),
  assistant('The refund RF-30018 of $189.50 is on its way.'),
]

describe('a talk with customer support', () => {
  const concepts = sectionsOf(summarize(SUPPORT))['Key Technical Concepts'] ?? []

  it('leaves ids and amounts with what they were called', () => {
    const facts = new Map(
      concepts
        .find((line) => line.startsWith('Facts — '))!
        .slice(8)
        .split('; ')
        .map((group) => group.split(': ') as [string, string]),
    )
    expect(facts.get('order_id')).toBe('W4821137')
    expect(facts.get('sku')?.split(', ').sort()).toEqual(['LMP-2204', 'LMP-9917'])
    expect(facts.get('refund_id')).toBe('RF-30018')
    expect(facts.get('customer id')).toBe('ana_lopez_77')
    expect(facts.get('email')).toBe('ana.lopez@example.com')
  })

  it('tells what calls answered, data as names and values, tables by their columns', () => {
    expect(concepts).toContain(
      'get_order `W4821137` gave order_id W4821137, customer (id ana_lopez_77, email ana.lopez@example.com), items [sku price color] LMP-2204 189.5 black; LMP-9917 240 white, status shipped',
    )
  })

  it('in a few lines, the key of the case comes first', () => {
    expect(summarize(SUPPORT, { maxTokens: 60 })).toContain('W4821137')
  })

  it('carries them on, round after round', () => {
    const later = [user('Anything else?'), assistant('No. '.repeat(100))]
    let text = summarize(SUPPORT)
    for (let round = 0; round < 3; round++) text = summarize(later, { previousSummary: text })
    for (const value of ['W4821137', 'LMP-2204', 'RF-30018', 'ana_lopez_77']) expect(text).toContain(value)
  })
})

it('facts are written by name, as many as there is room for, and read back', () => {
  const facts = [
    { name: 'order_id', value: 'A-1234', weight: 3 },
    { name: 'sku', value: 'LMP-1', weight: 2 },
    { name: 'order_id', value: 'B-5678', weight: 1 },
  ]
  const line = 'Facts — order_id: A-1234, B-5678; sku: LMP-1'
  expect(writeFacts(facts, 100)).toBe(line)
  expect(readFacts(line)).toEqual([
    { name: 'order_id', value: 'A-1234', weight: 0 },
    { name: 'order_id', value: 'B-5678', weight: 0 },
    { name: 'sku', value: 'LMP-1', weight: 0 },
  ])
  // 8 of the lead, 8 + 2 + 6 + 2 of the first with its name, 6 + 2 of the other order: 34; `sku` would take 3 + 2 + 5 + 2 more.
  expect(writeFacts(facts, 37)).toBe('Facts — order_id: A-1234, B-5678')
  // With 4 fewer than both need, 12 are left behind the first: the second fits, the third does not any more.
  expect(writeFacts(facts, 38)).toBe('Facts — order_id: A-1234; sku: LMP-1')
  expect(writeFacts(facts, 10)).toBe('')
  expect(readFacts('Facts of another hand')).toBeUndefined()
})
