import { Buffer } from 'node:buffer'
import { CODE } from './code.ts'
import { LANGUAGES } from './languages.ts'

/*
 * The texts the published table is made of: written for it, or made here by a generator with a fixed seed. No figure
 * of `calibrated` was fitted on them.
 */

/** Whole numbers from 0 up to but not including `below`, the same in every run. */
type Random = (below: number) => number

/** A linear congruential generator; its upper bits are good enough for samples. */
function randomOf(seed: number): Random {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

function times<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => make(index))
}

const hexOf = (random: Random, digits: number): string =>
  times(digits, () => '0123456789abcdef'.charAt(random(16))).join('')

const uuidOf = (random: Random): string => [8, 4, 4, 4, 12].map((digits) => hexOf(random, digits)).join('-')

const pick = (random: Random, from: readonly string[]): string => from[random(from.length)] ?? ''

const bytesOf = (random: Random, count: number): Buffer => Buffer.from(times(count, () => random(256)))

const two = (number: number): string => String(number).padStart(2, '0')

function orders(random: Random): unknown[] {
  return times(14, (index) => ({
    orderId: 4_100 + index,
    customer: {
      name: pick(random, ['Ada Berg', 'Jonas Lind', 'Mira Oduya']),
      email: `user${random(900)}@harbour.example`,
    },
    items: times(1 + random(3), () => ({
      sku: `BK-${random(90_000)}`,
      title: pick(random, ['Sea charts of the north', 'Knots and ropes', 'Winter light']),
      quantity: 1 + random(4),
      unitPrice: random(9_000) / 100,
    })),
    shipped: random(2) === 1,
    notes: random(2) === 1 ? null : 'leave at the side door',
    createdAt: `2026-0${1 + random(9)}-${two(1 + random(28))}T${two(random(24))}:${two(random(60))}:00.000Z`,
  }))
}

function logLines(random: Random): string {
  return times(40, () => {
    const at = `2026-11-${two(1 + random(28))}T${two(random(24))}:${two(random(60))}:${two(random(60))}.${random(1_000)}Z`
    return pick(random, [
      `${at} INFO  [ingest-${random(9)}] loaded batch ${random(9_999)} rows=${random(100_000)} took=${random(5_000)}ms`,
      `${at} WARN  [pool] connection 10.0.${random(256)}.${random(256)}:${1_024 + random(60_000)} idle for ${random(600)}s, closing`,
      `${at} ERROR [api] GET /v2/books/${random(99_999)}?lang=en -> 503 upstream timeout trace=${hexOf(random, 16)}`,
    ])
  }).join('\n')
}

const FACES = [...'😀😂🙂😉😎🤔😢😡👍👎🙏💪🔥✨🎉🚀💡⚡✅❌⭐💯📝📌🔧🐛📦🎯👀💬🔍📊🌍🌱☕🍎🚗🏠⏰🎵']
const JOINED = ['👩‍💻', '👨‍👩‍👧', '🧑‍🚀', '🏳️‍🌈', '👍🏽', '👋🏻', '❤️', '⚠️', '✔️', '🇫🇷', '🇯🇵', '🇧🇷', '🤦‍♀️', '🕵️‍♂️']

function boxes(random: Random): string {
  return times(8, () => {
    const width = 16 + random(40)
    const row = (text: string): string => `│ ${text.padEnd(width - 2)} │`
    return [
      `┌${'─'.repeat(width)}┐`,
      row('Step'),
      `├${'─'.repeat(width)}┤`,
      row('copy the charts'),
      row('seal the box'),
      `└${'─'.repeat(width)}┘`,
    ].join('\n')
  }).join('\n\n')
}

function coloured(random: Random): string {
  const esc = '\u001b['
  return times(40, (index) =>
    pick(random, [
      `${esc}32m✓${esc}39m test ${index} ${esc}2m(${random(400)} ms)${esc}22m`,
      `${esc}31m${esc}1mFAIL${esc}22m${esc}39m src/harbour-${index}.test.ts:${random(300)}`,
      `${esc}90m    at keeper (${index}:${random(80)})${esc}0m`,
    ]),
  ).join('\n')
}

/** Sample texts by content kind, in the order of the table. */
export function samples(): readonly (readonly [kind: string, text: string])[] {
  const random = randomOf(2_026)
  const list = orders(random)
  const { English = '', ...others } = LANGUAGES
  return [
    ['English prose', English],
    ...Object.entries(CODE),
    ['JSON, pretty', JSON.stringify(list, null, 2)],
    ['JSON, minified', JSON.stringify(list)],
    ['log lines', logLines(random)],
    ['numbers, CSV', times(60, () => times(8, () => String(random(2_000_000) / 1_000)).join(',')).join('\n')],
    ['UUIDs', times(60, () => uuidOf(random)).join('\n')],
    ['hex', times(40, () => hexOf(random, 64)).join('\n')],
    ['base64', bytesOf(random, 3_000).toString('base64')],
    ...Object.entries(others),
    ['emoji', times(150, () => pick(random, FACES) + (random(3) === 0 ? ' ' : '')).join('')],
    ['emoji, joined', times(120, () => pick(random, JOINED) + (random(3) === 0 ? ' ' : '')).join('')],
    ['box drawing', boxes(random)],
    ['ANSI colours', coloured(random)],
    [
      'white space runs',
      times(
        60,
        () => `${' '.repeat(1 + random(60))}x${'\n'.repeat(1 + random(3))}${'\t'.repeat(random(6))}`,
      ).join('y'),
    ],
    ['one letter, 5,000 times', 'a'.repeat(5_000)],
  ]
}
