import { type NewMessage, openStore } from '../../src/index.ts'

/*
 * Makes the store that the pictures show: an agent that mends a web shop, and two smaller sessions. Everything in it is made up here.
 * Run with fixed-world.mjs before it: `node --import fixed-world.mjs demo-store.js FILE`.
 */

declare global {
  /** Of fixed-world.mjs. */
  var setDemoTime: (ms: number) => void
}

const MINUTE = 60_000
/** 12 January 2026, 09:30 in UTC. */
const START = Date.UTC(2026, 0, 12, 9, 30)

const DEMO_SESSION = 'checkout-rounding'
const SONNET = { provider: 'anthropic', model: 'claude-sonnet-4-5' }

/** A conversation as it grows: every message a little later than the one before. */
class Script {
  readonly messages: NewMessage[] = []
  #calls = 0
  #at: number

  constructor(at: number) {
    this.#at = at
  }

  get end(): number {
    return this.#at
  }

  user(content: string): this {
    return this.#say({ role: 'user', content })
  }

  assistant(content: string): this {
    return this.#say({ role: 'assistant', content })
  }

  /** A call, with a word before it, and what came of it. */
  tool(why: string, toolName: string, input: Record<string, string>, value: string): this {
    this.#calls += 1
    const toolCallId = `call_${this.#calls}`
    this.#say({
      role: 'assistant',
      content: [
        { type: 'text', text: why },
        { type: 'tool-call', toolCallId, toolName, input },
      ],
    })
    return this.#say({
      role: 'tool',
      content: [{ type: 'tool-result', toolCallId, toolName, output: { type: 'text', value } }],
    })
  }

  #say(message: NewMessage): this {
    this.#at += MINUTE / 4
    this.messages.push({ ...message, createdAt: this.#at })
    return this
  }
}

const WORDS = ['amount', 'share', 'rest', 'price', 'tax', 'line', 'sum', 'part'] as const

/** A source file of so many lines, numbered as tools number them. */
function source(path: string, lines: number): string {
  const seed = [...path].reduce((sum, character) => sum + character.charCodeAt(0), 0)
  return Array.from({ length: lines }, (_, at) => {
    const word = WORDS[(at * 7 + seed) % WORDS.length]
    const other = WORDS[(at * 5 + seed + 3) % WORDS.length]
    return `${String(at + 1).padStart(5)}\t  if (${word} > ${at * 13 + seed}) ${other} += Math.trunc(${word} / ${(at % 9) + 2})  // cents`
  }).join('\n')
}

function testRun(failing: readonly string[], passing: number): string {
  const passed = Array.from(
    { length: passing },
    (_, at) => ` ✓ checkout > order ${at + 1} adds up (${at % 9} ms)`,
  )
  const failed = failing.map((name) => ` ✗ checkout > ${name}\n   AssertionError: expected 1999 to be 2000`)
  return [...passed, ...failed, '', `Tests  ${failing.length} failed | ${passing} passed`].join('\n')
}

function shop(): Script {
  const cart = 'src/checkout/cart.ts'
  const rounding = 'src/money/rounding.ts'
  return new Script(START)
    .user(
      'Totals in the checkout are sometimes one cent short. Prices must stay integers: cents, never floats. Please find out why.',
    )
    .tool('I look at the cart first.', 'read_file', { path: cart }, source(cart, 380))
    .tool('And at how money is rounded.', 'read_file', { path: rounding }, source(rounding, 300))
    .tool(
      'Now the tests.',
      'bash',
      { command: 'npm test -- checkout' },
      testRun(['splits a discount over three items'], 420),
    )
    .assistant(
      'The discount is rounded for each item instead of once. Three items of 33.3 cents lose one cent.',
    )
    .user('Makes sense. Use the largest remainder, and keep `allocate` in rounding.ts.')
    .tool(
      'I read the callers before I change it.',
      'bash',
      { command: 'grep -rn allocate src' },
      source('src/callers.ts', 340),
    )
    .tool('I write `allocate`.', 'edit_file', { path: rounding }, 'Edited src/money/rounding.ts (+24 −9).')
    .tool('And read it again, whole.', 'read_file', { path: rounding }, source(rounding, 300))
    .tool('The tests again.', 'bash', { command: 'npm test -- checkout' }, testRun([], 421))
    .assistant(
      'All 421 pass. `allocate` gives the remainder to the largest shares, and the sum is always exact.',
    )
    .user('Good. Now the invoices: they must show the same cents.')
    .tool(
      'I look at the invoice.',
      'read_file',
      { path: 'src/invoice/lines.ts' },
      source('src/invoice/lines.ts', 420),
    )
    .tool(
      'And at what it prints.',
      'bash',
      { command: 'npm run invoice -- --sample' },
      source('src/sample.ts', 380),
    )
    .tool('The cart once more, for the order of items.', 'read_file', { path: cart }, source(cart, 380))
    .assistant(
      'The invoice rounds by itself. I let it take the cents from the cart, so that both say the same.',
    )
    .user('Yes. And add a test that compares the two for a thousand random carts.')
    .tool(
      'I add it.',
      'write_file',
      { path: 'test/invoice.test.ts' },
      'Wrote test/invoice.test.ts (61 lines).',
    )
    .tool('And run everything.', 'bash', { command: 'npm test' }, testRun([], 640))
    .assistant('640 tests pass, the thousand random carts among them. Cart and invoice agree to the cent.')
    .user('Great. Write the changelog line, please.')
    .assistant('- Totals and invoices add up to the cent: discounts are shared out by the largest remainder.')
}

async function makeStore(file: string): Promise<void> {
  const store = await openStore(file, { env: false })
  const trip = new Script(START - 3 * 24 * 60 * MINUTE)
    .user('東京から京都まで、三日間の旅を計画してください。')
    .assistant('一日目は東京、二日目は箱根、三日目は京都はいかがでしょうか。')
    .user('いいですね。予算は十万円です。')
    .assistant('では、宿を二泊で四万円、列車を三万円、残りを食事と入場料にしましょう。')
  globalThis.setDemoTime(trip.end)
  await store.sessions.create({ id: 'kyoto-trip', title: '京都への旅', provider: 'openai', model: 'gpt-4o' })
  await store.append('kyoto-trip', trip.messages)

  const poem = new Script(START - 20 * 60 * MINUTE)
    .user('Four lines on a machine that forgets nothing, please.')
    .assistant(
      'It keeps what you said,\nthe first draft and the last;\nwhat is hidden is not dead,\nonly resting in the past.',
    )
  globalThis.setDemoTime(poem.end)
  await store.sessions.create({ id: 'poem', title: 'A poem', provider: 'ollama', model: 'llama3.2' })
  await store.append('poem', poem.messages)

  const { messages } = shop()
  globalThis.setDemoTime(START)
  await store.sessions.create({ id: DEMO_SESSION, title: 'Checkout is one cent short', ...SONNET })
  for (const message of messages) {
    globalThis.setDemoTime(message.createdAt!)
    await store.append(DEMO_SESSION, [message])
  }
  await store.close()
}

await makeStore(process.argv[2]!)
