import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { type NewMessage, openStore } from '../../src/index.ts'
import { call, failure, result, say } from '../support/conversation.ts'

/* The summaries that docs/summaries.md shows, made of the conversations it shows. */

const ROOT = join(import.meta.dirname, '..', '..')
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')

const CODE = `from datetime import date
from .rates import RateTable, load_rates

GRACE_DAYS = 14

class Invoice:
    """An invoice and what is still owed."""
    def __init__(self, number, due, amount_cents):
        self.number = number
    def overdue_days(self, today):
        return max(0, (today - self.due).days - GRACE_DAYS)
    def late_fee(self, today, rates: RateTable):
        return self.amount_cents * rates.daily_rate(self.due) * self.overdue_days(today)
    def total_cents(self, today, rates):
        return self.amount_cents + self.late_fee(today, rates)

def parse_invoice(row):
    return Invoice(row['number'], date.fromisoformat(row['due']), int(row['amount_cents']))
`
const REPORT = [
  'tests/test_billing.py .....F....',
  ...Array.from({ length: 80 }, () => '    more lines of the report that nobody needs to see again'),
  'AssertionError: assert 1209.6 == 1210',
  '1 failed, 9 passed',
].join('\n')
const EDIT = {
  path: '/app/src/billing/invoice.py',
  old_string: 'return self.amount_cents + self.late_fee(today, rates)',
  new_string:
    'return floor_cents(self.amount_cents + self.late_fee(today, rates))\n\ndef floor_cents(value):\n    return int(value // 1)',
}
const TESTS = { command: 'cd /app && pytest tests/test_billing.py' }

async function summary(): Promise<string> {
  await using store = await openStore(':memory:', { env: false })
  await store.append('s', [
    say(
      'user',
      'Customer C-4471 says invoice INV-20931 was charged a fee of $12.10 where it should be $12.09. Please find out why. Never round before the total, and do not touch src/billing/rates.py.',
    ),
    call('1', 'read_file', { path: '/app/src/billing/invoice.py' }),
    result('1', CODE),
    say(
      'assistant',
      'The late fee is multiplied in floating point and rounded nowhere, so the sum depends on the order. I will run the tests first.',
    ),
    call('2', 'bash', TESTS),
    failure('2', REPORT),
    say(
      'assistant',
      'test_late_fee expects 1210 cents, but the fee is 1209.6. The test itself rounds too early.',
    ),
    call('3', 'edit_file', EDIT),
    result('3', 'Edited /app/src/billing/invoice.py'),
    call('4', 'bash', TESTS),
    result('4', 'tests/test_billing.py ..........\n10 passed'),
    say(
      'assistant',
      'Fixed: total_cents now rounds once, at the end, and all tests pass.\n\nRemaining:\n- refund the cent to C-4471\n- note the change in CHANGELOG.md',
    ),
    say('user', 'Good. Show me the entry for the changelog.'),
    say('assistant', 'Here it is: "Totals are rounded down once, at the end (INV-20931)."'),
  ])
  const limits = { targetTokens: 700, keepRecentTokens: 60, summaryMaxTokens: 700 }
  await store.compactSession('s', { enablePrune: false, ...limits })
  const [row] = await store.getEffectiveHistory('s')
  return String(row!.content)
}

it('is what the opening of docs/summaries.md shows, line by line', async () => {
  const [, block = ''] = /```text\n([\s\S]*?)```/.exec(read('docs/summaries.md')) ?? []
  const shown = block.trim().split('\n')
  expect(shown.length).toBeGreaterThan(5)
  const lines = (await summary()).split('\n')
  expect(shown.filter((line) => !lines.includes(line))).toEqual([])
})

it('is what docs/summaries.md shows, whole', async () => {
  const [, page = ''] =
    /\(Headings are two levels deeper here\.\)\n\n([\s\S]*?)\n\nKnown limitation: /.exec(
      read('docs/summaries.md'),
    ) ?? []
  // The page wraps long lines.
  const text = page.replaceAll(/\n {2}(?=\S)/g, ' ')
  expect(text.replaceAll('\n#### ', '\n## ').replace(/^#### /, '## ')).toBe(await summary())
})

/** The messages of a transcript: lines that begin with who speaks, and calls with their results. */
function transcript(text: string): NewMessage[] {
  let calls = 0
  const blocks = text.trimEnd().split(/\n(?=(?:user|assistant): |call \w+ \{|result )/)
  return blocks.map((block) => {
    const [, kind, rest = ''] = /^(user|assistant|call|result):? ([\s\S]*)$/.exec(block) ?? []
    if (kind === 'user' || kind === 'assistant') return say(kind, rest)
    const [, name = '', input = ''] = /^(\w+) (\{.*)$/s.exec(rest) ?? []
    return kind === 'call' ? call(String(++calls), name, JSON.parse(input)) : result(String(calls), rest)
  })
}

it.each([
  ['A support talk', 350],
  ['An agent without native tool calls', 500],
])('%s in docs/summaries.md becomes the summary below it, in as many tokens', async (title, targetTokens) => {
  const page = read('docs/summaries.md')
  const section = page.slice(page.indexOf(`### ${title}\n`))
  const [, before, given = '', after, shown] =
    /^Before, (\d+) tokens:\n\n(?:```|~~~)text\n(.*?)\n(?:```|~~~)\n\nAfter, (\d+) tokens: [^\n]*\n\n(?:```|~~~)text\n(.*?)\n(?:```|~~~)\n\nKnown limitation/ms.exec(
      section,
    ) ?? []
  await using store = await openStore(':memory:', { env: false })
  await store.append('s', transcript(given))
  const limits = { targetTokens, keepRecentTokens: 60, summaryMaxTokens: targetTokens }
  const run = await store.compactSession('s', { enablePrune: false, ...limits })
  expect([run!.tokensBefore, run!.tokensAfter]).toEqual([Number(before), Number(after)])
  expect(run!.messages).toHaveLength(3)
  expect(run!.messages[0]!.content).toBe(shown)
})
